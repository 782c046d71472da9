import { membersOf } from '../api/json.ts';

/** A difference between two versions, in words. */
export interface Difference {
  /** The path of the member: `limits.requests_per_minute`. */
  readonly path: string;
  /** The old value; null if the member did not exist. */
  readonly before: string | null;
  readonly after: string | null;
}

/**
 * Returns the differences between two JSON values by path. A list counts as a single value, because a change replaces the list as a whole.
 */
export function differences(before: unknown, after: unknown, path = ''): readonly Difference[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const [one, other] = [membersOf(before), membersOf(after)];
  if (one === null || other === null) return [{ path, before: wordsOf(before), after: wordsOf(after) }];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].flatMap((name) => differences(one[name], other[name], path === '' ? name : `${path}.${name}`));
}

/** Writes a value as a person would: lists with commas, members as `name value`. */
export function wordsOf(value: unknown): string | null {
  if (value === undefined) return null;
  if (value === null) return 'none';
  if (typeof value === 'string') return value === '' ? 'empty' : value;
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map((one) => wordsOf(one) ?? 'none').join('; ');
  const members = membersOf(value);
  if (members === null) return String(value);
  const stated = Object.entries(members).map(([name, of]) => `${pathWords(name)} ${wordsOf(of) ?? 'none'}`);
  return stated.length === 0 ? 'none' : stated.join(', ');
}

/** Writes the path for people: `limits: requests per minute`. */
export const pathWords = (path: string): string =>
  path
    .split('.')
    .map((part) => part.replaceAll('_', ' '))
    .join(': ');
