import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addressOf } from '../../../src/store/postgres/address.ts';
import { type BooksDatabase, openPostgresBooks } from '../../../src/store/postgres/books/books.ts';
import type { BooksQuery } from '../../../src/store/postgres/books/names.ts';
import { Connection } from '../../../src/store/postgres/connection.ts';
import { StoreError } from '../../../src/store/store.ts';
import { processTimers } from '../../../src/telemetry/process-timers.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import type { BooksUnderTest } from '../suites/books.ts';

const textOf = (name: string): string =>
  readFileSync(join(import.meta.dir, `../../../src/store/postgres/books/${name}.sql`), 'utf8');
/** The function that decides. */
export const DECIDE = textOf('decide');
const TABLES = textOf('tables') + textOf('names');

let server: Promise<PostgresServer> | null = null;
let databases = 0;

/** The server of this process, with a ledger to copy. */
async function start(): Promise<PostgresServer> {
  const started = await startPostgres();
  await started.create('ledger');
  const db = await Connection.open(addressOf(started.urlOf('ledger'), null));
  await db.script(TABLES + DECIDE);
  await db.close();
  return started;
}

/** A database with an empty ledger. @param decide the function that decides, where it is another */
export async function emptyLedger(decide: string | null = null): Promise<Connection> {
  server ??= start();
  const name = `books_${databases++}`;
  await (await server).create(name, 'ledger');
  const db = await Connection.open(addressOf((await server).urlOf(name), null));
  if (decide !== null) await db.script(decide.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION'));
  return db;
}

/** The books of an instance on a database. @param isBroken whether it refuses */
export function openBooksOn(db: Connection, slot = 1, isBroken: () => boolean = () => false) {
  const query: BooksQuery = async (text, values) => (await db.run<never>(text, values)).rows;
  const decide: BooksDatabase['decide'] = async (owner, ops) => {
    if (isBroken()) throw new StoreError('disk full');
    const { rows } = await db.run<{ answers: string; figures: string; open_holds: string }>(
      'SELECT * FROM ledger_decide_1($1, $2::jsonb)',
      [owner, JSON.stringify(ops)],
    );
    const { answers, figures, open_holds } = rows[0]!;
    return { answers: JSON.parse(answers), figures: JSON.parse(figures), openHolds: JSON.parse(open_holds) };
  };
  const clock = () => performance.now();
  return openPostgresBooks({ db: { query, decide }, timers: processTimers, clock, instance: { slot, epoch: 1 } });
}

export async function booksInPostgres(): Promise<BooksUnderTest> {
  const db = await emptyLedger();
  let isBroken = false;
  let books = await openBooksOn(db, 1, () => isBroken);
  return {
    books,
    fails: (fails) => {
      isBroken = fails;
    },
    async reopened() {
      await books.written();
      books.close();
      books = await openBooksOn(db);
      return books;
    },
    async [Symbol.asyncDispose]() {
      books.close();
      await db.close();
    },
  };
}
