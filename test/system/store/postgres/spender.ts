import { idAt } from '../../../../src/core/id.ts';
import { processTimers } from '../../../../src/host/telemetry/process-timers.ts';
import { addressOf } from '../../../../src/store/postgres/address.ts';
import { type BooksDatabase, openPostgresBooks } from '../../../../src/store/postgres/books/books.ts';
import { DecidingDatabase } from '../../../../src/store/postgres/books/database.ts';
import { Connection, USUAL_BOUNDS } from '../../../../src/store/postgres/connection.ts';
import { PostgresDialect } from '../../../../src/store/postgres/dialect.ts';
import { PostgresReaders } from '../../../../src/store/postgres/readers.ts';
import { sqlIdempotency } from '../../../../src/store/sql/idempotency.ts';
import type { SqlTables } from '../../../../src/store/sql/statement.ts';
import type { Write } from '../../../../src/store/store.ts';
import { fundOf, holdOf, settleOf } from '../../../store/suites/books.ts';

/** The idle limit is longer than any test. The usual limit would end a stopped client's transaction, and hide a lock that it keeps. */
const BOUNDS = { ...USUAL_BOUNDS, idleInTransactionMs: 120_000 };

/** The fund that all processes spend. */
export const HOT = { ...fundOf(1e12, 'hot'), key: 'hot', budget: 1e6 };

const bytesOf = (id: number): Uint8Array => new TextEncoder().encode(`${id}`.padStart(32, '0'));
/** A decision's claim of an idempotency name. */
export function claimOf(name: number, decision: number, slot: number): Write {
  const { claim } = sqlIdempotency({} as SqlTables);
  const [of, own] = [bytesOf(name), bytesOf(decision)];
  const row = { name: of, state: 'running', decision, earlier: null, losses: 0, time: decision } as const;
  return claim({ ...row, salt: own, verifier: own, body: of, answer: null, owner: { slot, epoch: 1 } }, null);
}

/** Opens the books of an instance. @param isSlow whether a group is a transaction of several round trips, which the product avoids */
async function openBooks(url: string, slot: number, isSlow: boolean) {
  const open = () => Connection.open(addressOf(url), BOUNDS);
  const readers = new PostgresReaders(open, 1);
  const connection = await open();
  const one = isSlow ? () => Promise.resolve(connection) : open;
  const database = new DecidingDatabase((text, values) => readers.read(text, values), one, new PostgresDialect());
  const decide: BooksDatabase['decide'] = async (...asked) => {
    if (isSlow) await connection.script('BEGIN');
    const result = await database.decide(...asked);
    if (isSlow) await connection.script('COMMIT');
    return result;
  };
  const clock = () => performance.now();
  const db = { query: database.query, decide };
  return openPostgresBooks({ db, timers: processTimers, clock, instance: { slot, epoch: 1 } });
}

/** Spends without end, each request with an idempotency key: `bun spender.ts URL SLOT IN_FLIGHT [slow]`. */
if (import.meta.main) {
  const [, , url, slot, inFlight, way] = process.argv;
  const books = await openBooks(url!, Number(slot), way === 'slow');
  let id = idAt(Date.now()) + Number(slot);
  const spend = async () => {
    for (;;) {
      id += 128;
      const own = id;
      await books.apply([holdOf(own, [HOT], 10)], [claimOf(own, own, Number(slot))]);
      await books.append([settleOf(own, 7)]);
    }
  };
  setTimeout(() => console.log('ready'), 300);
  await Promise.all(Array.from({ length: Number(inFlight) }, spend));
}
