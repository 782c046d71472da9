/** Longest text of one thrown value, in characters. */
const LENGTH_MAX = 4_000;

/**
 * The stack of a value that was thrown, or whatever else says most of it, cut to 4,000 characters. Never throws: the value
 * may come from anybody, and its getters may throw.
 */
export function stackOf(thrown: unknown): string {
  return textOf(thrown).slice(0, LENGTH_MAX);
}

function textOf(thrown: unknown): string {
  if ((typeof thrown !== 'object' || thrown === null) && typeof thrown !== 'function') return String(thrown);
  return textAt(thrown, 'stack') ?? textAt(thrown, 'message') ?? 'a value without a stack';
}

/** A member if it can be read and is a text that says something. */
function textAt(value: object, name: string): string | null {
  try {
    const found: unknown = Reflect.get(value, name);
    return typeof found === 'string' && found !== '' ? found : null;
  } catch {
    return null;
  }
}
