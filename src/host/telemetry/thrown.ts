/** The most characters of the text of a thrown value. If the text is longer, its beginning and its end are kept. */
const LENGTH_MAX = 4_000;
const HEAD = 1_000;

/** Returns the stack of any thrown value, or else its message or text. `stackOf` never throws, although getters of the value may throw. */
export function stackOf(thrown: unknown): string {
  const text = wholeText(thrown);
  // The frames of the stack come after the message, which may have any length.
  return text.length <= LENGTH_MAX ? text : `${text.slice(0, HEAD - 1)}…${text.slice(HEAD - LENGTH_MAX)}`;
}

function wholeText(thrown: unknown): string {
  if ((typeof thrown !== 'object' || thrown === null) && typeof thrown !== 'function') return String(thrown);
  return textAt(thrown, 'stack') ?? textAt(thrown, 'message') ?? textAt(thrown, 'name') ?? 'a value without a stack';
}

/** Returns a member if it can be read and is a text that is not empty. */
function textAt(value: object, name: string): string | null {
  try {
    const found: unknown = Reflect.get(value, name);
    return typeof found === 'string' && found !== '' ? found : null;
  } catch {
    return null;
  }
}
