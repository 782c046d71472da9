import { codeOf, messageOf } from '../../core/thrown.ts';
import { StoreError, type StoreErrorReason } from '../store.ts';

/** A prepared statement is not there, or is there already. */
export const ANOTHER_SESSION =
  'a pooler on the way gives each transaction another session; set pool_mode = session there';

const NO_ANSWER = 'nothing answers at its address; see the host and port in its URL, and firewalls between';
const UNKNOWN_AUTHORITY =
  'no known authority has signed its certificate; sslrootcert must name the file of its authority, or of the certificate itself';

/**
 * Beginnings of SQLSTATEs, of codes of the system, or of messages that have no code, with their reason, and with words where the
 * error's own, which stand at a %, are unclear or do not say what would be right.
 */
const CODES: readonly (readonly [code: string, reason: StoreErrorReason, words?: string])[] = [
  ['53100', 'full', 'the disk of the database is full'],
  [
    '53300',
    'broken',
    'all connections are taken; raise max_connections, or the limit of its user, to 9 for each server',
  ],
  ['53', 'broken', 'the database is at a limit of its own; see its log'],
  ['57P0', 'broken', 'the database starts or stops'],
  ['57014', 'busy', 'the database took too long'],
  ['55P03', 'busy', 'other work keeps a lock at the database'],
  ['25P03', 'busy', 'a transaction stood still for too long, and the database ended it'],
  ['25006', 'broken', 'it is a standby, or takes no writes'],
  [
    '28P01',
    'denied',
    'the database refuses the user or its password; see both in its URL, or the file of password_file',
  ],
  // The server's words name the user that it does not know, or the line that its pg_hba.conf lacks.
  ['28', 'denied'],
  [
    'SASL: SCRAM-SERVER-FIRST',
    'denied',
    'the database wants a password; state it in its URL, or its file by password_file',
  ],
  ['42501', 'denied', 'the user of the database lacks a right'],
  ['3D000', 'missing', 'there is no database of that name; make it first'],
  ['XX001', 'damaged'],
  ['XX002', 'damaged'],
  ['26000', 'broken', ANOTHER_SESSION],
  ['42P05', 'broken', ANOTHER_SESSION],
  // A conflict with another transaction: done again from the start, it may succeed.
  ['40', 'busy', 'other work at the database was in the way, again and again'],
  ['22', 'refused'],
  ['23', 'refused'],
  ['42', 'refused'],
  ['P0001', 'refused'],
  // Ours: see `books/decide.sql`.
  ['SB001', 'fenced', 'the lease of this server on the database has ended'],
  ['SB002', 'unmet', 'a condition is not met'],
  ['ECONNREFUSED', 'broken', 'nothing listens at its address; see the host and port in its URL, and that it runs'],
  ['ENOENT', 'broken', 'there is no socket of it in that folder; see that it runs'],
  ['ENOTFOUND', 'broken', 'the name of its host is not known; see the host in its URL'],
  ['timeout expired', 'broken', NO_ANSWER],
  ['ETIMEDOUT', 'broken', NO_ANSWER],
  ['Query read timeout', 'broken', 'it says nothing; a pooler on the way needs 9 connections for each server'],
  ['Connection terminated unexpectedly', 'broken', 'the other side ended the connection; see that it is PostgreSQL'],
  ['There was an error establishing an SSL', 'broken', 'what answers is no PostgreSQL; see the port in its URL'],
  ['The server does not support SSL', 'broken', 'it has no TLS; turn it on there, or go without by sslmode=disable'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'broken', UNKNOWN_AUTHORITY],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'broken', UNKNOWN_AUTHORITY],
  ['UNABLE_TO_', 'broken', UNKNOWN_AUTHORITY],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'broken',
    'its certificate is for another host; name the host in its URL as the certificate does (%)',
  ],
  ['CERT_HAS_EXPIRED', 'broken', 'its certificate has expired; renew it there'],
];

function entryOf(error: unknown) {
  const told = codeOf(error) || messageOf(error);
  return CODES.find(([beginning]) => told.startsWith(beginning));
}

/** Why the database or the way to it failed, in words for an operator. */
export function faultText(error: unknown): string {
  const own = messageOf(error);
  // The end of what a server says whose pg_hba.conf may have a line for TLS alone.
  if (own.endsWith(', no encryption')) return `${own}; if it demands TLS, add sslmode=verify-full to its URL`;
  return entryOf(error)?.[2]?.replace('%', () => own) ?? own;
}

/** As that of SQLite: `refused` and `unmet` lie in the writes themselves, so that they never succeed. */
export const faultOf = (error: unknown): StoreErrorReason =>
  error instanceof StoreError ? error.reason : (entryOf(error)?.[1] ?? 'broken');

/**
 * Whether the connection is lost with it: the server says that it ends it, it takes no writes, or it is nothing that a server or we
 * say.
 */
export function isLoss(error: unknown): boolean {
  if (error instanceof StoreError) return false;
  const code = codeOf(error);
  return code.startsWith('57P0') || code === '25P03' || isReadOnly(error) || !/^(?!E[A-Z]{4})[0-9A-Z]{5}$/.test(code);
}

/** Whether the database takes no writes, so that nothing has happened. A connection that began so never writes; a new one may. */
export const isReadOnly = (error: unknown): boolean => codeOf(error) === '25006';

/** Whether a transaction that failed so may succeed if it is done again. */
export const isConflict = (error: unknown): boolean => /^40(?:001|P01)$/.test(codeOf(error));

/** @returns the error of work at a database that cannot be used, in one sentence; one that is a sentence stays as it is */
export const unusableFor = (place: string, cause: unknown): StoreError =>
  cause instanceof StoreError && cause.message.endsWith('.')
    ? cause
    : failureOf(`Cannot use the database ${place}`, cause);

/** @returns the error of work that failed as a whole, in one sentence */
export const failureOf = (what: string, cause: unknown): StoreError =>
  new StoreError(`${what}: ${faultText(cause).replace(/\.$/, '')}.`, { reason: faultOf(cause), cause });
