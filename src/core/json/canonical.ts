import { isObject } from './object.ts';

/** Returns the same text for equal JSON values, by sorting their members. The server limits how deep bodies are nested. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => (isObject(inner) ? sorted(inner) : inner));
}

const sorted = (object: object): object =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
