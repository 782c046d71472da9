import type { GuardMatch } from '../../contract/guard.ts';
import { MATCHES_MAX } from '../../contract/guard-matches.ts';
import { SignalboxError } from '../../core/errors.ts';
import { type OriginalPath, pathText } from '../../core/json/original.ts';
import type { GuardRule, Unreadable } from '../../core/policy/guards.ts';
import { GuardFailure } from './guard-runtime.ts';

/** Returns the names and numbers of matches: `2 email, 1 card`, with `or more` if further ones were not searched. */
const countsText = (matches: readonly GuardMatch[]): string => {
  const counts = new Map<string, number>();
  for (const { kind } of matches) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const all = [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ');
  return matches.length < MATCHES_MAX ? all : `${all} or more`;
};

/** Only the first part of a location is shown, because further parts may be names that the caller chose. */
function shownPath([first, index]: OriginalPath): string | undefined {
  if (first === undefined) return undefined;
  return pathText(typeof index === 'number' ? [first, index] : [first]);
}

/** The error for a request with a match. @param at the location of the first match */
export function blockedRequest(
  { name, onMatch }: GuardRule,
  matches: readonly GuardMatch[],
  at: OriginalPath,
): SignalboxError {
  const param = shownPath(at);
  const where = param === undefined ? '' : ` in \`${param}\``;
  const place = matches.length < MATCHES_MAX ? 'it there' : 'so many';
  const why = onMatch === 'mask' ? `The guard cannot mask ${place}, so remove it` : 'Remove it';
  return new SignalboxError(
    'content_blocked',
    `The guard \`${name}\` refuses the request: it found ${countsText(matches)}${where}. ${why}.`,
    { ...(param !== undefined && { param }), details: { guard: name, side: 'input' } },
  );
}

const UNREADABLE_WORDS: Readonly<Record<Unreadable, string>> = {
  images: 'images',
  audio: 'audio',
  files: 'files',
  tokens: 'lists of tokens',
  encrypted: 'encrypted reasoning',
};

/** The error for a request with content that a guard cannot read. */
export const unreadableRequest = ({ name }: GuardRule, kind: Unreadable): SignalboxError =>
  new SignalboxError(
    'content_blocked',
    `The guard \`${name}\` refuses the request: it cannot read ${UNREADABLE_WORDS[kind]}. Send the content as text.`,
    { details: { guard: name, side: 'input' } },
  );

/** The error for an answer with a match. */
export const blockedAnswer = ({ name }: GuardRule, matches: readonly GuardMatch[]): SignalboxError =>
  new SignalboxError(
    'content_blocked',
    `The guard \`${name}\` blocks the answer: it found ${countsText(matches)}. Ask for an answer without it.`,
    { details: { guard: name, side: 'output' }, retry: false },
  );

/** The error for a guard that failed. Only the log has the cause. */
export function guardFailed({ name }: GuardRule, side: 'input' | 'output', cause: unknown): SignalboxError {
  const isTooLong = cause instanceof GuardFailure && cause.isTooLong;
  const what = side === 'input' ? 'request' : 'answer';
  const advice = isTooLong
    ? `The ${what} has more text than the guard can inspect. Shorten it.`
    : 'Try again; if the error stays, tell the operator of the gateway.';
  return new SignalboxError('guard_failed', `The guard \`${name}\` could not inspect the ${what}. ${advice}`, {
    cause,
    details: { guard: name, side },
    ...(isTooLong && { retry: false }),
  });
}

/** The error for a request whose answer a guard may change, and which asks for a second form of the same text. */
export const unmaskableAnswer = ({ name }: GuardRule, param: string): SignalboxError =>
  new SignalboxError(
    'unsupported_parameter',
    `The guard \`${name}\` inspects the answer, and \`${param}\` would repeat its text. Leave out \`${param}\`.`,
    { param },
  );
