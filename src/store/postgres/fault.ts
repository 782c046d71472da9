import { codeOf, messageOf } from '../../core/thrown.ts';
import { StoreError, type StoreErrorReason } from '../store.ts';

/** The driver reports that a prepared statement is missing or already exists: the pooler has changed the session. */
export const ANOTHER_SESSION =
  'a connection pooler gives each transaction another session; set pool_mode = session in the pooler';

const NO_ANSWER = 'nothing answers at its address; check the host and port in its URL, and firewalls';
const UNKNOWN_AUTHORITY =
  'no known authority has signed its certificate; sslrootcert must name the file of that authority, or of the certificate itself';

/**
 * Maps errors to reasons. The first element is the beginning of an SQLSTATE, of a system error code, or of a message without a code. The
 * third element replaces an error text that is unclear or does not say what to do, which it adds after `; `; a `%` in it stands for the original text.
 */
const CODES: readonly (readonly [code: string, reason: StoreErrorReason, words?: string])[] = [
  ['53100', 'full', 'the disk of the database is full'],
  [
    '53300',
    'broken',
    'the database has no free connection; set max_connections, or the connection limit of the user, to at least 9 for each server',
  ],
  ['53', 'broken', 'the database has reached one of its limits; see its log'],
  ['57P0', 'broken', 'the database is starting or stopping'],
  ['57014', 'busy', 'the database took too long'],
  ['55P03', 'busy', 'another transaction in the database keeps a lock'],
  ['25P03', 'busy', 'the database ended a transaction that was idle for too long'],
  ['25006', 'broken', 'it is a standby, or does not accept writes'],
  [
    '28P01',
    'denied',
    'the database refuses the user or its password; check both in its URL, or the file of password_file',
  ],
  // The text of the database server's error names the unknown user or the missing line of pg_hba.conf.
  ['28', 'denied'],
  [
    'SASL: SCRAM-SERVER-FIRST',
    'denied',
    'the database requires a password; add it to its URL, or name its file with password_file',
  ],
  ['42501', 'denied', 'the user of the database lacks a permission'],
  ['3D000', 'missing', 'there is no database of that name; create it first'],
  ['XX001', 'damaged'],
  ['XX002', 'damaged'],
  ['26000', 'broken', ANOTHER_SESSION],
  ['42P05', 'broken', ANOTHER_SESSION],
  // A conflict with another transaction. A transaction that failed because of a conflict may succeed if it is run again.
  ['40', 'busy', 'the transaction failed repeatedly because of conflicts with other transactions'],
  ['22', 'refused'],
  ['23', 'refused'],
  ['42', 'refused'],
  ['P0001', 'refused'],
  // Error codes of Signalbox, raised in `books/decide.sql`.
  ['SB001', 'fenced', 'the lease of this server on the database has ended'],
  ['SB002', 'unmet', 'a condition of the write is false'],
  [
    'ECONNREFUSED',
    'broken',
    'nothing listens at its address; check the host and port in its URL, and that the database runs',
  ],
  ['ENOENT', 'broken', 'that folder has no socket of the database; check that the database runs'],
  ['ENOTFOUND', 'broken', 'the name of its host is unknown; check the host in its URL'],
  ['timeout expired', 'broken', NO_ANSWER],
  ['ETIMEDOUT', 'broken', NO_ANSWER],
  [
    'Query read timeout',
    'broken',
    'the database does not answer; a connection pooler needs 9 connections for each server',
  ],
  ['Connection terminated unexpectedly', 'broken', 'the other side ended the connection; check that it is PostgreSQL'],
  [
    'There was an error establishing an SSL',
    'broken',
    'the server at this address is not PostgreSQL; check the port in its URL',
  ],
  [
    'The server does not support SSL',
    'broken',
    'the database has TLS turned off; turn it on, or add sslmode=disable to the URL',
  ],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'broken', UNKNOWN_AUTHORITY],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'broken', UNKNOWN_AUTHORITY],
  ['UNABLE_TO_', 'broken', UNKNOWN_AUTHORITY],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'broken',
    'its certificate is for another host; use the host name of the certificate in its URL (%)',
  ],
  ['CERT_HAS_EXPIRED', 'broken', 'its certificate has expired; renew it'],
];

function entryOf(error: unknown) {
  const told = codeOf(error) || messageOf(error);
  return CODES.find(([beginning]) => told.startsWith(beginning));
}

/** @returns why the database or the connection to the database failed, in words for an operator */
export function faultText(error: unknown): string {
  const own = messageOf(error);
  // The database server's message ends with these words if pg_hba.conf has no matching line without TLS; pg_hba.conf may have a matching
  // line with TLS.
  if (own.endsWith(', no encryption')) return `${own}; if it requires TLS, add sslmode=verify-full to its URL`;
  return entryOf(error)?.[2]?.replace('%', () => own) ?? own;
}

/** @returns the reason of an error, as for SQLite. A write that fails with `refused` or `unmet` fails again whenever it is tried. */
export const faultOf = (error: unknown): StoreErrorReason =>
  error instanceof StoreError ? error.reason : (entryOf(error)?.[1] ?? 'broken');

/**
 * True if the connection is unusable after the error: the server ends it, the server accepts no writes, or the error comes neither from the
 * database server nor from Signalbox.
 */
export function isLoss(error: unknown): boolean {
  if (error instanceof StoreError) return false;
  const code = codeOf(error);
  return code.startsWith('57P0') || code === '25P03' || isReadOnly(error) || !/^(?!E[A-Z]{4})[0-9A-Z]{5}$/.test(code);
}

/**
 * True if the database accepts no writes, so nothing was written. The connection of such an error never accepts writes, but a new
 * connection may accept them.
 */
export const isReadOnly = (error: unknown): boolean => codeOf(error) === '25006';

/** True if the transaction may succeed when it is run again: a serialization failure or a deadlock. */
export const isConflict = (error: unknown): boolean => /^40(?:001|P01)$/.test(codeOf(error));

/**
 * @returns the error for a database that cannot be used, in one sentence. A `StoreError` that already is a sentence is returned unchanged.
 */
export const unusableFor = (place: string, cause: unknown): StoreError =>
  cause instanceof StoreError && cause.message.endsWith('.')
    ? cause
    : failureOf(`Cannot use the database ${place}`, cause);

/** @returns an error for a job that failed as a whole, in one sentence */
export const failureOf = (what: string, cause: unknown): StoreError =>
  new StoreError(`${what}: ${faultText(cause).replace(/\.$/, '')}.`, { reason: faultOf(cause), cause });
