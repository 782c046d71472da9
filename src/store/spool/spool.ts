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

/** The most bytes that the rows of one reservation need: its failed attempts, its settlement and its payment. */
const RESERVATION_BYTES = 4_096;
/** The bytes for rows that several reservations share, such as prices of models. */
const SHARED_BYTES = 262_144;
/** The file grows in steps of this many bytes. */
const STEP_BYTES = 1_048_576;
const ZEROS = Buffer.alloc(65_536);

/** A row in the spool: the name of its statement, and its values. */
export interface SpooledRow {
  readonly name: string;
  readonly params: SqlWrite['params'];
}

/** Rows that are written all or nothing. */
export type SpooledUnit = readonly SpooledRow[];

/** Returns the rows of a unit that must survive the process even if the database refuses them. */
export const spooledRows = (writes: readonly SqlWrite[]): SpooledUnit =>
  writes.flatMap((write) => {
    const { spooledAs } = write.statement;
    return spooledAs ? [{ name: spooledAs, params: write.params }] : [];
  });

/** The content of a spool file. */
export interface SpoolReading extends Omit<SpoolSettlements, 'path'> {
  readonly units: readonly SpooledUnit[];
  /**
   * Whether the last entry is incomplete. The prices of an incomplete entry were never sent to callers, unless the disk damaged the entry
   * later.
   */
  readonly isTorn: boolean;
}

/** Reads a spool file. A file that does not exist counts as empty. Throws an Error with one clear sentence if the file is damaged. */
export function readSpool(path: string): SpoolReading {
  try {
    const file = readFileSync(path);
    // A new spool file gets its name only after all its blocks are written, so a file that is shorter is damaged.
    if (file.length < STEP_BYTES) throw new Error('it is incomplete');
    const { generation, texts, isTorn } = decodeSpool(file);
    return { generation, entries: texts.length, units: texts.flatMap(parseUnits), isTorn };
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return { generation: 0, entries: 0, units: [], isTorn: false };
    throw new Error(
      `Cannot read ${resolve(path)}: ${reasonOf(cause)}. The file has settlements of requests whose price was already sent to callers. Restore the file; or move it away and delete ledger.id, and the next start closes the reservations of these requests according to on_crash.`,
      { cause },
    );
  }
}

/**
 * Counts the settlements in a spool. Returns undefined if the spool cannot be read, because another server may have taken over the spool.
 */
export function countSettlements(path: string, settled: (units: readonly SpooledUnit[]) => number): number | undefined {
  try {
    return settled(readSpool(path).units);
  } catch {
    return undefined;
  }
}

/**
 * Parses an entry: JSON of units, each a list of `[name, …values]`. No validation is needed, because only `Spool.add` writes entries and
 * their checksums protect them.
 */
const parseUnits = (text: string): SpooledUnit[] =>
  (JSON.parse(text) as [string, ...SqlValue[]][][]).map((unit) => unit.map(([name, ...params]) => ({ name, params })));

/**
 * The spool is a file in the data folder that stores settlements while the database refuses settlements. The blocks of the spool are
 * allocated in advance, so that settlements can be stored even on a full disk. When `add` returns, the entry is on the disk.
 *
 * A starting server must notice if the spool has vanished with its entries. Notes outside the file therefore record the spool's generation,
 * which never repeats within a folder, and the number of its entries. Each of the following steps is on the disk before the next step:
 *
 * 1. Before the first entry: a note says that the generation is in use, with 0 entries.
 * 2. An entry is written, then a note of the number of entries. Callers receive their prices only after this note is on the disk.
 * 3. The database has all entries, and is synced.
 * 4. The header gets the next generation, or a starting server replaces the file with a new file of that generation.
 * 5. A note says that the next generation is empty.
 *
 * A server refuses to start if a generation is in use and the spool is missing, has an earlier generation, or has fewer entries than noted.
 * A crash never causes these states: before step 4, the file has the noted entries, or one more entry. After step 4, the file has a later
 * generation, which proves that the database has all earlier entries. State: spool.
 */
export class Spool {
  readonly #path: string;
  readonly #fd: number;
  readonly #notes: SpoolNotes | null;
  #capacity = STEP_BYTES;
  #generation: number;
  #entries = 0;
  /** Whether entries were noted or added since the spool was last emptied. */
  #isInUse = false;
  #end = HEADER_BYTES;
  /**
   * Whether the generation in the header on the disk is unknown. If the generation on the disk is unknown, a starting server might ignore
   * an entry that is added now.
   */
  #isUncertain = false;

  private constructor(path: string, fd: number, generation: number, notes: SpoolNotes | null) {
    this.#path = path;
    this.#fd = fd;
    this.#generation = generation;
    this.#notes = notes;
  }

  /**
   * Replaces the spool at `path` with a new, empty spool. The database must already have the content of the old spool. A server that was
   * fenced off still has the old file open, but can no longer add entries. Throws an Error with one clear sentence if that fails.
   * @param after the generation of the old spool; 0 for none
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

  /**
   * Makes sure that the rows of this many open reservations fit into the spool. Throws SpoolError if the disk has no room for the rows of
   * the reservations.
   */
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

  /** Adds units as a single entry, all or nothing. It is on the disk when this method returns. Throws SpoolError. */
  add(units: readonly SpooledUnit[]): void {
    if (this.#isUncertain)
      throw new SpoolError('the spool cannot be written, because an earlier attempt to empty it failed');
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

  /**
   * Deletes all entries. The caller must first make sure that the database has all entries and is synced. After a SpoolError, the caller
   * must call this method again.
   */
  clear(): void {
    if (!this.#isInUse) return;
    this.#isUncertain = true;
    orSpoolError('the spool cannot be emptied', () => {
      writeAll(this.#fd, encodeHeader(this.#generation + 1), 0);
      fdatasyncSync(this.#fd);
      // Overwrites the deleted entries with zeros, so that the deleted entries cannot be mistaken for an incomplete entry.
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

  /**
   * The spool ignores a failed note, because the spool file is correct without the note. An outdated note only detects fewer losses, and
   * the next note corrects it.
   */
  #tryToNote(entries: number | null): void {
    try {
      this.#notes?.note(this.#generation, entries);
    } catch {
      // The owner of the notes reports the error.
    }
  }

  /** Checks that the open file still has its name. Bytes written to a deleted file are lost when the process ends. */
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

/** Writes zeros to allocate disk blocks. Merely extending the file would not allocate disk blocks. */
function writeZeros(fd: number, from: number, to: number): void {
  for (let at = from; at < to; at += ZEROS.length) writeAll(fd, ZEROS.subarray(0, Math.min(ZEROS.length, to - at)), at);
}
