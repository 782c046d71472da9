import type { ProviderFailure } from 'signalbox/plugin';
import { meaningsOf } from './meanings.ts';

export type FailureKind = ProviderFailure['kind'];

const STATUSES = meaningsOf<FailureKind, number>([
  ['auth', [401, 403]],
  ['credit', [402]],
  ['not_found', [404]],
  ['timeout', [408, 504]],
  // A conflict, or a request that an intermediary abandoned: transient. The SDKs retry these too.
  ['server', [409, 499]],
  ['context', [413]],
  ['rate_limited', [429]],
  ['overloaded', [503, 529]],
]);

/** Classifies a status outside 2xx. @param named the body's own kind, used where the status is ambiguous */
export function kindOfStatus(status: number, named?: FailureKind): FailureKind {
  return STATUSES.get(status) ?? named ?? (status >= 400 && status < 500 ? 'rejected' : 'server');
}

/** The most characters of a message that are examined. */
export const READ_MAX = 2_000;
const LINE_MAX = 300;

/** The text on one line, without control characters, truncated. */
export function oneLine(text: string): string {
  const line = text
    .slice(0, READ_MAX)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return line.length > LINE_MAX ? `${line.slice(0, LINE_MAX - 1)}…` : line;
}

/** The body if it is plain text, otherwise empty: HTML or JSON explains nothing in one line. */
export function plainText(body: string): string {
  return /^\s*[<[{]/.test(body) ? '' : body;
}

/** A service's name of a model in a sentence. */
const NAME = `["'\`]?[\\w.:/@-]{1,200}["'\`]?`;
/** From the start, and of the model alone: an error may quote the request, and a file or tool may be missing, too. */
const UNKNOWN_MODEL = new RegExp(
  `^\\W*(?:error:?\\s*)?(?:${[
    `(?:the )?(?:requested |publisher )?models?(?:[:/ ]\\s*${NAME})?,? (?:(?:is |was )?not (?:found|exist)|does not exist)\\b`,
    '(?:invalid|unknown) model(?:[:,.]| id\\b| name\\b|$)',
    '(?:not found the|unable to access) model\\b',
    // Anthropic.
    `model: ${NAME}$`,
    // OpenRouter begins with the name, or has nobody who serves it.
    `${NAME} is not a valid model id\\b`,
    `no endpoints found for ${NAME}$`,
  ].join('|')})`,
  'i',
);

/** Whether the words of a service say that it does not know the model. */
export const saysUnknownModel = (words: string): boolean => UNKNOWN_MODEL.test(words.slice(0, READ_MAX).trimEnd());
