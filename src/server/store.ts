import { resolve } from 'node:path';
import { toCredits } from '../core/credits.ts';
import { idText } from '../core/id.ts';
import { type OpenStore, openStore } from '../store/open.ts';
import { closedBy, unbooked } from '../store/sqlite/books/spooled.ts';
import { SETTLE } from '../store/sqlite/payments.ts';
import { readSpool, Spool, SpoolError } from '../store/sqlite/spool.ts';
import type { StoreError } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import { databaseOf, spoolOf } from './data.ts';

/** Decisions that a line of the log names at most. */
const NAMED_MAX = 20;

/** Commands write for a few ms; whoever keeps the database locked for longer gets requests refused, not the server stopped. */
const BUSY_MS = 200;

/** Opens the database of a data folder, with the settlements of its spool. Throws an Error of one clear sentence. */
export async function openDataStore(data: string, log: Log): Promise<OpenStore> {
  const store = await openStore(databaseOf(data), {
    mode: 'serve',
    onError: (error) => logStoreError(log, error),
    busyTimeoutMs: BUSY_MS,
  });
  await takeInSpool(spoolOf(data), store, log);
  return store;
}

const logStoreError = (log: Log, error: StoreError): void =>
  log.error(error instanceof SpoolError ? 'the spool failed' : 'the database failed', { error: error.message });

/**
 * Books the settlements that an earlier run left in its spool, and gives the store a new one. To be called before the ledger
 * is opened, which closes every reservation that is open then. Throws an Error of one clear sentence, and changes nothing, when the spool
 * is damaged or does not belong to the database.
 */
async function takeInSpool(path: string, store: OpenStore, log: Log): Promise<void> {
  const { units, isTorn } = readSpool(path);
  const { writes, closed, charged } = await unbooked(store, resolve(path), units, [SETTLE]);
  if (writes.length > 0) await store.commit(writes);
  store.useSpool(Spool.create(path));
  if (isTorn) log.warn('the last entry of the spool was torn and is skipped', { file: path });
  if (closed.length > 0) {
    const named = closed.slice(0, NAMED_MAX).map((id) => idText('dec_', id));
    const more = closed.length - named.length;
    log.warn('settlements that an earlier run left in the spool were booked', {
      count: closed.length,
      credits_charged: toCredits(charged),
      decisions: more > 0 ? `${named.join(' ')} and ${more} more` : named.join(' '),
    });
  }
}

/** Closes the store, and logs the state that it leaves to the next start. Returns the code to exit with: 1 where a settlement is lost. */
export async function closeStore(data: string, store: OpenStore, log: Log): Promise<0 | 1> {
  const path = spoolOf(data);
  try {
    await store.close();
    return 0;
  } catch (error) {
    const { unkept } = store;
    const facts = {
      error: error instanceof Error ? error.message : String(error),
      settlements_in_spool: settlementsIn(path),
      file: path,
    };
    if (unkept === 0)
      log.warn('stopped while the database could not be written: the next start books the spool', facts);
    else
      log.error('stopped with settlements written nowhere: the next start closes them by on_crash', {
        ...facts,
        writes_lost: unkept,
      });
    return unkept === 0 ? 0 : 1;
  }
}

/** Undefined where the file cannot be read: another server may have taken it over. */
function settlementsIn(path: string): number | undefined {
  try {
    return closedBy(readSpool(path).units).length;
  } catch {
    return undefined;
  }
}
