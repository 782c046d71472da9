import { resolve } from 'node:path';
import type { Timers } from '../core/timers.ts';
import { UsageError } from '../core/usage-error.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { OpenStore, SpoolNotes, SpoolSettlements } from '../store/driver.ts';
import { isShared, placeOfStore, readSpool, readStore, storeExists } from '../store/open.ts';
import { reasonOf } from '../store/reason.ts';
import { type DataPlace, spoolOf } from './data.ts';
import { keepDoing } from './keep-doing.ts';
import {
  changeLedgerId,
  createLedgerId,
  type LedgerId,
  ledgerIdOf,
  readLedgerId,
  type SpoolNote,
} from './ledger-id.ts';

/** Interval at which the note follows the journal, ms. The loss of newer entries with a write-ahead log goes unnoticed. */
const FOLLOW_EVERY_MS = 1_000;

/** Why a folder is not as its note says, and what an operator can do. */
interface Fault {
  readonly reason: string;
  readonly remedy: string;
}

/**
 * Compares the database and the spool of a data folder with the note beside them, before anything is written. Throws UsageError
 * where the database is gone, is another one, or ends before what was booked: from its books money would be spent again.
 * Throws it, too, where entries of the spool are gone: their prices would not be booked.
 */
export async function refuseOtherLedger(place: DataPlace): Promise<void> {
  const fault = await faultIn(place);
  if (fault) throw new UsageError(`${fault.reason}. ${fault.remedy}`);
}

/** Returns why the books of a data folder are not what its note says; null when they are, or without a note. */
export async function faultIn({ data, database }: DataPlace): Promise<Fault | null> {
  // Read before the spool, which a server may empty meanwhile: that is no fault.
  const noted = readLedgerId(data);
  if (noted === null) return null;
  const file = resolve(ledgerIdOf(data));
  const other = await otherDatabase(database, noted);
  if (other !== null) {
    const restore = isShared(database)
      ? 'Restore that database, or begin a new data folder'
      : 'Restore the files of that ledger, or restore a backup into an empty folder';
    return { reason: other, remedy: `${restore}. To start anyway, delete ${file}.` };
  }
  const lost = lostOf(resolve(spoolOf(data)), noted.spool, await spoolIn(database, spoolOf(data)));
  if (lost === null) return null;
  const remedy = `Restore that file. To start without what it had, delete ${file}: ledger.on_crash then decides what those requests cost.`;
  return { reason: lost, remedy };
}

/** Why a database is not the ledger of the note, as it was left; null when it is. */
async function otherDatabase(database: string, { ledger, entry }: LedgerId): Promise<string | null> {
  const path = await placeOfStore(database);
  const served = `this folder served the ledger ${ledger.slice(0, 8)}`;
  if (!(await storeExists(database))) return `${path} is missing, but ${served}`;
  using reader = await readStore(database, ['identity', 'ledger']);
  const found = await reader.ledger.identity();
  if (found === null) return `${path} has no ledger, but ${served}`;
  if (found !== ledger) return `${path} is the ledger ${found.slice(0, 8)}, but ${served}`;
  const last = await reader.journal.horizon();
  if (last >= entry) return null;
  const why = isShared(database)
    ? 'a standby that took over, or a backup, lacks the entries between'
    : 'it is an older copy, or its file signalbox.db-wal is missing';
  return `${path} ends at entry ${last} of its journal, but entry ${entry} was booked: ${why}`;
}

/** Null for one that is damaged: the opening of the store says so. */
async function spoolIn(database: string, spool: string): Promise<SpoolSettlements | null> {
  try {
    return await readSpool(database, spool);
  } catch {
    return null;
  }
}

/**
 * What a spool lacks of its note; null for nothing. A later generation than noted proves that the database has all that was
 * noted. `Spool` states the order of the steps.
 */
export function lostOf(path: string, noted: SpoolNote | null, found: SpoolSettlements | null): string | null {
  if (!noted?.since || !found || found.generation > noted.generation) return null;
  const { entries, since } = noted;
  const count = entries === 1 ? '1 entry' : `${entries} entries`;
  const had = `it took settlements since ${since} (at least ${count}) which the database may lack`;
  if (found.generation === 0) return `${path} is missing, but ${had}`;
  if (found.generation < noted.generation) return `${path} is an older copy, but ${had}`;
  return found.entries < entries ? `${path} has ${found.entries} whole entries, but ${had}` : null;
}

/** Notes which ledger is served from a data folder, how far its journal has come, and how far its spool. State: ledger note. */
export class LedgerNote implements SpoolNotes {
  readonly #data: string;
  readonly #now: () => number;
  readonly #log: Log;
  /** Null while no ledger is known. */
  #ledger: string | null;
  #entry: number;
  #spool: SpoolNote | null;
  /** Whether this process has made the file: one that is gone since then was deleted by an operator, and is not made again. */
  #isMade = false;
  #isReported = false;
  #stop = async (): Promise<void> => {};

  /**
   * @param now ms since 1970
   * @throws UsageError for a malformed file.
   */
  constructor(data: string, now: () => number, log: Log) {
    this.#data = data;
    this.#now = now;
    this.#log = log;
    const found = readLedgerId(data);
    this.#ledger = found?.ledger ?? null;
    this.#entry = found?.entry ?? 0;
    this.#spool = found?.spool ?? null;
  }

  get generation(): number {
    return this.#spool?.generation ?? 0;
  }

  /** Nothing else happens meanwhile. Without a file it is noted with the ledger. */
  note(generation: number, entries: number | null): void {
    const isSame = this.#spool?.generation === generation;
    const since = (isSame && this.#spool?.since) || new Date(this.#now()).toISOString();
    this.#spool = entries === null ? { generation, entries: 0, since: null } : { generation, entries, since };
    this.#write({ spool: this.#spool });
  }

  /** Follows the journal of a store from now on, until `close`. Never rejects. */
  async keep(store: Pick<OpenStore, 'flush' | 'ledger' | 'journal'>, timers: Timers): Promise<void> {
    this.#ledger = await store.ledger.identity();
    // The store reports its failures, and `#write` its own.
    const stop = await keepDoing(() => this.#follow(store), FOLLOW_EVERY_MS, timers);
    this.#stop = async () => {
      await stop();
      await this.#follow(store).catch(() => {});
    };
  }

  /** Brings the note up to date once more. Never rejects. */
  close(): Promise<void> {
    return this.#stop();
  }

  async #follow(store: Pick<OpenStore, 'flush' | 'ledger' | 'journal'>): Promise<void> {
    const entry = await store.journal.horizon();
    // A standby that took over may lack entries: the note says so until an operator has seen it.
    if (entry <= this.#entry && this.#isMade) return;
    // The note must not be ahead of the database after a loss of power.
    await store.flush();
    this.#write({ entry });
    this.#entry = entry;
  }

  #write(changes: Partial<LedgerId>): void {
    if (this.#ledger === null) return;
    try {
      if (this.#isMade) changeLedgerId(this.#data, this.#ledger, changes);
      else createLedgerId(this.#data, { ledger: this.#ledger, entry: this.#entry, spool: this.#spool, ...changes });
      this.#isMade = true;
      this.#isReported = false;
    } catch (cause) {
      if (!this.#isReported) {
        const file = ledgerIdOf(this.#data);
        this.#log.warn('the file ledger.id could not be written', { file, error: reasonOf(cause) });
      }
      this.#isReported = true;
      throw cause;
    }
  }
}
