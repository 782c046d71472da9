import type { Environment } from '@marcbachmann/cel-js';
import { isObject } from '../core/object.ts';

/**
 * An object among the claims of a token. Its members can be read, but it is no collection: `in`, `exists` and the like fail on it.
 * If its names counted as entries, `{"admins": false}` would be a list of groups with `admins`.
 */
export class ClaimObject extends Map<string, unknown> {
  /** CEL iterates over maps with this method. */
  override keys(): never {
    throw new Error('the claim is an object, not a list');
  }
}

/** Adds what expressions may do with an object besides reading its members: compare it, and count its members. */
export function addClaimObject(environment: Environment): void {
  environment
    .registerType('ClaimObject', { ctor: ClaimObject })
    // CEL adds the same operator with the sides exchanged.
    .registerOperator('ClaimObject == map', isEqual)
    .registerOperator('ClaimObject == ClaimObject', isEqual)
    .registerFunction('size(ClaimObject): int', sizeOf)
    .registerFunction('ClaimObject.size(): int', sizeOf);
}

const sizeOf = ({ size }: ClaimObject): bigint => BigInt(size);

/** Compares values of JSON with each other, or with literals of CEL. */
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
