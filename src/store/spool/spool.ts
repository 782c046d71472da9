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
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { codeOf } from '../../core/thrown.ts';
import type { SpoolNotes, SpoolSettlements } from '../driver.ts';
import { syncFolder, writeAll } from '../durable-file.ts';
import { reasonOf } from '../reason.ts';
import type { SqlValue, SqlWrite } from '../sql/statement.ts';
import { SpoolError } from '../store.ts';
import { decodeSpool, encodeEntry, encodeHeader, HEADER_BYTES } from './format.ts';

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
  readonly params: SqlWrite['params'];
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
export interface SpoolReading extends Omit<SpoolSettlements, 'path'> {
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
    const { generation, texts, isTorn } = decodeSpool(file);
    return { generation, entries: texts.length, units: texts.flatMap(parseUnits), isTorn };
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return { generation: 0, entries: 0, units: [], isTorn: false };
    throw new Error(
      `Cannot read ${resolve(path)}: ${reasonOf(cause)}. The file has settlements whose prices callers already have. Restore it, or move it away and delete ledger.id: the next start then closes their reservations by on_crash.`,
      { cause },
    );
  }
}

/** Counts the settlements of a spool; undefined where it cannot be read: another server may have taken it over. */
export function countSettlements(path: string, settled: (units: readonly SpooledUnit[]) => number): number | undefined {
  try {
    return settled(readSpool(path).units);
  } catch {
    return undefined;
  }
}

/** An entry is JSON of units, each a list of `[name, …values]`. Written by `Spool.add` alone, and protected by its checksum. */
const parseUnits = (text: string): SpooledUnit[] =>
  (JSON.parse(text) as [string, ...SqlValue[]][][]).map((unit) => unit.map(([name, ...params]) => ({ name, params })));

/**
 * A file of the data folder that takes settlements while the database refuses them. Its blocks are written beforehand, so a
 * full disk has room for them. Each entry is on the disk when `add` returns.
 *
 * A spool that vanishes with its entries must be missed. So its generation, which never comes twice in a folder, and the
 * number of its entries are noted outside of it, each step on the disk before the next:
 *
 * 1. before the first entry: the generation is in use, with 0 entries
 * 2. an entry; then its number, and only then callers get its prices
 * 3. the database has all of it, and is synced
 * 4. the header gets the next generation, or a start puts a new file with that generation in its place
 * 5. the next generation is empty
 *
 * A start refuses a spool that is gone, of an earlier generation, or with fewer entries than noted, if its generation is in use.
 * A crash leaves none of these: before step 4 the file has what is noted, or one entry more; behind it, a later generation,
 * which proves that the database has all entries before. State: spool.
 */
export class Spool {
  readonly #path: string;
  readonly #fd: number;
  readonly #notes: SpoolNotes | null;
  #capacity = STEP_BYTES;
  #generation: number;
  #entries = 0;
  /** Whether entries were noted or added since it was emptied. */
  #isInUse = false;
  #end = HEADER_BYTES;
  /** Whether the generation of the header on the disk is unknown: an entry added now might not be found. */
  #isUncertain = false;

  private constructor(path: string, fd: number, generation: number, notes: SpoolNotes | null) {
    this.#path = path;
    this.#fd = fd;
    this.#generation = generation;
    this.#notes = notes;
  }

  /**
   * Puts a new, empty spool in the place of the one at `path`, whose content must be in the database by now. A server that
   * was fenced off keeps the old file, and can add nothing any more. Throws an Error of one clear sentence.
   * @param after the generation of the old one; 0 for none.
   */
  static create(path: string, after = 0, notes: SpoolNotes | null = null): Spool {
    const generation = Math.max(after, notes?.generation ?? 0) + 1;
    const making = `${path}.new`;
    let fd: number | null = null;
    try {
      fd = openSync(making, 'w', 0o600);
      writeAll(fd, encodeHeader(generation), 0);
      writeZeros(fd, HEADER_BYTES, STEP_BYTES);
      fsyncSync(fd);
      renameSync(making, path);
      syncFolder(dirname(path));
      const spool = new Spool(path, fd, generation, notes);
      spool.#tryToNote(null);
      return spool;
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
    orSpoolError('the spool cannot grow', () => {
      writeZeros(this.#fd, this.#capacity, capacity);
      fsyncSync(this.#fd);
    });
    this.#capacity = capacity;
  }

  /** Adds units in one entry, all or nothing; it is on the disk when this returns. Throws SpoolError. */
  add(units: readonly SpooledUnit[]): void {
    if (this.#isUncertain) throw new SpoolError('the spool cannot be written: it could not be emptied before');
    const text = JSON.stringify(units.map((unit) => unit.map(({ name, params }) => [name, ...params])));
    const entry = encodeEntry(this.#generation, this.#entries, text);
    if (this.#end + entry.length > this.#capacity) throw new SpoolError('the spool is full');
    orSpoolError('the spool cannot be written', () => {
      this.#checkPlace();
      this.#isInUse = true;
      if (this.#entries === 0) this.#notes?.note(this.#generation, 0);
      writeAll(this.#fd, entry, this.#end);
      fdatasyncSync(this.#fd);
    });
    this.#end += entry.length;
    this.#entries++;
    this.#tryToNote(this.#entries);
  }

  /** Forgets everything. To be called once all of it is in the database, and synced. Throws SpoolError; then to be called again. */
  clear(): void {
    if (!this.#isInUse) return;
    this.#isUncertain = true;
    orSpoolError('the spool cannot be emptied', () => {
      writeAll(this.#fd, encodeHeader(this.#generation + 1), 0);
      fdatasyncSync(this.#fd);
      // These bytes mean nothing any more; as zeros they cannot be mistaken for a torn entry.
      writeZeros(this.#fd, HEADER_BYTES, this.#end);
    });
    this.#isUncertain = false;
    this.#isInUse = false;
    this.#generation++;
    this.#entries = 0;
    this.#end = HEADER_BYTES;
    this.#tryToNote(null);
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** The file is right without it: a note that stays behind misses less, and the next one catches up. */
  #tryToNote(entries: number | null): void {
    try {
      this.#notes?.note(this.#generation, entries);
    } catch {
      // Its keeper reports it.
    }
  }

  /** Bytes that are written to a file without a name are lost with the process. */
  #checkPlace(): void {
    const own = fstatSync(this.#fd);
    const found = statSync(this.#path, { throwIfNoEntry: false });
    if (found?.ino !== own.ino || found.dev !== own.dev) throw new Error('its file is gone or was replaced');
  }
}

function orSpoolError(what: string, work: () => void): void {
  try {
    work();
  } catch (cause) {
    throw new SpoolError(`${what}: ${reasonOf(cause)}`, { cause });
  }
}

/** Zeros that are written take blocks; a file that is merely extended does not. */
function writeZeros(fd: number, from: number, to: number): void {
  for (let at = from; at < to; at += ZEROS.length) writeAll(fd, ZEROS.subarray(0, Math.min(ZEROS.length, to - at)), at);
}
