import type { Microcredits } from '../../../core/money/credits.ts';
import { creditsText } from '../../../core/text/text.ts';
import { messageOf } from '../../../core/thrown.ts';
import { UsageError } from '../../../core/usage-error.ts';
import type { StoreReader } from '../../../store/driver.ts';
import { readSpool, readStore } from '../../../store/open.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';

/** The paths of the ledger in a data folder. */
export interface BooksFiles {
  /** The URL of the store. The store must exist. */
  readonly file: string;
  /** The spool files that belong to the store, of one server or of its processes. The spool files need not exist. */
  readonly spools: readonly string[];
}

/** The settlements in spool files that the database does not have yet. */
export interface SpoolState {
  /** The spool files that contain settlements which the database lacks. */
  readonly paths: readonly string[];
  readonly settlements: number;
  readonly charged: Microcredits;
  /** Why a spool file cannot be read or does not belong to the database; null if there is no fault. */
  readonly fault: string | null;
}

/**
 * Reads the ledger in one consistent state, with the state of its spool files, even while a server uses it. Warns about settlements in
 * spool files that the database does not have yet.
 * @param warn gets a sentence
 * @throws UsageError if there is no ledger, or if its version is older; rejects with StoreError
 */
export async function readBooks<T>(
  by: Principal,
  files: BooksFiles,
  warn: (text: string) => void,
  read: (reader: StoreReader, spool: SpoolState) => Promise<T>,
): Promise<T> {
  checkAction(by.caller, 'ledger.read');
  const stateOf = openSpools(files);
  const result = await readLedger(files.file, async (reader) => {
    const spool = await stateOf(reader);
    warnOfSpool(spool, warn);
    return await read(reader, spool);
  });
  if (result !== null) return result.value;
  throw new UsageError(`${files.file} has no ledger of this version yet. Start the server once to create the ledger.`);
}

/** Warns about settlements that the database does not have yet. */
export function warnOfSpool({ paths, settlements, charged, fault }: SpoolState, warn: (text: string) => void): void {
  if (fault !== null) warn(fault);
  if (settlements > 0) warn(waitingText(settlements, `${paths.join(' and ')} (${creditsText(charged)})`));
}

/** Says that the database lacks settlements. @param place the spools that have them */
export const waitingText = (settlements: number, place: string): string =>
  `${settlements === 1 ? '1 settlement is' : `${settlements} settlements are`} in ${place}, not yet in the database. The server stores them when it can write to the database again, or at its next start.`;

/** Reads a ledger. Returns null if there is no ledger. Rejects with StoreError. */
export async function readLedger<T>(
  file: string,
  read: (reader: StoreReader) => Promise<T>,
): Promise<{ readonly value: T } | null> {
  using reader = await readStore(file, ['ledger']);
  return (await reader.ledger.exists()) ? { value: await read(reader) } : null;
}

/**
 * Reads spool files. The returned function compares the settlements with a database. This function must run before the database is opened:
 * if a server stores settlements in between, the database already contains them.
 */
export function openSpools({ file, spools }: BooksFiles): (reader: StoreReader) => Promise<SpoolState> {
  const readings = spools.map((spool) => readSpool(file, spool));
  // A rejection is handled when the returned function awaits the reading.
  for (const reading of readings) reading.catch(() => {});
  return async (reader) => {
    const sum = { paths: [] as string[], settlements: 0, charged: 0, fault: null as string | null };
    for (const [at, reading] of readings.entries()) {
      try {
        const { closed, charged } = await reader.unbooked(await reading);
        if (closed.length > 0) sum.paths.push(spools[at]!);
        sum.settlements += closed.length;
        sum.charged += charged;
      } catch (cause) {
        sum.fault ??= messageOf(cause);
      }
    }
    return sum;
  };
}
