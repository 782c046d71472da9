import type { FactTable } from '../../core/tables/facts/define.ts';
import { TIME_FACTS } from '../../core/tables/facts/time.ts';
import { type ASTNode, literalOf, nodesOf, pathOf } from './ast.ts';

/** The part of a condition that makes the condition always false. */
export interface Contradiction {
  readonly at: ASTNode;
  readonly message: string;
  readonly hint?: string;
}

/** The values of a field for which all comparisons read so far are true. */
interface PossibleValues {
  low: number;
  high: number;
  texts: ReadonlySet<string> | null;
}

/** The least and the greatest value of each field that has both bounds. */
export const RANGES: Readonly<Record<string, readonly [number, number]>> = Object.fromEntries(
  Object.entries<FactTable<never>[string]>(TIME_FACTS).flatMap(([name, { range }]) =>
    range ? [[`time.${name}`, range]] : [],
  ),
);
/** The smallest difference between two values. */
const STEP = 1e-9;

/**
 * Finds why a condition can never be true: it is a false constant, or the parts that `&&` joins leave no possible value for a field.
 * `findContradiction` does not find every contradiction.
 */
export function findContradiction(ast: ASTNode, valueOfConstant: () => boolean): Contradiction | null {
  const namesNothing = ![...nodesOf(ast)].some((node) => node.op === 'id');
  if (namesNothing) return valueOfConstant() ? null : { at: ast, message: 'it is false for every request' };
  const left = new Map<string, PossibleValues>();
  for (const part of operandsOf(ast)) {
    if (literalOf(part) === false) return { at: part, message: 'one of its parts is false for every request' };
    const field = narrow(part, left);
    if (field === null || !isEmpty(left.get(field))) continue;
    return { at: part, message: `no value of \`${field}\` makes all of its parts true`, hint: hintFor(field, part) };
  }
  return null;
}

function hintFor(field: string, part: ASTNode): string | undefined {
  const [low, high] = RANGES[field] ?? [];
  if (low === undefined || high === undefined) return undefined;
  const alone = new Map<string, PossibleValues>();
  narrow(part, alone);
  if (isEmpty(alone.get(field))) return `\`${field}\` is between ${low} and ${high}`;
  return field === 'time.hour'
    ? 'for a time span that includes midnight write `||`: `time.hour >= 22.0 || time.hour < 6.0`'
    : undefined;
}

/** Returns the operands of `&&`, nested operands included. */
export function operandsOf(node: ASTNode): ASTNode[] {
  if (node.op !== '&&') return [node];
  const [left, right] = node.args;
  return [...operandsOf(left), ...operandsOf(right)];
}

function isEmpty(left: PossibleValues | undefined): boolean {
  return left !== undefined && (left.low > left.high || left.texts?.size === 0);
}

const FLIPPED: Readonly<Record<string, string>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=', '==': '==' };

/**
 * Narrows the possible values of a compared field and returns its name. `narrow` returns null for a node that does not compare a field with
 * literals.
 */
function narrow(node: ASTNode, all: Map<string, PossibleValues>): string | null {
  if (node.op === 'in') {
    const [subject, list] = node.args;
    const path = pathOf(subject)?.join('.');
    if (!path || list.op !== 'list') return null;
    const texts = list.args.map(literalOf).filter((text) => typeof text === 'string');
    if (texts.length < list.args.length) return null;
    keepTexts(possibleOf(path, all), texts);
    return path;
  }
  if (!(node.op in FLIPPED) || !Array.isArray(node.args)) return null;
  const [left, right] = node.args as readonly [ASTNode, ASTNode];
  const path = pathOf(left) ?? pathOf(right);
  const value = literalOf(pathOf(left) ? right : left);
  if (!path || value === undefined) return null;
  const field = path.join('.');
  const operator = pathOf(left) ? node.op : (FLIPPED[node.op] ?? node.op);
  if (typeof value === 'number') keepRange(possibleOf(field, all), operator, value);
  else if (typeof value === 'string' && operator === '==') keepTexts(possibleOf(field, all), [value]);
  else return null;
  return field;
}

function possibleOf(field: string, all: Map<string, PossibleValues>): PossibleValues {
  const known = all.get(field);
  if (known) return known;
  const isCount = field.startsWith('request.');
  const [low, high] = RANGES[field] ?? [isCount ? 0 : Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  const fresh: PossibleValues = { low, high, texts: null };
  all.set(field, fresh);
  return fresh;
}

function keepTexts(left: PossibleValues, texts: readonly string[]): void {
  const before = left.texts;
  left.texts = new Set(before ? texts.filter((text) => before.has(text)) : texts);
}

function keepRange(left: PossibleValues, operator: string, value: number): void {
  if (operator === '<' || operator === '<=' || operator === '==') {
    left.high = Math.min(left.high, operator === '<' ? value - STEP : value);
  }
  if (operator === '>' || operator === '>=' || operator === '==') {
    left.low = Math.max(left.low, operator === '>' ? value + STEP : value);
  }
}
