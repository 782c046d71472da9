import { pause, type Timers } from '../../../core/timers.ts';
import { StoreError } from '../../store.ts';
import type { BooksQuery } from './names.ts';

/** Between two looks, ms. */
const LOOK_MS = 5;
/** A transaction that writes ends within its bounds (`connection.ts`). */
const LOOKS_MAX = 20_000 / LOOK_MS;

/** With the number behind, which is that of an overrun. */
const SELECT_LAST = 'SELECT CASE WHEN is_called THEN last_value + 1 ELSE 0 END AS seq FROM journal_seq';
/** Transactions that have been given numbers, and have not ended: whoever asks for one keeps this lock. */
const SELECT_WRITERS = `SELECT virtualtransaction AS id FROM pg_locks WHERE relation = 'journal_seq'::regclass AND mode = 'RowExclusiveLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/**
 * The place up to which no entry will appear any more: that of the last number given, once all who were given one until then have ended.
 * Rejects with StoreError.
 */
export async function horizonOf(query: BooksQuery, timers: Timers): Promise<number> {
  const seq = (await query<{ seq: number }>(SELECT_LAST, []))[0]?.seq ?? 0;
  const writers = async () => new Set((await query<{ id: string }>(SELECT_WRITERS, [])).map(({ id }) => id));
  let waiting = await writers();
  for (let looks = 0; waiting.size > 0; looks++) {
    if (looks === LOOKS_MAX) throw new StoreError('a transaction at the database does not end', { reason: 'busy' });
    await pause(timers, LOOK_MS);
    waiting = waiting.intersection(await writers());
  }
  return seq;
}
