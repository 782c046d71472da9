import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { syncFolder } from '../durable-file.ts';
import { reasonOf } from '../reason.ts';
import { SpoolError } from '../store.ts';
import { decodeSpool, encodeEntry, encodeHeader, HEADER_BYTES } from './spool-format.ts';
import type { SqlValue, SqlWrite } from './statement.ts';

/** Bytes of the rows of one reservation at most: its failed attempts, its settlement, its payment. */
const RESERVATION_BYTES = 4_096;
/** For rows that reservations share, such as the prices of models. */
const SHARED_BYTES = 262_144;
/** The file grows by as much. */
const STEP_BYTES = 1_048_576;
const ZEROS = Buffer.alloc(65_536);

/** A row as the spool keeps it: the name of its statement, and its values. */
export interface SpooledRow {
  readonly name: string;
  readonly params: readonly SqlValue[];
}

/** Rows that are written all or none. */
export type SpooledUnit = readonly SpooledRow[];

/** The rows of a unit that must outlive the process though the database refuses them. */
export const spooledRows = (writes: readonly SqlWrite[]): SpooledUnit =>
  writes.flatMap((write) => {
    const { spooledAs } = write.statement;
    return spooledAs ? [{ name: spooledAs, params: write.params }] : [];
  });

/** The content of a spool file. */
export interface SpoolReading {
  readonly units: readonly SpooledUnit[];
  /** Whether its last entry is torn. Its prices were not sent, unless the disk has damaged it since. */
  readonly isTorn: boolean;
}

/** Reads a spool file; one that does not exist is empty. Throws an Error of one clear sentence when it is damaged. */
export function readSpool(path: string): SpoolReading {
  try {
    const file = readFileSync(path);
    // Its blocks are written before it gets its name.
    if (file.length < STEP_BYTES) throw new Error('it is incomplete');
    const { texts, isTorn } = decodeSpool(file);
    return { units: texts.flatMap(parseUnits), isTorn };
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return { units: [], isTorn: false };
    throw new Error(
      `Cannot read ${resolve(path)}: ${reasonOf(cause)}. The file has settlements whose prices callers already have. Restore it, or move it away: the next start then closes their reservations by on_crash.`,
      { cause },
    );
  }
}

/** An entry is JSON of units, each a list of `[name, …values]`. Written by `Spool.add` alone, and guarded by its checksum. */
const parseUnits = (text: string): SpooledUnit[] =>
  (JSON.parse(text) as [string, ...SqlValue[]][][]).map((unit) => unit.map(([name, ...params]) => ({ name, params })));

/**
 * A file of the data folder that takes settlements while the database refuses them. Its blocks are written beforehand, so a
 * full disk has room for them. Each entry is on the disk when `add` returns.
 */
export class Spool {
  readonly #path: string;
  readonly #fd: number;
  #capacity: number;
  #generation = 1;
  #entries = 0;
  #end = HEADER_BYTES;
  /** Whether the generation of the header on the disk is unknown: an entry added now might not be found. */
  #isUncertain = false;

  private constructor(path: string, fd: number, capacity: number) {
    this.#path = path;
    this.#fd = fd;
    this.#capacity = capacity;
  }

  /**
   * Puts a new, empty spool in the place of the one at `path`, whose content must be in the database by now. A server that
   * was fenced off keeps the old file, and can add nothing any more. Throws an Error of one clear sentence.
   */
  static create(path: string): Spool {
    const making = `${path}.new`;
    let fd: number | null = null;
    try {
      fd = openSync(making, 'w', 0o600);
      writeAll(fd, encodeHeader(1), 0);
      writeZeros(fd, HEADER_BYTES, STEP_BYTES);
      fsyncSync(fd);
      renameSync(making, path);
      syncFolder(dirname(path));
      return new Spool(path, fd, STEP_BYTES);
    } catch (cause) {
      if (fd !== null) closeSync(fd);
      rmSync(making, { force: true });
      throw new Error(`Cannot write ${resolve(path)}: ${reasonOf(cause)}.`, { cause });
    }
  }

  /** Makes sure that the rows of so many open reservations fit. Throws SpoolError when the disk has no room for them. */
  makeRoom(reservations: number): void {
    const needed = HEADER_BYTES + SHARED_BYTES + reservations * RESERVATION_BYTES;
    if (needed <= this.#capacity) return;
    const capacity = Math.ceil(needed / STEP_BYTES) * STEP_BYTES;
    try {
      writeZeros(this.#fd, this.#capacity, capacity);
      fsyncSync(this.#fd);
    } catch (cause) {
      throw new SpoolError(`the spool cannot grow: ${reasonOf(cause)}`, { cause });
    }
    this.#capacity = capacity;
  }

  /** Adds units in one entry, all or nothing; it is on the disk when this returns. Throws SpoolError. */
  add(units: readonly SpooledUnit[]): void {
    if (this.#isUncertain) throw new SpoolError('the spool cannot be written: it could not be emptied before');
    const text = JSON.stringify(units.map((unit) => unit.map(({ name, params }) => [name, ...params])));
    const entry = encodeEntry(this.#generation, this.#entries, text);
    if (this.#end + entry.length > this.#capacity) throw new SpoolError('the spool is full');
    try {
      this.#checkPlace();
      writeAll(this.#fd, entry, this.#end);
      fdatasyncSync(this.#fd);
    } catch (cause) {
      throw new SpoolError(`the spool cannot be written: ${reasonOf(cause)}`, { cause });
    }
    this.#end += entry.length;
    this.#entries++;
  }

  /** Forgets everything. To be called once all of it is in the database, and synced. Throws SpoolError; then to be called again. */
  clear(): void {
    if (this.#entries === 0 && !this.#isUncertain) return;
    this.#isUncertain = true;
    try {
      writeAll(this.#fd, encodeHeader(this.#generation + 1), 0);
      fdatasyncSync(this.#fd);
      // These bytes mean nothing any more; as zeros they cannot be mistaken for a torn entry.
      writeZeros(this.#fd, HEADER_BYTES, this.#end);
    } catch (cause) {
      throw new SpoolError(`the spool cannot be emptied: ${reasonOf(cause)}`, { cause });
    }
    this.#isUncertain = false;
    this.#generation++;
    this.#entries = 0;
    this.#end = HEADER_BYTES;
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Bytes that are written to a file without a name are lost with the process. */
  #checkPlace(): void {
    const own = fstatSync(this.#fd);
    const found = statSync(this.#path, { throwIfNoEntry: false });
    if (found?.ino !== own.ino || found.dev !== own.dev) throw new Error('its file is gone or was replaced');
  }
}

/** A disk that has no room for all of it may take a part, and says so only at the next write. */
function writeAll(fd: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, at + done);
}

/** Zeros that are written take blocks; a file that is merely extended does not. */
function writeZeros(fd: number, from: number, to: number): void {
  for (let at = from; at < to; at += ZEROS.length) writeAll(fd, ZEROS.subarray(0, Math.min(ZEROS.length, to - at)), at);
}
