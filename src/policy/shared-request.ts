import type { RuleScope } from '../core/rules.ts';
import { type ASTNode, accessesOf, literalOf, nodesOf, pathOf } from './cel-ast.ts';
import type { Program } from './cel-check.ts';
import { RANGES } from './cel-contradictions.ts';
import { FIELDS, VARIABLES, viewOf } from './cel-types.ts';
import { EMPTY_REQUEST, tryRun } from './expressions.ts';

/** Requests that are tried for one pair of conditions. */
const TRIES_MAX = 400;

type FieldValue = string | number | boolean | readonly string[];

/** Values of fields, by path. */
export type SharedRequest = ReadonlyMap<string, FieldValue>;

/**
 * Finds a request for which both conditions are true, from the values that they compare with. Tries no other values, so it does not
 * find every such request.
 * @returns the fields that the conditions read; null for none. Yields after every try.
 */
export function* sharedRequest(a: Program, b: Program): Generator<undefined, SharedRequest | null> {
  const fields = [...fieldsOf([a.ast, b.ast])];
  for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
    const values = valuesOf(fields, attempt);
    if (values === null) return null;
    const view = viewOf(scopeOf(values));
    if (tryRun(a, view).value === true && tryRun(b, view).value === true) return values;
    yield;
  }
  return null;
}

/** A field with the values to try. */
type FieldChoices = readonly [path: string, values: readonly FieldValue[]];

/** The combination of this number; null beyond the last one. */
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

/** The literals that a field is compared with, or that are passed to its methods. */
function literalsBeside(name: string, conditions: readonly ASTNode[]) {
  const found = new Set<string | number | boolean>();
  for (const node of conditions.flatMap((ast) => [...nodesOf(ast)])) {
    const parts = partsOf(node);
    if (!parts.some((part) => pathOf(part)?.join('.') === name)) continue;
    for (const literal of parts.map(literalOf)) if (literal !== undefined) found.add(literal);
  }
  return [...found];
}

/** The sides of a comparison, the items of a list on one side among them, or the owner and arguments of a method. */
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

/** Whole numbers at and next to those that a field is compared with, as far as it can have them. */
function numbersAround(path: string, literals: readonly unknown[]): readonly number[] {
  const [low, high] = RANGES[path] ?? [0, Number.POSITIVE_INFINITY];
  const near = literals.flatMap((one) => (typeof one === 'number' ? [Math.floor(one), Math.ceil(one)] : []));
  const all = near.flatMap((one) => [one, one + 1, one - 1]).filter((one) => one >= low && one <= high);
  return all.length > 0 ? [...new Set(all)] : [low];
}

/** The usual request with these values. */
function scopeOf(values: SharedRequest): RuleScope {
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
    request: { ...scope.request, ...owners.request, metadata },
    key: { ...scope.key, ...owners.key },
    team: { ...scope.team, ...owners.team },
    user: { ...scope.user, ...owners.user },
    time: { ...scope.time, ...owners.time },
  };
}
