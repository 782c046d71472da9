import { hkdfSync, randomBytes } from 'node:crypto';

/** A sign-in under way: what the answer of the issuer is compared with. */
export interface Transaction {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
  /** The path that the person wanted to see, with its query. */
  readonly returnTo: string;
}

/** How long a person may take at the issuer, ms. */
export const TRANSACTION_MS = 10 * 60_000;

const FORM = /^([0-9a-z]{1,11})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{0,700})$/;
const BYTES = 32;

/**
 * Begins a sign-in. The server keeps nothing of it: all that must fit is derived from the value, which only the browser that began has.
 * @returns the value of a cookie
 */
export function newTransaction(returnTo: string, now: number): string {
  const path = Buffer.from(returnTo).toString('base64url');
  return `${now.toString(36)}.${randomBytes(BYTES).toString('base64url')}.${path}`;
}

/** Reads the value of a cookie; null where it is none, or too old. */
export function transactionOf(value: string, now: number): Transaction | null {
  const [, time, secret, path] = FORM.exec(value) ?? [];
  if (time === undefined || secret === undefined || path === undefined) return null;
  const age = now - Number.parseInt(time, 36);
  if (!(age >= 0 && age <= TRANSACTION_MS)) return null;
  // The time and the path are part of it, so that a changed one fits no answer.
  const derived = (purpose: string) =>
    Buffer.from(hkdfSync('sha256', secret, value, `signalbox sign-in 1 ${purpose}`, BYTES)).toString('base64url');
  const returnTo = Buffer.from(path, 'base64url').toString();
  return { state: derived('state'), nonce: derived('nonce'), verifier: derived('verifier'), returnTo };
}
