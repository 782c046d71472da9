import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isObject } from '../core/object.ts';
import { codeOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import type { OpenStore } from '../store/driver.ts';
import { moveDurably, writeDurably } from '../store/durable-file.ts';
import { readStore, storeExists } from '../store/open.ts';
import { reasonOf } from '../store/reason.ts';
import { StoreError } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import { databaseOf } from './data.ts';

/** Interval at which the note follows the journal, ms. The loss of newer entries with a write-ahead log goes unnoticed. */
const FOLLOW_EVERY_MS = 1_000;

/** The ledger that was served from a data folder, noted outside its database. */
interface Note {
  readonly ledger: string;
  /** An entry of the journal that was durable; later ones may be, too. */
  readonly entry: number;
}

const noteFile = (data: string): string => join(data, 'ledger.id');
const textOf = ({ ledger, entry }: Note): string => `${JSON.stringify({ ledger, entry })}\n`;

/**
 * Compares the database of a data folder with the note beside it, before anything is written. Throws UsageError where the
 * database is gone, is another one, or ends before what was booked: from its books money would be spent again.
 */
export async function refuseOtherLedger(data: string): Promise<void> {
  const fault = await otherLedgerIn(data);
  if (fault === null) return;
  throw new UsageError(
    `${fault}. Restore the files of that ledger, or restore a backup into an empty folder. To start anyway, delete ${resolve(noteFile(data))}.`,
  );
}

/** Returns why the database of a data folder is not the one that its note names; null when it is, or without a note. */
export async function otherLedgerIn(data: string): Promise<string | null> {
  const file = noteFile(data);
  return existsSync(file) ? faultOf(databaseOf(data), readNote(file)) : null;
}

/** Why a database is not the ledger of the note, as it was left; null when it is. */
async function faultOf(database: string, { ledger, entry }: Note): Promise<string | null> {
  const path = resolve(database);
  const served = `this folder served the ledger ${ledger.slice(0, 8)}`;
  if (!(await storeExists(database))) return `${path} is missing, but ${served}`;
  using reader = await readStore(database, ['identity', 'ledger']);
  const found = await reader.ledger.identity();
  if (found === null) return `${path} has no ledger, but ${served}`;
  if (found !== ledger) return `${path} is the ledger ${found.slice(0, 8)}, but ${served}`;
  const last = await reader.ledger.lastEntry();
  if (last >= entry) return null;
  return `${path} ends at entry ${last} of its journal, but entry ${entry} was booked: it is an older copy, or its file signalbox.db-wal is missing`;
}

/** Throws UsageError for a malformed note. */
function readNote(file: string): Note {
  try {
    const found: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const { ledger, entry }: Partial<Note> = isObject(found) ? found : {};
    if (typeof ledger === 'string' && Number.isSafeInteger(entry)) return { ledger, entry: Number(entry) };
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw new UsageError(`Cannot read ${resolve(file)}: ${reasonOf(cause)}.`);
  }
  throw new UsageError(`${resolve(file)} is damaged. If signalbox.db beside it is the right ledger, delete ledger.id.`);
}

export interface LedgerNote {
  /** Brings the note up to date once more. Never rejects. */
  close(): Promise<void>;
}

/** Notes which ledger is served from a data folder, and from then on how far its journal has come. */
export async function keepLedgerNote(
  data: string,
  store: Pick<OpenStore, 'flush' | 'ledger'>,
  log: Log,
): Promise<LedgerNote> {
  const file = noteFile(data);
  const ledger = await store.ledger.identity();
  /** Null for no file. */
  let noted = existsSync(file) ? readFileSync(file, 'utf8') : null;
  let isReported = false;
  const follow = async (): Promise<void> => {
    if (ledger === null) return;
    const text = textOf({ ledger, entry: await store.ledger.lastEntry() });
    if (text === noted) return;
    // The note must not be ahead of the database after a loss of power.
    await store.flush();
    const there = await textIn(file);
    // An operator may have deleted the note, or put another ledger there: leave that as it is.
    if (there === null ? noted !== null : !there.includes(ledger)) return;
    await writeDurably(`${file}.part`, text);
    await moveDurably(`${file}.part`, file);
    noted = text;
    isReported = false;
  };
  const tryToFollow = (): Promise<void> =>
    follow().catch((error: unknown) => {
      // The store says itself that it fails.
      if (!isReported && !(error instanceof StoreError)) {
        log.warn('the file ledger.id could not be written', { file, error: reasonOf(error) });
        isReported = true;
      }
    });
  await tryToFollow();
  let following: Promise<void> | null = null;
  const timer = setInterval(() => {
    following ??= tryToFollow().finally(() => {
      following = null;
    });
  }, FOLLOW_EVERY_MS);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      await following;
      await tryToFollow();
    },
  };
}

const textIn = (file: string): Promise<string | null> =>
  readFile(file, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });
