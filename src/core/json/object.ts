import type { Members } from './original.ts';

/** Whether a value from outside is an object, and neither null nor a list. The members of the object are still unchecked. */
export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether an object has no members of its own; true for null and undefined. */
export function isEmpty(members: object | null | undefined): boolean {
  for (const _ in members) return false;
  return true;
}

/** Returns the value of a JSON text; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the value if it is an object, otherwise an empty object. */
export const objectOf = (value: unknown): Members => (isObject(value) ? value : NO_MEMBERS);
const NO_MEMBERS: Members = {};

/** Returns the value if it is a string, otherwise an empty string. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns the value if it is an array, otherwise an empty array. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : NO_ITEMS);
const NO_ITEMS: readonly unknown[] = [];

/** Returns the objects in a list; an empty list for any other value. */
export const objectsIn = (value: unknown): readonly Members[] =>
  Array.isArray(value) ? value.filter(isObject) : NO_OBJECTS;
const NO_OBJECTS: readonly Members[] = [];

/**
 * Parses the arguments of a tool call. If the text is not a JSON object, for example because the answer was cut off, `inputOf` wraps the
 * text in an object.
 */
export function inputOf(text: string): object {
  if (text === '') return {};
  const input = parseJson(text);
  return isObject(input) ? input : { INVALID_JSON: text };
}
