import type { ProviderFailure } from 'signalbox/plugin';

/** What the dialects' failures have in common: what a status means by itself, and words fit for one line of a log. */

export type Kind = ProviderFailure['kind'];

const STATUSES: ReadonlyMap<number, Kind> = new Map([
  [401, 'auth'],
  [402, 'auth'],
  [403, 'auth'],
  [404, 'not_found'],
  [408, 'timeout'],
  // Of a resource that changes at the moment, or that somebody in between gave up: it passes. The SDKs try again too.
  [409, 'server'],
  [499, 'server'],
  [413, 'context'],
  [429, 'rate_limited'],
  [503, 'overloaded'],
  [504, 'timeout'],
  [529, 'overloaded'],
]);

/** What a status outside 2xx means; `named` is what the body says, for those that leave it open. */
export function kindOfStatus(status: number, named?: Kind): Kind {
  return STATUSES.get(status) ?? named ?? (status >= 400 && status < 500 ? 'rejected' : 'server');
}

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
