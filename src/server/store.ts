import { toCredits } from '../core/money/credits.ts';
import { messageOf } from '../core/thrown.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { OpenStore, SpoolNotes, SpoolReport } from '../store/driver.ts';
import { openStore, settlementsIn } from '../store/open.ts';
import { SpoolError } from '../store/store.ts';
import { type DataPlace, spoolOf } from './data.ts';
import { namesOf } from './events.ts';
import type { Host } from './host.ts';

/**
 * How long the server waits for a lock on the database, ms. Commands write to the database for a few ms. If another process locks the
 * database longer, requests fail, but the server does not stop.
 */
const BUSY_MS = 200;

/** Opens the store of a server, and books the settlements of its spool. `openDataStore` throws an Error with one clear sentence. */
export async function openDataStore(
  { data, database }: DataPlace,
  log: Log,
  spoolNotes: SpoolNotes,
  { now, timers, version, parent }: Pick<Host, 'now' | 'timers' | 'version' | 'parent'>,
): Promise<OpenStore> {
  const onRefused = (problem: string) => log.error('this server may no longer write to the database', { problem });
  const store = await openStore(database, {
    onRefused,
    mode: 'serve',
    program: version,
    spool: spoolOf(data),
    spoolNotes,
    onFull() {
      log.warn('all server slots of the database are taken: this server waits for a free slot');
      parent?.waiting();
    },
    onSpool: (report) => logSpool(log, spoolOf(data), report),
    onError: (error) =>
      log.error(error instanceof SpoolError ? 'the spool failed' : 'the database failed', { error: error.message }),
    busyTimeoutMs: BUSY_MS,
    timers,
    now,
  });
  store.news.on('instances', () => {
    const { fenced } = store.instance;
    if (fenced !== null) onRefused(fenced);
  });
  return store;
}

function logSpool(log: Log, file: string, { closed, charged, isTorn }: SpoolReport): void {
  if (isTorn) log.warn('the last entry of the spool is incomplete and was skipped', { file });
  if (closed.length === 0) return;
  log.warn('booked settlements that an earlier run left in the spool', {
    count: closed.length,
    credits_charged: toCredits(charged),
    decisions: namesOf(closed),
  });
}

/**
 * Closes the store, and logs the state in which it leaves the store for the next start.
 * @returns the exit code: 1 if a settlement is lost
 */
export async function closeStore({ data, database }: DataPlace, store: OpenStore, log: Log): Promise<0 | 1> {
  const path = spoolOf(data);
  try {
    await store.close();
    return 0;
  } catch (error) {
    const { unkept } = store;
    const left = await settlementsIn(database, path);
    const facts = { error: messageOf(error), settlements_in_spool: left, file: path };
    if (unkept === 0) {
      log.warn(
        'stopped, but the database could not be written: the next start books the settlements in the spool',
        facts,
      );
      return 0;
    }
    const lost = { ...facts, writes_lost: unkept };
    log.error(
      'stopped, and some settlements are lost: the next start closes their reservations as ledger.on_crash says',
      lost,
    );
    return 1;
  }
}
