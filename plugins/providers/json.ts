import { isObject, listOf, objectOf, objectsIn, parseJson, referenced, textOf } from 'signalbox/plugin';

/** A JSON object from an upstream, whose members are not checked. */
export type Json = Readonly<Record<string, unknown>>;

export { isObject, listOf, objectOf, objectsIn, parseJson, referenced, textOf };

/** Returns the value if it is a number. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** Returns the value if it is a text that is not empty. */
export const statedText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** Returns the value if it is a whole number of tokens. */
export const tokensOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;

/**
 * Translates each object of a list, and leaves other values out. Returns the same list if nothing changes.
 * @param translate returns null for an object to leave out
 */
export function mapObjects(
  list: readonly unknown[],
  translate: (item: Json, at: number) => Json | null,
): readonly Json[] {
  const objects = list.every(isObject) ? list : list.filter(isObject);
  let changed: Json[] | null = null;
  for (let at = 0; at < objects.length; at++) {
    const item = translate(objects[at]!, at);
    if (changed === null && item !== objects[at]) changed = objects.slice(0, at);
    if (item !== null) changed?.push(item);
  }
  return changed ?? objects;
}

/** Returns the index of a choice or item; 0 for an invalid index. */
export const indexOf = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
