import type { ProviderFailure } from 'signalbox/plugin';
import { meaningsOf } from './meanings.ts';

export type FailureKind = ProviderFailure['kind'];

const STATUSES = meaningsOf<FailureKind, number>([
  ['auth', [401, 403]],
  ['credit', [402]],
  ['not_found', [404]],
  ['timeout', [408, 504]],
  // A conflict, or a request that an intermediary abandoned. Both statuses are transient, and the SDKs retry them too.
  ['server', [409, 499]],
  ['context', [413]],
  ['rate_limited', [429]],
  ['overloaded', [503, 529]],
]);

/** Classifies a status that is not 2xx. @param named the kind that the body names, used if the status is ambiguous */
export function kindOfStatus(status: number, named?: FailureKind): FailureKind {
  return STATUSES.get(status) ?? named ?? (status >= 400 && status < 500 ? 'rejected' : 'server');
}

/** The maximum number of characters of a message that are examined. */
export const READ_MAX = 2_000;
const LINE_MAX = 300;

/** Returns the text on one line, without control characters, truncated. */
export function oneLine(text: string): string {
  const line = text
    .slice(0, READ_MAX)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return line.length > LINE_MAX ? `${line.slice(0, LINE_MAX - 1)}…` : line;
}

/** Returns the body if it is plain text, otherwise ''. An error body in HTML or JSON is no useful message. */
export function plainText(body: string): string {
  return /^\s*[<[{]/.test(body) ? '' : body;
}

/** A provider's name of a model within a sentence. */
const NAME = `["'\`]?[\\w.:/@-]{1,200}["'\`]?`;
/**
 * Matches messages about an unknown model. The adapters match these messages only at their start, and only if they name nothing but the
 * model, because an error may quote the request, or be about a missing file or tool.
 */
const UNKNOWN_MODEL = new RegExp(
  `^\\W*(?:error:?\\s*)?(?:${[
    `(?:the )?(?:requested |publisher )?models?(?:[:/ ]\\s*${NAME})?,? (?:(?:is |was )?not (?:found|exist)|does not exist)\\b`,
    '(?:invalid|unknown) model(?:[:,.]| id\\b| name\\b|$)',
    '(?:not found the|unable to access) model\\b',
    // Anthropic sends this message.
    `model: ${NAME}$`,
    // OpenRouter sends this message, which begins with the model's name, or says that no endpoint serves the model.
    `${NAME} is not a valid model id\\b`,
    `no endpoints found for ${NAME}$`,
  ].join('|')})`,
  'i',
);

/** Returns whether a provider's message says that the provider does not know the model. */
export const saysUnknownModel = (words: string): boolean => UNKNOWN_MODEL.test(words.slice(0, READ_MAX).trimEnd());
