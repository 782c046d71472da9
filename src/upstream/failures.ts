import type { ProviderFailure } from '../contract/parts.ts';
import { SECRET, scrub } from '../telemetry/secrets.ts';

const MESSAGE_MAX = 300;

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
  'FailedToOpenSocket',
  'EPROTO',
  'ERR_INVALID_ARG_VALUE',
]);
const CERTIFICATE = /CERT|ISSUER|TLS|SSL/;

/** Why fetch gave no response. Its own words are left out: they can hold an address or a header. */
export function connectFailure(error: unknown): { failure: ProviderFailure; sent: boolean } {
  const code = codeOf(error);
  const sent = code !== '' && !NEVER_CONNECTED.has(code) && !CERTIFICATE.test(code);
  const message = sent ? 'the connection broke before an answer' : 'no connection';
  return { failure: { kind: 'connect', message: code ? `${message} (${code})` : message }, sent };
}

/** Why the body broke off. */
export function bodyFailure(error: unknown): ProviderFailure {
  if (error instanceof Broken) return error.failure;
  const code = codeOf(error);
  return { kind: 'cut', message: `the answer broke off${code ? ` (${code})` : ''}` };
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

/** A failure fit for logs and callers: one line, short, without the key or a piece of it, should an upstream echo it. */
export function tidyFailure(failure: ProviderFailure, apiKey: string | null): ProviderFailure {
  let { message } = failure;
  // Known by itself too: it may be shorter than what is looked for in every text.
  if (apiKey) message = message.replaceAll(apiKey, SECRET);
  message = scrub(message)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  if (message.length > MESSAGE_MAX) message = `${message.slice(0, MESSAGE_MAX - 1)}…`;
  return message === failure.message ? failure : { ...failure, message };
}
