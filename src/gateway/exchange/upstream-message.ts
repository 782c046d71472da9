import type { ProviderFailure } from '../../contract/parts.ts';
import { isObject } from '../../core/json/object.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { isPlainName } from '../../core/text/plain-name.ts';
import { RUN_MIN, withoutRunsOf } from '../../core/text/runs.ts';
import { scrubName } from '../../host/telemetry/secrets.ts';
import type { FailedAttempt } from './failure.ts';

/** The most characters of a request in which the words of an upstream's message are searched. */
const SEARCHED_MAX = 131_072;

/** Kinds of failures whose message Signalbox wrote itself if they have no status. */
const OWN_WORDS: ReadonlySet<ProviderFailure['kind']> = new Set(['cut', 'connect', 'timeout', 'malformed']);

/** Makes an upstream's message safe for the log: without words that repeat the prompt, and without a part of the answer. */
export function loggableMessage({ failure, hasBegun }: FailedAttempt, request: ModelRequest): string {
  const { kind, message, status } = failure;
  const isOwn = OWN_WORDS.has(kind) && status === undefined;
  if (message.length < RUN_MIN) return message;
  if (hasBegun && !isOwn) return '[omitted: it came in the middle of an answer]';
  return withoutTexts(message, textsIn(request.original.body));
}

/**
 * Replaces secrets in a message, and then the words that repeat texts of a request. A key in other letter case repeats them only in part, so
 * after the words are gone it would no longer look like a key.
 */
export function withoutTexts(message: string, texts: readonly string[]): string {
  const size = texts.reduce((sum, text) => sum + text.length, 0);
  if (size > SEARCHED_MAX) return '[omitted: the request is too large to check it for copied text]';
  return withoutRunsOf(scrubName(message), texts, '[prompt]');
}

/** Members that contain media instead of words. */
const MEDIA = new Set(['data', 'file_data']);
/** How many names of members may be names of fields. Further ones are texts of the caller, because no client sends so many fields. */
const FIELDS_MAX = 2_000;

/**
 * Returns all texts of a body except the model's name, which many messages contain. The names in `metadata`, and names that look like no
 * field, are texts, too. Stops once there are more characters than `withoutTexts` searches.
 */
export function textsIn(body: unknown): string[] {
  const { model: _, ...rest } = isObject(body) ? body : { body };
  const { metadata } = rest;
  const texts: string[] = [];
  let size = 0;
  let fields = 0;
  const add = (text: string): void => {
    if (text.length < RUN_MIN || text.startsWith('data:')) return;
    texts.push(text);
    size += text.length;
  };
  const collect = (value: unknown): void => {
    if (size > SEARCHED_MAX) return;
    if (typeof value === 'string') add(value);
    else if (Array.isArray(value)) for (const item of value) collect(item);
    else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) {
        if (size > SEARCHED_MAX) return;
        const isField = value !== metadata && (name.length < RUN_MIN || (++fields <= FIELDS_MAX && isPlainName(name)));
        if (!isField) add(name);
        if (!MEDIA.has(name)) collect(inner);
      }
    }
  };
  collect(rest);
  return texts;
}
