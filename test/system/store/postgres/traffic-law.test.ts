import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { processTimers } from '../../../../src/host/telemetry/process-timers.ts';
import { addressOf } from '../../../../src/store/postgres/address.ts';
import type { BooksQuery } from '../../../../src/store/postgres/books/names.ts';
import { Connection } from '../../../../src/store/postgres/connection.ts';
import { PostgresDialect, valuesOf } from '../../../../src/store/postgres/dialect.ts';
import { Horizon } from '../../../../src/store/postgres/horizon.ts';
import { postgresRecords } from '../../../../src/store/postgres/records.ts';
import { postgresTraffic } from '../../../../src/store/postgres/traffic.ts';
import { WrittenTraffic } from '../../../../src/store/record-traffic.ts';
import type { SqlTables, SqlWrite } from '../../../../src/store/sql/statement.ts';
import { tries } from '../../../deep/effort.ts';
import { emptiedBy, type Handle, openHandle, withRepositories } from '../../../store/postgres/opened.ts';
import { trafficSuite } from '../../../store/suites/traffic.ts';
import { countsRightly, type History, histories } from '../../../store/traffic-history.ts';
import { pausing } from '../../../store/traffic-support.ts';
import { laidDatabase } from '../../../support/shared-postgres.ts';

/** Two handles that count, and connections whose transactions end in another order than they began. */
let box: {
  readonly handles: readonly [Handle & SqlTables, Handle & SqlTables];
  readonly late: readonly Connection[];
  readonly empty: () => Promise<void>;
  readonly close: () => Promise<void>;
};
beforeAll(async () => {
  const { url, ...database } = await laidDatabase();
  const handles = [await openHandle(url), await openHandle(url)] as const;
  const [connection, ...late] = await Promise.all([0, 1, 2].map(() => Connection.open(addressOf(url))));
  const script = await emptiedBy(connection!);
  box = {
    handles,
    late,
    empty: async () => void (await connection!.script(script)),
    async close() {
      for (const open of [connection!, ...late, ...handles]) await open.close();
      await database[Symbol.asyncDispose]();
    },
  };
});
afterAll(() => box.close());

const dialect = new PostgresDialect();
/** A third of the writes belong to a transaction that ends after later ones. */
const LATE = 3;

async function holds(history: History): Promise<boolean> {
  const { handles, late, empty } = box;
  await empty();
  const open = new Set<Connection>();
  const end = async (connection: Connection) => {
    open.delete(connection);
    await connection.script('COMMIT');
  };
  const writeLate = async ({ statement, params }: SqlWrite, connection: Connection): Promise<void> => {
    if (open.has(connection)) await end(connection);
    await connection.script('BEGIN');
    open.add(connection);
    const translated = dialect.translate(statement);
    await connection.run(translated.text, valuesOf(translated, params));
  };
  const [one, other] = handles.map(pausing);
  const written = new WrittenTraffic();
  return await countsRightly(history, {
    counters: [postgresTraffic(one!, { waitMs: 0, written }), postgresTraffic(other!, { waitMs: 0 })],
    log: postgresRecords(handles[0], null, written).log,
    prepare: (writes) => handles[0].commit(writes),
    write: (write, amount) =>
      amount % LATE === 0 ? writeLate(write, late[(amount / LATE) % late.length]!) : handles[0].commit([write]),
    async written() {
      for (const connection of open) await end(connection);
    },
  });
}

describe('in PostgreSQL', () => {
  trafficSuite(async () => {
    await box.empty();
    return { ...withRepositories(box.handles[1]), [Symbol.asyncDispose]: async () => {} };
  });
});

const answerOf = async (horizon: Horizon<'entries'>) => (await horizon.within(0)).entries;

test('the horizon is below every number of an open transaction, even of one that began after all others had ended', async () => {
  const [one, other] = box.handles;
  const query: BooksQuery = (text, values) => one.query({ sql: text }, values);
  const horizon = new Horizon(query, processTimers, { entries: 'journal_seq' });
  const [late] = box.late;
  await late!.script('BEGIN');
  const { rows } = await late!.run<{ seq: number }>(`SELECT nextval('journal_seq') AS seq`);
  const seq = rows[0]!.seq;
  expect(await answerOf(horizon)).toBeLessThan(seq);
  const last = await other.query<{ seq: number }>({ sql: `SELECT nextval('journal_seq') AS seq` });
  await late!.script('COMMIT');
  // The sum includes the number of an overrun.
  expect(await answerOf(horizon)).toBe(last[0]!.seq + 1);
});

const law = fc.asyncProperty(histories, holds);
const NAME = 'in PostgreSQL two instances count every row of records and journal once, whatever order they commit in';

test(NAME, async () => {
  await fc.assert(law, tries(NAME, 3, 250));
});
