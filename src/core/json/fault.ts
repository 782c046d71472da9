/** Location of the first mistake in a text that is not JSON. */
interface JsonFault {
  /** The line of the mistake, from 1. */
  readonly line: number;
  /** The column of the mistake in characters, from 1. */
  readonly column: number;
  /** The reason as a sentence without a full stop, such as `expected a comma or }`. */
  readonly reason: string;
}

const WHITE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
/** The characters inside a JSON string: all from the space on, except unescaped quotes and backslashes. */
const CHARACTERS = /(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*/y;

/**
 * Finds the first mistake in a text that `JSON.parse` refuses, because the errors of `JSON.parse` have no location.
 * @param text nested at most `DEPTH_MAX` levels, because the function is recursive
 * @returns null for valid JSON
 */
export function jsonFault(text: string): JsonFault | null {
  let at = 0;
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.test(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  // Throws the mistake, because the search ends at the first mistake.
  const fail = (reason: string): never => {
    throw new SyntaxError(at >= text.length ? 'the text ends before the JSON is complete' : reason);
  };
  const string = (what: string): void => {
    if (text[at] === "'") fail('strings need double quotes');
    if (text[at] !== '"') fail(`expected ${what}`);
    at++;
    skip(CHARACTERS);
    if (text[at] === '\\') fail('this escape sequence does not exist');
    if (text[at] !== '"') fail('a string cannot contain a line break or another control character; escape it');
    at++;
  };
  /** Reads members or elements up to the closing bracket. */
  const list = (close: string, one: () => void): void => {
    at++;
    skip(WHITE);
    if (text[at] === close) {
      at++;
      return;
    }
    for (;;) {
      one();
      skip(WHITE);
      if (text[at] === close) break;
      if (text[at] !== ',') fail(`expected a comma or ${close}`);
      const comma = at;
      at++;
      skip(WHITE);
      if (text[at] !== close) continue;
      at = comma;
      fail(`a comma cannot come before ${close}`);
    }
    at++;
  };
  const value = (): void => {
    skip(WHITE);
    const first = text[at];
    if (first === '{') {
      list('}', () => {
        string('a field name in double quotes');
        skip(WHITE);
        if (text[at] !== ':') fail('expected a colon after the field name');
        at++;
        value();
      });
    } else if (first === '[') list(']', value);
    else if (first === '"' || first === "'") string('a string');
    else if (!skip(WORD) && !skip(NUMBER)) fail('expected a value');
  };
  try {
    value();
    skip(WHITE);
    if (at < text.length) fail('there is more text after the end of the JSON');
    return null;
  } catch (mistake) {
    if (!(mistake instanceof SyntaxError)) throw mistake;
    const before = text.slice(0, at);
    const start = before.lastIndexOf('\n') + 1;
    return { line: before.split('\n').length, column: at - start + 1, reason: mistake.message };
  }
}
