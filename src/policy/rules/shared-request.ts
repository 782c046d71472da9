import { byOperation, isConversation, OPERATIONS, type Operation } from '../../core/kinds/operations.ts';
import type { RuleScope } from '../../core/policy/rules.ts';
import { REQUEST_FACT_ROWS } from '../../core/tables/facts/request.ts';
import { type ASTNode, accessesOf, literalOf, nodesOf, pathOf } from '../cel/ast.ts';
import type { Program } from '../cel/check.ts';
import { RANGES } from '../cel/contradictions.ts';
import { EMPTY_REQUEST, tryRun } from '../cel/trials.ts';
import { FIELDS, VARIABLES, viewOf } from '../cel/types.ts';

/** The most requests that are tried for one set of conditions. */
const TRIES_MAX = 400;

type FieldValue = string | number | boolean | readonly string[];

/** The values of request fields, by path. */
export type SharedRequest = ReadonlyMap<string, FieldValue>;

/** The set of requests in which to search. */
export interface RequestSpace {
  readonly operation: Operation;
  /** A name that requests of the operation can send as `model`. */
  readonly model: string;
  /** The names of models and selectors, each with the bits of the operations that it serves. */
  readonly names: ReadonlyMap<string, number>;
}

/**
 * Finds a request for which all conditions are true. `sharedRequest` tries only the values that the conditions compare with, so it does not
 * find every such request.
 * @returns the fields that the conditions read; null if no request was found. `sharedRequest` yields after every try.
 */
export function* sharedRequest(
  conditions: readonly Program[],
  space: RequestSpace,
): Generator<undefined, SharedRequest | null> {
  const fields = [...fieldsOf(conditions.map(({ ast }) => ast))].map(
    ([path, values]): FieldChoices => [path, choicesWithin(path, values, space)],
  );
  for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
    const chosen = valuesOf(fields, attempt);
    if (chosen === null) return null;
    const values = withTies(chosen);
    const view = viewOf(scopeOf(values, space));
    if (conditions.every((one) => tryRun(one, view).value === true)) return values;
    yield;
  }
  return null;
}

/**
 * The facts that are the same in all requests of an operation. Signalbox reads no task from the texts of an embedding request, for example.
 */
const FIXED = byOperation(
  (operation): Readonly<Record<string, FieldValue>> =>
    Object.fromEntries(
      REQUEST_FACT_ROWS.flatMap(([name, { ofTexts }]) => {
        if (name === 'operation') return [[name, operation]];
        return isConversation(operation) || ofTexts === undefined ? [] : [[name, ofTexts]];
      }),
    ),
);

/** Returns the values of a field that a request of the operation can have. */
function choicesWithin(path: string, values: readonly FieldValue[], space: RequestSpace): readonly FieldValue[] {
  if (path === 'request.model') {
    const { bit } = OPERATIONS[space.operation];
    return [...values.filter((name) => ((space.names.get(String(name)) ?? bit) & bit) !== 0), space.model];
  }
  if (path === 'request.needs' && !isConversation(space.operation)) {
    return values.filter((needs) => listed(needs).every((need) => need === 'token_input'));
  }
  const [variable, field = ''] = path.split('.');
  const fixed = variable === 'request' ? FIXED[space.operation][field] : undefined;
  return fixed === undefined ? values : [fixed];
}

const listed = (value: FieldValue | undefined): readonly string[] => (typeof value === 'object' ? value : []);

/** Returns the request with consistent values in fields that depend on other fields. */
function withTies(chosen: SharedRequest): SharedRequest {
  const values = new Map(chosen);
  const tie = (path: string, value: FieldValue) => values.has(path) && values.set(path, value);
  const needs = new Set(listed(chosen.get('request.needs')));
  const tools = chosen.get('request.tools');
  const hasImages = Number(chosen.get('request.images') ?? 0) > 0;
  if (tools === true) needs.add('tools');
  if (tools === false) needs.delete('tools');
  if (hasImages || chosen.get('request.task') === 'vision') needs.add('vision');
  tie('request.needs', [...needs]);
  if (hasImages) tie('request.difficulty', 'usual');
  const most = Number(chosen.get('request.max_tokens') ?? 0);
  if (most > 0) tie('request.output_tokens', Math.min(most, Number(chosen.get('request.output_tokens') ?? 0)));
  return values;
}

/** A field with the values to try. */
type FieldChoices = readonly [path: string, values: readonly FieldValue[]];

