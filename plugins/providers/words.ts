/** What an upstream says of a failure, made fit for one line of a log. */

/** Characters that are looked at. */
export const READ_MAX = 2_000;
const LINE_MAX = 300;

/** A text in one line, without control characters, cut where it is long. */
export function oneLine(text: string): string {
  const line = text
    .slice(0, READ_MAX)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return line.length > LINE_MAX ? `${line.slice(0, LINE_MAX - 1)}…` : line;
}

/** The body if it is a plain text: a page of HTML or a piece of JSON explains nothing in one line. */
export function plainText(body: string): string {
  return /^\s*[<[{]/.test(body) ? '' : body;
}
