import type { ProviderFailure } from '../contract/parts.ts';
import { SECRET, scrub } from '../telemetry/secrets.ts';

const MESSAGE_MAX = 300;
/** Characters of a finish reason; the longest known has 33. */
const REASON_MAX = 64;

/** Ends a call from within with a failure that is already understood. */
export class Broken extends Error {
  readonly failure: ProviderFailure;

  constructor(kind: ProviderFailure['kind'], message: string, status?: number) {
    super(message);
    this.failure = { kind, message, status };
  }
}

/** Codes of fetch that come before a byte of the request could be written. Certificates follow by pattern. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ConnectionRefused',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'FailedToOpenSocket',
  'EPROTO',
  'ERR_INVALID_ARG_VALUE',
]);
const CERTIFICATE = /CERT|ISSUER|TLS|SSL|UNABLE_TO|SIGNATURE/;

/** True where an error of fetch tells that there was no connection: nothing was sent. */
export function neverConnected(error: unknown): boolean {
  const code = codeOf(error);
  return code === '' || NEVER_CONNECTED.has(code) || CERTIFICATE.test(code);
}

/** Why fetch gave no response. Its own words are left out: they can hold an address or a header. */
export function openFailure(error: unknown, sent: boolean): ProviderFailure {
  if (error instanceof Broken) return error.failure;
  const code = codeOf(error);
  const message = sent ? 'the connection broke before an answer' : 'no connection';
  return { kind: 'connect', message: code ? `${message} (${code})` : message };
}

/** Why the body broke off. */
export function bodyFailure(error: unknown): ProviderFailure {
  if (error instanceof Broken) return error.failure;
  const code = codeOf(error);
  return { kind: 'cut', message: `the answer broke off${code ? ` (${code})` : ''}` };
}

/** The code of an error; empty for none. */
export function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

/**
 * A failure fit for logs and callers: short, in one line that nothing in it turns around, and without the key or a piece of
 * it, should an upstream echo it.
 */
export function tidyFailure(failure: ProviderFailure, apiKey: string | null): ProviderFailure {
  let { message } = failure;
  if (apiKey) message = withoutKey(message, apiKey);
  message = scrub(message)
    .replace(/[\s\p{Cc}\p{Bidi_Control}]+/gu, ' ')
    .trim();
  if (message.length > MESSAGE_MAX) message = `${message.slice(0, MESSAGE_MAX - 1)}…`;
  return message === failure.message ? failure : { ...failure, message };
}

/** A finish reason of the provider's own, which is told as it is and kept; empty where it is long, or holds what must not be told. */
export function tidyReason(raw: string, apiKey: string | null): string {
  return raw.length <= REASON_MAX && isHarmless(raw, apiKey) ? raw : '';
}

/** Whether a text of the upstream's holds neither its key nor what looks like a secret. */
export function isHarmless(text: string, apiKey: string | null): boolean {
  return scrub(text) === text && (!apiKey || withoutKey(text, apiKey) === text);
}

/** Pieces of a key from this length on are left out. */
const PIECE_MIN = 4;

/** Without a key that may be too short to be looked for in every text, or was cut at the text's end. */
function withoutKey(text: string, apiKey: string): string {
  const rest = text.replaceAll(apiKey, SECRET);
  const end = rest.endsWith('…') ? -1 : undefined;
  const open = rest.slice(0, end);
  for (let length = apiKey.length - 1; length >= PIECE_MIN; length--) {
    if (open.endsWith(apiKey.slice(0, length))) return `${open.slice(0, -length)}${SECRET}${end ? '…' : ''}`;
  }
  return rest;
}
