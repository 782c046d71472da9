import { SQLiteError } from 'bun:sqlite';
import { codeOf } from '../../core/thrown.ts';
import { reasonOf } from '../reason.ts';
import { StoreError, type StoreErrorReason } from '../store.ts';

/** A fault that the code for SQLite detects itself. */
export class Fault extends Error {
  readonly reason: StoreErrorReason;

  constructor(reason: StoreErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The prefixes of error codes with their reason, and a replacement for an error text that is unclear. */
const CODES: readonly (readonly [code: string, reason: StoreErrorReason, words?: string])[] = [
  ['SQLITE_FULL', 'full', 'the disk is full'],
  ['ENOSPC', 'full'],
  ['SQLITE_IOERR', 'broken', 'the disk reports an error; check that it works and has room'],
  ['SQLITE_CANTOPEN', 'broken', 'the file cannot be opened; check that it exists and that you may read it'],
  ['SQLITE_BUSY', 'busy', 'another process has locked it'],
  ['SQLITE_READONLY', 'denied', 'the file system is read-only'],
  ['EACCES', 'denied'],
  ['EPERM', 'denied'],
  ['EROFS', 'denied'],
  ['SQLITE_NOTADB', 'damaged', 'the file is damaged, or is not a SQLite database'],
  ['SQLITE_CORRUPT', 'damaged', 'the file is damaged, or is not a SQLite database'],
  ['SQLITE_CONSTRAINT', 'refused'],
  ['SQLITE_MISMATCH', 'refused'],
  ['SQLITE_TOOBIG', 'refused'],
  ['SQLITE_RANGE', 'refused'],
  ['SQLITE_ERROR', 'refused'],
];

const entryOf = (error: unknown) => CODES.find(([code]) => codeOf(error).startsWith(code));

/** Returns why SQLite or the file system failed, in words for an operator. */
export const faultText = (error: unknown): string => entryOf(error)?.[2] ?? reasonOf(error);

/**
 * Classifies an error of a transaction or of opening a database. The reasons `refused` and `unmet` are caused by the writes themselves: a
 * retry never succeeds.
 */
export function faultOf(error: unknown): StoreErrorReason {
  if (error instanceof Fault || error instanceof StoreError) return error.reason;
  const reason = entryOf(error)?.[1];
  if (reason) return reason;
  // An error without a code does not come from SQLite: it means that the write has a value that cannot be bound.
  return error instanceof SQLiteError || codeOf(error) !== '' ? 'broken' : 'refused';
}

/** @returns the error of an operation that failed as a whole, in one sentence. @param words the reason */
export const failureOf = (what: string, cause: unknown, words = faultText(cause)): StoreError =>
  new StoreError(`${what}: ${words}.`, { reason: faultOf(cause), cause });

/** @returns the error of a read that failed */
export const unreadable = (cause: unknown): StoreError =>
  new StoreError(`the database cannot be read: ${faultText(cause)}`, { reason: faultOf(cause), cause });
