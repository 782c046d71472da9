/** Guards for what an upstream sends: nothing in it can be relied upon. */

export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is a text, else an empty one. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The value if it is a number. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** The list's elements; none for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** What a `$ref` such as `#/$defs/Item` leads to in its schema; undefined where that is nothing, or outside of it. */
export function referenced(root: Json, ref: string): unknown {
  const [start, ...steps] = ref.split('/').map(unescaped);
  let value: unknown = start === '#' ? root : undefined;
  for (const step of steps) {
    if (!isObject(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[step];
  }
  return value;
}

/** A step of a JSON pointer in a URL: generators write names such as `Pick<A>` with percent signs. */
function unescaped(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return step;
  }
}

/** Parses JSON; undefined for what is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The number of a choice or an item; 0 for what is no such number. */
export const indexOf = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
