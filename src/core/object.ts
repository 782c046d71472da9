import type { Members } from './original.ts';

/** Returns whether outside data is an object: neither null nor a list. Its members are still unchecked. */
export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether an object has no members of its own; true for none. */
export function isEmpty(members: object | null | undefined): boolean {
  for (const _ in members) return false;
  return true;
}

/** The value of a JSON text; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value if it is an object, otherwise an empty one. */
export const objectOf = (value: unknown): Members => (isObject(value) ? value : NO_MEMBERS);
const NO_MEMBERS: Members = {};

/** The value if it is a string, otherwise an empty one. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The value if it is an array, otherwise an empty one. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : NO_ITEMS);
const NO_ITEMS: readonly unknown[] = [];

/** The objects in a list; empty for any other value. */
export const objectsIn = (value: unknown): readonly Members[] =>
  Array.isArray(value) ? value.filter(isObject) : NO_OBJECTS;
const NO_OBJECTS: readonly Members[] = [];

/** The arguments of a call. Text that is no object, as of an answer that was cut, stands in an object of its own. */
export function inputOf(text: string): object {
  if (text === '') return {};
  const input = parseJson(text);
  return isObject(input) ? input : { INVALID_JSON: text };
}
