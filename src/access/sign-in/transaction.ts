import { hkdfSync, randomBytes } from 'node:crypto';

/** A sign-in in progress. The answer of the issuer is compared with it. */
export interface Transaction {
  readonly state: string;
  readonly nonce: string;
  /** The code verifier of PKCE. */
  readonly verifier: string;
  /** The path that the person wanted to see, with its query. */
  readonly returnTo: string;
}

/** How long a person may take at the issuer, ms. */
export const TRANSACTION_MS = 10 * 60_000;

const FORM = /^([0-9a-z]{1,11})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{0,700})$/;
const BYTES = 32;

/**
 * Begins a sign-in. The server stores nothing about the sign-in. Everything that must match is derived from the returned value, which only
 * this browser has.
 * @returns the value of a cookie
 */
export function newTransaction(returnTo: string, now: number): string {
  const path = Buffer.from(returnTo).toString('base64url');
  return `${now.toString(36)}.${randomBytes(BYTES).toString('base64url')}.${path}`;
}

/** Reads the value of a cookie; null if it is invalid or too old. */
export function transactionOf(value: string, now: number): Transaction | null {
  const [, time, secret, path] = FORM.exec(value) ?? [];
  if (time === undefined || secret === undefined || path === undefined) return null;
  const age = now - Number.parseInt(time, 36);
  if (!(age >= 0 && age <= TRANSACTION_MS)) return null;
  // The time and the path are part of the derivation, so that a changed cookie matches no answer.
  const derived = (purpose: string) =>
    Buffer.from(hkdfSync('sha256', secret, value, `signalbox sign-in 1 ${purpose}`, BYTES)).toString('base64url');
  const returnTo = Buffer.from(path, 'base64url').toString();
  return { state: derived('state'), nonce: derived('nonce'), verifier: derived('verifier'), returnTo };
}