/** Returns the combination with this number; null after the last combination. */
function valuesOf(fields: readonly FieldChoices[], number: number): SharedRequest | null {
  let left = number;
  const values = fields.map(([path, all]) => {
    const value = all[left % all.length]!;
    left = Math.floor(left / all.length);
    return [path, value] as const;
  });
  return left > 0 ? null : new Map(values);
}

function* fieldsOf(conditions: readonly ASTNode[]): Generator<FieldChoices> {
  const paths = new Map(
    conditions.flatMap((ast) => [...accessesOf(ast)]).map(({ path }) => [path.join('.'), path] as const),
  );
  for (const [name, path] of paths) {
    const values = choicesOf(path, literalsBeside(name, conditions));
    if (values.length > 0) yield [name, values];
  }
}

/** Returns the literals that a field is compared with, or that its methods get as arguments. */
function literalsBeside(name: string, conditions: readonly ASTNode[]) {
  const found = new Set<string | number | boolean>();
  for (const node of conditions.flatMap((ast) => [...nodesOf(ast)])) {
    const parts = partsOf(node);
    if (!parts.some((part) => pathOf(part)?.join('.') === name)) continue;
    for (const literal of parts.map(literalOf)) if (literal !== undefined) found.add(literal);
  }
  return [...found];
}

/** Returns the sides of a comparison, with the items of a list, or the object and arguments of a method call. */
function partsOf(node: ASTNode): readonly ASTNode[] {
  if (node.op === 'rcall') return [node.args[1], ...node.args[2]];
  if (!['==', '!=', '<', '<=', '>', '>=', 'in'].includes(node.op) || !Array.isArray(node.args)) return [];
  return (node.args as readonly ASTNode[]).flatMap((side) => (side.op === 'list' ? side.args : side));
}

function choicesOf(path: readonly string[], literals: readonly (string | number | boolean)[]): readonly FieldValue[] {
  const [variable = '', field = '', entry] = path;
  const type = VARIABLES.when[variable];
  const fields: Readonly<Record<string, readonly [string, string]>> = type ? FIELDS[type] : {};
  const texts = literals.filter((one) => typeof one === 'string');
  switch (fields[field]?.[0]) {
    case 'bool':
      return [true, false];
    case 'string':
      return variable === 'request' && field !== 'user' ? [...texts, defaultOf(field)] : [...texts, 'x', ''];
    case 'double':
      return numbersAround(path.join('.'), literals);
    case 'list<string>':
      return [texts, ...texts.map((text) => [text]), []];
    case 'map<string, string>':
      return entry === undefined ? [] : [...texts, 'x', ''];
    default:
      return [];
  }
}

function defaultOf(field: string): string {
  const usual: Readonly<Record<string, unknown>> = { ...EMPTY_REQUEST.request };
  const value = usual[field];
  return typeof value === 'string' ? value : '';
}

/** Returns whole numbers at and next to the numbers that a field is compared with, if the field can have them. */
function numbersAround(path: string, literals: readonly unknown[]): readonly number[] {
  const [low, high] = RANGES[path] ?? [0, Number.POSITIVE_INFINITY];
  const near = literals.flatMap((one) => (typeof one === 'number' ? [Math.floor(one), Math.ceil(one)] : []));
  const all = near.flatMap((one) => [one, one + 1, one - 1]).filter((one) => one >= low && one <= high);
  return all.length > 0 ? [...new Set(all)] : [low];
}

/** Returns a typical request with the given field values. */
function scopeOf(values: SharedRequest, { operation, model }: RequestSpace): RuleScope {
  const scope = { ...EMPTY_REQUEST, key: { id: '', labels: new Map<string, string>() } };
  const metadata = new Map<string, string>();
  const owners: Record<string, Record<string, unknown>> = {};
  for (const [path, value] of values) {
    const [variable = '', field = '', ...entry] = path.split('.');
    const text = String(value);
    if (field === 'labels') scope.key.labels.set(entry.join('.'), text);
    else if (field === 'metadata') metadata.set(entry.join('.'), text);
    else owners[variable] = { ...owners[variable], [field]: value };
  }
  return {
    request: { ...scope.request, model, ...FIXED[operation], ...owners.request, metadata },
    key: { ...scope.key, ...owners.key },
    team: { ...scope.team, ...owners.team },
    user: { ...scope.user, ...owners.user },
    time: { ...scope.time, ...owners.time },
  };
}
