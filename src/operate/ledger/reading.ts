import type { Microcredits } from '../../core/credits.ts';
import { messageOf } from '../../core/thrown.ts';
import type { StoreReader } from '../../store/driver.ts';
import { readSpool, readStore } from '../../store/open.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';

/** The paths of a data folder's books. */
export interface BooksFiles {
  /** The URL of the store, which exists. */
  readonly file: string;
  /** The spool beside it, which may not exist. */
  readonly spool: string;
}

/** The settlements of a spool that its database lacks. */
export interface SpoolState {
  readonly settlements: number;
  readonly charged: Microcredits;
  /** The reason why the spool cannot be read, or does not fit the database; null for none. */
  readonly fault: string | null;
}

/**
 * Reads the books as they are at one moment, beside a server, with the state of their spool.
 * @returns null without a ledger, or with one of an older version. Rejects with StoreError.
 */
export function readBooks<T>(
  by: Principal,
  files: BooksFiles,
  read: (reader: StoreReader, spool: SpoolState) => Promise<T>,
): Promise<{ readonly value: T } | null> {
  checkAction(by.caller, 'ledger.read');
  const stateOf = openSpool(files);
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
 * Reads a spool. The function that it returns compares it with a database. Call this before the database is opened:
 * settlements that a server books in between are then in the database.
 */
export function openSpool({ file, spool }: BooksFiles): (reader: StoreReader) => Promise<SpoolState> {
  const reading = readSpool(file, spool);
  // Awaited with the database.
  reading.catch(() => {});
  return async (reader) => {
    try {
      const { closed, charged } = await reader.unbooked(await reading);
      return { settlements: closed.length, charged, fault: null };
    } catch (cause) {
      return { settlements: 0, charged: 0, fault: messageOf(cause) };
    }
  };
}
