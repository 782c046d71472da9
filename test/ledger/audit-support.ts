import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import type { Audit } from '../../src/ledger/audit/audit.ts';
import { auditLedger } from '../../src/ledger/audit/run.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { type Adjustment, insertAdjustment } from '../../src/store/sqlite/books/tables.ts';
import { copyDatabase } from '../../src/store/sqlite/copy.ts';
import { openReader } from '../../src/store/sqlite/reader.ts';
import { budget, caller, held, line, NOON, open, order, terms } from './support.ts';

export const EACH_KEY = budget(5_000, { name: 'each-key', each: ({ key }) => key.id, window: 'day' });
export const EVERYONE = budget(8_000, { name: 'everyone' });

export const ALICE = caller('alice', { team: 'red' });
export const BOB = caller('bob', { team: '=blue' });

/** Changes a database without the knowledge of the ledger. */
export function tamper(file: string, ...statements: string[]): void {
  const db = new Database(file, { readwrite: true });
  for (const sql of statements) db.run(sql);
  db.close();
}

export async function audit(file: string, idle = false): Promise<Audit> {
  const reader = openReader(file, [ledgerMigrations]);
  try {
    return await auditLedger(reader.journal, { idle });
  } finally {
    reader.close();
  }
}

export const findingsOf = async (file: string): Promise<string[]> =>
  (await audit(file)).findings.map(({ kind }) => kind);

export function granting(keyId: string, amount: number): Adjustment {
  return { kind: 'grant', keyId, reservation: null, account: null, amount, note: 'a gift', time: NOON };
}

/**
 * Makes a journal with a row of every kind. The first run ends in order, the second dies with open reservations, and the third closes them
 * and leaves rows after its last checkpoint.
 */
export async function makeJournal(file: string): Promise<void> {
  const first = await open(file, { terms: terms(EACH_KEY, EVERYONE) });
  const one = await held(first.ledger, order(500, { caller: ALICE }));
  one.post(line(100));
  await one.raise([200]);
  one.settle(line(900), () => []);
  const two = await held(first.ledger, order(300, { caller: BOB }));
  two.settle(line(250), () => []);
  (await held(first.ledger, order(10, { caller: BOB }))).settle(null, () => []);
  const account = await accountOf(first.store, two.id);
  const correction = { kind: 'correct', keyId: 'bob', reservation: two.id, account, amount: -50 } as const;
  await first.store.commit([
    insertAdjustment(granting('alice', 4_000)),
    insertAdjustment({ ...correction, note: 'sorry', time: NOON }),
  ]);
  // This change came from the store itself, so the ledger must be refreshed.
  await first.ledger.close();
  await first.store.close();

  const second = await open(file, { terms: terms(EACH_KEY, EVERYONE) });
  (await held(second.ledger, order(300, { caller: ALICE }))).settle(line(200), () => []);
  await held(second.ledger, order(600, { caller: ALICE }));
  const dying = await held(second.ledger, order(400, { caller: BOB }));
  dying.post(line(150));
  // A changed limit adds a row for its fund, and an added budget includes the reservations that are open.
  const added = budget(9_000, { name: 'added', window: 'total' });
  (await second.ledger.prepare(terms(EACH_KEY, { ...EVERYONE, limit: 7_000 }, added)))();
  (await held(second.ledger, order(80, { caller: BOB }))).settle(line(70), () => []);
  await second.store.close();

  const third = await open(file, { terms: terms(EACH_KEY, { ...EVERYONE, limit: 7_000 }) });
  (await held(third.ledger, order(300, { caller: ALICE }))).settle(line(290), () => []);
  await third.ledger.close();
  (await held(third.ledger, order(300, { caller: ALICE }))).settle(line(10), () => []);
  (await held(third.ledger, order(200, { caller: BOB }))).post(line(20));
  await third.store.close();
}

async function accountOf(store: Awaited<ReturnType<typeof open>>['store'], reservation: number): Promise<number> {
  await store.flush();
  const [row] = await store.query<{ account: number }>({ sql: 'SELECT account FROM journal WHERE reservation = ?' }, [
    reservation,
  ]);
  return row!.account;
}

/** Returns a function that copies a database, so that a test may change the copy. */
export function copies(folder: () => { readonly path: string; readonly file: string }): () => string {
  let made = 0;
  return () => {
    const file = join(folder().path, `copy-${++made}.db`);
    copyDatabase(folder().file, file);
    return file;
  };
}

/** Moves the rows from `seq` on by one, to make room for another row, and adjusts the sums and funds that refer to them. */
export const shift = (seq: number) => [
  `UPDATE journal SET seq = -seq - 1 WHERE seq >= ${seq}`,
  'UPDATE journal SET seq = -seq WHERE seq < 0',
  `UPDATE funds SET after_seq = after_seq + 1 WHERE after_seq >= ${seq}`,
  `UPDATE checkpoint SET through = through + 1 WHERE through >= ${seq}`,
];
