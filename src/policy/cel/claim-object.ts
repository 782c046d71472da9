import type { Environment } from '@marcbachmann/cel-js';
import { isObject } from '../../core/json/object.ts';

/**
 * An object among the claims of a token. Expressions can read its members, but `in`, `exists` and other list functions fail on it. If a
 * claim object were a list, its names would count as entries, and `{"admins": false}` would pass as a list of groups that contains
 * `admins`.
 */
export class ClaimObject extends Map<string, unknown> {
  /** CEL calls this method to iterate over a map. */
  override keys(): never {
    throw new Error('the claim is an object, not a list');
  }
}

/** Adds the operations on an object other than reading members: comparing it, and counting its members. */
export function addClaimObject(environment: Environment): void {
  environment
    .registerType('ClaimObject', { ctor: ClaimObject })
    // CEL adds the same operator with swapped sides.
    .registerOperator('ClaimObject == map', isEqual)
    .registerOperator('ClaimObject == ClaimObject', isEqual)
    .registerFunction('size(ClaimObject): int', sizeOf)
    .registerFunction('ClaimObject.size(): int', sizeOf);
}

const sizeOf = ({ size }: ClaimObject): bigint => BigInt(size);

/** Compares JSON values with each other, or with CEL literals. */
function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, at) => isEqual(item, b[at]));
  }
  const [left, right] = [membersOf(a), membersOf(b)];
  if (left && right) {
    return left.size === right.size && [...left].every(([name, value]) => isEqual(value, right.get(name)));
  }
  return a === b || (isNumber(a) && isNumber(b) && Number(a) === Number(b));
}

function membersOf(value: unknown): ReadonlyMap<unknown, unknown> | null {
  if (value instanceof Map) return value;
  return isObject(value) ? new Map(Object.entries(value)) : null;
}

const isNumber = (value: unknown): value is number | bigint => typeof value === 'number' || typeof value === 'bigint';
