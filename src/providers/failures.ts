import type { ProviderFailure, StreamPart } from '../contract/parts.ts';
import type { Members } from '../core/json/original.ts';
import { codeOf } from '../core/thrown.ts';
import { SECRET, SECRET_LENGTH_MIN, scrub } from '../host/telemetry/secrets.ts';

const MESSAGE_MAX = 300;
/** The maximum length of a finish reason in characters. The longest known finish reason has 33 characters. */
const REASON_MAX = 64;

/** An error that ends a call with an already classified failure. */
export class UpstreamError extends Error {
  readonly failure: ProviderFailure;

  constructor(kind: ProviderFailure['kind'], message: string, status?: number) {
    super(message);
    this.failure = { kind, message, status };
  }
}

/**
 * Returns the failure of a request without an answer. The failure omits the message of the error, which can contain an address or a header.
 */
export function openFailure(error: unknown, sent: boolean): ProviderFailure {
  if (error instanceof UpstreamError) return error.failure;
  const code = codeOf(error);
  const detail = code ? ` (${code})` : '';
  if (!sent) return { kind: 'connect', message: `no connection${detail}` };
  return { kind: 'connect', message: `the connection broke before an answer${detail}`, afterSending: true };
}

/** Returns the failure of an answer whose body broke off. */
export function bodyFailure(error: unknown): ProviderFailure {
  if (error instanceof UpstreamError) return error.failure;
  const code = codeOf(error);
  return { kind: 'cut', message: `the answer broke off${code ? ` (${code})` : ''}` };
}

/**
 * Makes a failure's message safe for logs and callers: short, one line, without control or bidirectional characters. The message also loses
 * the API key and pieces of the key that an upstream may echo, if the key has at least 8 characters.
 */
export function sanitizeFailure(failure: ProviderFailure, apiKey: string | null): ProviderFailure {
  let { message } = failure;
  if (apiKey) message = withoutKey(message, apiKey);
  message = scrub(message)
    .replace(/[\s\p{Cc}\p{Bidi_Control}]+/gu, ' ')
    .trim();
  if (message.length > MESSAGE_MAX) message = `${message.slice(0, MESSAGE_MAX - 1)}…`;
  const { original } = failure;
  if (original) return { ...failure, message, original: cleanMembers(original, apiKey) };
  return message === failure.message ? failure : { ...failure, message };
}

/** Writes a failure for operators, with the status of the answer unless the message has it: `401: Incorrect API key provided`. */
export const failureText = ({ message, status }: Pick<ProviderFailure, 'message' | 'status'>): string =>
  `${status === undefined || message.includes(`${status}`) ? '' : `${status}: `}${message}`.replace(/\.$/, '');

/** The maximum nesting of an error that is passed on unchanged. A hostile body could otherwise nest until the stack overflows. */
const LEVELS_MAX = 32;

const cleanMembers = (members: object, apiKey: string | null, level = 0): Members =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [scrub(name), cleanValue(value, apiKey, level)]));

function cleanValue(value: unknown, apiKey: string | null, level: number): unknown {
  if (typeof value === 'string') return scrub(apiKey ? withoutKey(value, apiKey) : value);
  if (typeof value !== 'object' || value === null) return value;
  if (level >= LEVELS_MAX) return null;
  if (Array.isArray(value)) return value.map((item) => cleanValue(item, apiKey, level + 1));
  return cleanMembers(value, apiKey, level + 1);
}

/** Returns a part with the provider's own finish reason, or without it if the reason is too long or may contain a secret. */
export function sanitizePart(part: Extract<StreamPart, { type: 'finish' }>, apiKey: string | null): StreamPart {
  return part.raw.length <= REASON_MAX && isFreeOfSecrets(part.raw, apiKey) ? part : { ...part, raw: '' };
}

/** Returns whether an upstream's text contains neither its API key nor anything that looks like a secret. */
export function isFreeOfSecrets(text: string, apiKey: string | null): boolean {
  return scrub(text) === text && (!apiKey || withoutKey(text, apiKey) === text);
}

/** The minimum length of a piece of a key that is removed. */
const PIECE_MIN = 4;

/**
 * Removes the API key from a text. The general scan for secrets may take an API key for a word, or miss a key that is cut off at the end of
 * the text. Pieces of a key that are shorter than `PIECE_MIN` are not removed, because any word may contain them.
 */
function withoutKey(text: string, apiKey: string): string {
  if (apiKey.length < SECRET_LENGTH_MIN) return text;
  const rest = text.replaceAll(apiKey, SECRET);
  const end = rest.endsWith('…') ? -1 : undefined;
  const open = rest.slice(0, end);
  const start = apiKey.slice(0, PIECE_MIN);
  for (let at = open.indexOf(start); at >= 0; at = open.indexOf(start, at + 1)) {
    if (apiKey.startsWith(open.slice(at))) return `${open.slice(0, at)}${SECRET}${end ? '…' : ''}`;
  }
  return rest;
}
