/** Returns whether outside data is an object: neither null nor a list. Its members are still unchecked. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether an object has no members of its own; true for none. */
export function isEmpty(members: object | null | undefined): boolean {
  for (const _ in members) return false;
  return true;
}

/** The value of a JSON text; undefined for any other text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
