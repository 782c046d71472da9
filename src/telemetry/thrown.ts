/** The maximum length of the text, in characters. */
const LENGTH_MAX = 4_000;

/** The stack of any thrown value, or else its message or text. Never throws, although its getters may. */
export function stackOf(thrown: unknown): string {
  return textOf(thrown).slice(0, LENGTH_MAX);
}

function textOf(thrown: unknown): string {
  if ((typeof thrown !== 'object' || thrown === null) && typeof thrown !== 'function') return String(thrown);
  return textAt(thrown, 'stack') ?? textAt(thrown, 'message') ?? 'a value without a stack';
}

/** A member, if it can be read and is a text that is not empty. */
function textAt(value: object, name: string): string | null {
  try {
    const found: unknown = Reflect.get(value, name);
    return typeof found === 'string' && found !== '' ? found : null;
  } catch {
    return null;
  }
}
