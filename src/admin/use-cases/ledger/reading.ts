import type { Microcredits } from '../../../core/credits.ts';
import { messageOf } from '../../../core/thrown.ts';
import type { StoreReader } from '../../../store/driver.ts';
import { readSpool, readStore } from '../../../store/open.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';

/** The paths of a data folder's books. */
export interface BooksFiles {
  /** The URL of the store, which exists. */
  readonly file: string;
  /** The spools beside it, which need not exist: of a server, or of the processes of one. */
  readonly spools: readonly string[];
}

/** The settlements of spools that their database lacks. */
export interface SpoolState {
  /** The spools that have some. */
  readonly paths: readonly string[];
  readonly settlements: number;
  readonly charged: Microcredits;
  /** The reason why a spool cannot be read, or does not fit the database; null for none. */
  readonly fault: string | null;
}

/**
 * Reads the books as they are at one moment, beside a server, with the state of their spools.
 * @returns null without a ledger, or with one of an older version. Rejects with StoreError.
 */
export function readBooks<T>(
  by: Principal,
  files: BooksFiles,
  read: (reader: StoreReader, spool: SpoolState) => Promise<T>,
): Promise<{ readonly value: T } | null> {
  checkAction(by.caller, 'ledger.read');
  const stateOf = openSpools(files);
  return readLedger(files.file, async (reader) => read(reader, await stateOf(reader)));
}

/** Reads a ledger; null without one, or with one of an older version. Rejects with StoreError. */
export async function readLedger<T>(
  file: string,
  read: (reader: StoreReader) => Promise<T>,
): Promise<{ readonly value: T } | null> {
  using reader = await readStore(file, ['ledger']);
  return (await reader.ledger.exists()) ? { value: await read(reader) } : null;
}

/**
 * Reads spools. The function that it returns compares them with a database. Call this before the database is opened:
 * settlements that a server books in between are then in the database.
 */
export function openSpools({ file, spools }: BooksFiles): (reader: StoreReader) => Promise<SpoolState> {
  const readings = spools.map((spool) => readSpool(file, spool));
  // Awaited with the database.
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
