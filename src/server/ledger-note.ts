import { resolve } from 'node:path';
import type { Timers } from '../core/time/timers.ts';
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

/**
 * The interval at which `ledger.id` notes the progress of the journal, ms. If the write-ahead log is lost, the server does not notice the
 * loss of entries that are newer than the note.
 */
const FOLLOW_EVERY_MS = 1_000;

/** The reason why a data folder differs from its note in `ledger.id`, and what an operator can do, as sentences. */
interface Fault {
  readonly reason: string;
  readonly remedy: string;
}

/**
 * Compares the database and the spool of a data folder with `ledger.id`, before the server writes anything.
 * @throws UsageError if the database is missing, belongs to another ledger, or ends before the noted entry: with these books, money could
 * be spent twice. Also throws if entries of the spool are missing: the cost of their requests would not be booked.
 */
export async function refuseOtherLedger(place: DataPlace): Promise<void> {
  const fault = await faultIn(place);
  if (fault) throw new UsageError(`${fault.reason} ${fault.remedy}`);
}

/** Compares the books of a data folder with its note in `ledger.id`. Returns the difference; null if there is no difference, or no note. */
export async function faultIn({ data, database }: DataPlace): Promise<Fault | null> {
  // The function reads the note before the spool. A server may empty the spool after the function has read the note, which is no fault.
  const noted = readLedgerId(data);
  if (noted === null) return null;
  const file = resolve(ledgerIdOf(data));
  const other = await otherDatabase(database, noted);
  if (other !== null) {
    const restore = isShared(database)
      ? 'Restore the database of that ledger, or use a new data folder'
      : 'Restore the files of that ledger, or restore a backup into an empty folder';
    return { reason: `${other}.`, remedy: `${restore}. To start anyway, delete ${file}.` };
  }
  const lost = lostOf(resolve(spoolOf(data)), noted.spool, await spoolIn(database, spoolOf(data)));
  if (lost === null) return null;
  const remedy = `Restore the file of the spool. To start without its settlements, delete ${file}: ledger.on_crash of the policy then decides what those requests cost.`;
  return { reason: `${lost}.`, remedy };
}

/** Returns why a database is not the ledger of the note, or ends before the noted entry; null if it matches. */
async function otherDatabase(database: string, { ledger, entry }: LedgerId): Promise<string | null> {
  const path = await placeOfStore(database);
  const served = `this data folder belongs to the ledger ${ledger.slice(0, 8)}`;
  if (!(await storeExists(database))) return `${path} is missing, but ${served}`;
  using reader = await readStore(database, ['identity', 'ledger']);
  const found = await reader.ledger.identity();
  if (found === null) return `${path} has no ledger, but ${served}`;
  if (found !== ledger) return `${path} is the ledger ${found.slice(0, 8)}, but ${served}`;
  const last = await reader.journal.horizon();
  if (last >= entry) return null;
  const why = isShared(database)
    ? 'a standby that took over, or a restored backup, lacks the later entries'
    : 'it is an older copy, or its file signalbox.db-wal is missing';
  return `${path} ends at entry ${last} of its journal, but entry ${entry} was already written: ${why}`;
}

/** @returns null for a damaged spool, which the opening of the store reports */
async function spoolIn(database: string, spool: string): Promise<SpoolSettlements | null> {
  try {
    return await readSpool(database, spool);
  } catch {
    return null;
  }
}

/**
 * Returns which noted entries a spool lacks; null for none. If the spool has a later generation than the note, the database already has
 * everything that was noted. The class `Spool` documents the order of the steps.
 */
export function lostOf(path: string, noted: SpoolNote | null, found: SpoolSettlements | null): string | null {
  if (!noted?.since || !found || found.generation > noted.generation) return null;
  const { entries, since } = noted;
  const count = entries === 1 ? '1 entry' : `${entries} entries`;
  const had = `since ${since} it received settlements (at least ${count}) that the database may lack`;
  if (found.generation === 0) return `${path} is missing, but ${had}`;
  if (found.generation < noted.generation) return `${path} is an older copy, but ${had}`;
  return found.entries < entries ? `${path} has ${found.entries} complete entries, but ${had}` : null;
}

/**
 * Keeps `ledger.id` up to date: which ledger the data folder belongs to, and the latest durable entries of its journal and its spool.
 * State: ledger note.
 */
export class LedgerNote implements SpoolNotes {
  readonly #data: string;
  readonly #now: () => number;
  readonly #log: Log;
  /** The ledger of the data folder; null while the server does not yet know the ledger. */
  #ledger: string | null;
  #entry: number;
  #spool: SpoolNote | null;
  /**
   * Whether this process has created the file. If `ledger.id` is missing after that, an operator has deleted the file, and this process
   * does not create it again.
   */
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

  /**
   * `note` is synchronous, so nothing else can happen during the write. If `ledger.id` does not exist yet, the server writes the state of
   * the spool together with the ledger.
   */
  note(generation: number, entries: number | null): void {
    const isSame = this.#spool?.generation === generation;
    const since = (isSame && this.#spool?.since) || new Date(this.#now()).toISOString();
    this.#spool = entries === null ? { generation, entries: 0, since: null } : { generation, entries, since };
    this.#write({ spool: this.#spool });
  }

  /** Notes the progress of a store's journal from now on, until `close`. `keep` never rejects. */
  async keep(store: Pick<OpenStore, 'flush' | 'ledger' | 'journal'>, timers: Timers): Promise<void> {
    this.#ledger = await store.ledger.identity();
    // The store reports its own failures, and `#write` reports failed writes of `ledger.id`.
    const stop = await keepDoing(() => this.#follow(store), FOLLOW_EVERY_MS, timers);
    this.#stop = async () => {
      await stop();
      await this.#follow(store).catch(() => {});
    };
  }

  /** Updates the note in `ledger.id` a last time. `close` never rejects. */
  close(): Promise<void> {
    return this.#stop();
  }

  async #follow(store: Pick<OpenStore, 'flush' | 'ledger' | 'journal'>): Promise<void> {
    const entry = await store.journal.horizon();
    // A standby database that took over may lack entries. The note keeps the higher entry number until an operator has seen the difference.
    if (entry <= this.#entry && this.#isMade) return;
    // After a loss of power, the note must not be ahead of the database.
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
