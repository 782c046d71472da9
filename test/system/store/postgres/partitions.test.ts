import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { processTimers } from '../../../../src/host/telemetry/process-timers.ts';
import { addressOf } from '../../../../src/store/postgres/address.ts';
import { Connection, USUAL_BOUNDS } from '../../../../src/store/postgres/connection.ts';
import { postgresRecords } from '../../../../src/store/postgres/records.ts';
import type { RecordLog } from '../../../../src/store/records.ts';
import { type SqlTables, sql } from '../../../../src/store/sql/statement.ts';
import { tries } from '../../../deep/effort.ts';
import { openInSqlite } from '../../../store/implementations.ts';
import { type Handle, openHandle } from '../../../store/postgres/opened.ts';
import { recordOf } from '../../../store/suites/records.ts';
import { laidDatabase } from '../../../support/shared-postgres.ts';

let box: {
  readonly url: string;
  readonly handles: readonly [Handle & SqlTables, Handle & SqlTables];
  readonly run: (text: string) => Promise<Record<string, unknown>[]>;
  readonly close: () => Promise<void>;
};
beforeAll(async () => {
  const database = await laidDatabase();
  const handles = [await openHandle(database.url), await openHandle(database.url)] as const;
  box = {
    ...{ url: database.url, handles, run: database.run },
    async close() {
      for (const handle of handles) await handle.close();
      await database[Symbol.asyncDispose]();
    },
  };
});
afterAll(() => box.close());

/** The number of IDs in a day of these tests. */
const DAY = 1_000;
const PARTITIONS = 10;
/** Each history has later IDs than all earlier ones, so that they can share the tables. */
let base = 0;

/** The events between two prunings. */
interface Stretch {
  /** The number of IDs that pass. */
  readonly passed: number;
  /** Ages of new records, as distances from now. */
  readonly ages: readonly number[];
  readonly days: number;
  /** Whether partitions were prepared; if not, no lock was free for it. */
  readonly isPrepared: boolean;
}
const stretches: fc.Arbitrary<Stretch> = fc.record({
  passed: fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 0, max: 3 * DAY }) }, fc.constant(25 * DAY)),
  ages: fc.array(fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 0, max: 4 * DAY }) }, fc.constant(-90 * DAY)), {
    maxLength: 8,
  }),
  days: fc.constantFrom(3, 3, 12, 45),
  isPrepared: fc.boolean(),
});

async function idsOf(log: RecordLog): Promise<number[]> {
  const { entries } = await log.list({ limit: 1_000 });
  return entries.map(({ id }) => id);
}

const boundsOf = async () =>
  (await box.handles[0].query<{ b: number }>(sql('SELECT unnest(records_bounds_1()) AS b'))).map(({ b }) => b);

const TABLES = ['records', 'record_index', 'record_labels'];
const idsIn = async (table: string) =>
  (await box.handles[0].query<{ id: number }>(sql(`SELECT id FROM ${table} ORDER BY id DESC`))).map(({ id }) => id);

/** Whether PostgreSQL keeps the rows that SQLite keeps, plus only rows of a partition in which a retention period ended. */
async function keepsTheSame(history: readonly Stretch[]): Promise<boolean> {
  await using other = await openInSqlite();
  const [handle] = box.handles;
  const { log, partition } = postgresRecords(handle, processTimers);
  await box.run(`TRUNCATE ${TABLES.join(', ')}`);
  base += 1_000_000;
  let now = base;
  const taken = new Set<number>();
  /** Rows that no pruning may delete, whichever partition each retention period ended in. */
  const left = new Set<number>();
  for (const { passed, ages, days, isPrepared } of history) {
    now += passed;
    const ids = ages.map((age) => now - age).filter((id) => !taken.has(id) && taken.add(id));
    const records = ids.map((id) => recordOf({ id, labels: { team: 'red' } }));
    for (const id of ids) left.add(id);
    await handle.commit(records.map((one) => log.add(one)));
    await other.commit(records.map((one) => other.records.log.add(one)));
    const width = Math.ceil(days / PARTITIONS) * DAY;
    if (isPrepared) await partition?.(now, width);
    const before = now - days * DAY;
    await log.prune(before, width);
    await other.records.log.prune(before);
    const [kept, expected] = [await idsOf(log), await idsOf(other.records.log)];
    const bounds = await boundsOf();
    const lower = bounds.findLast((bound) => bound <= before) ?? before;
    const upper = bounds.find((bound) => bound > before) ?? before;
    const begins = upper - lower <= width ? lower : before;
    for (const id of left) if (id < begins) left.delete(id);
    if (!kept.every((id) => left.has(id)) || !new Set(expected).isSubsetOf(new Set(kept))) return false;
    for (const table of TABLES) if (!Bun.deepEquals(await idsIn(table), kept)) return false;
  }
  return true;
}

const law = fc.asyncProperty(fc.array(stretches, { minLength: 2, maxLength: 8 }), keepsTheSame);
const LAW =
  'PostgreSQL keeps the records that SQLite keeps, plus only records of a partition in which a retention period ended, even if that period changes';

test(LAW, async () => {
  await fc.assert(law, tries(LAW, 1, 50));
});

async function openReader() {
  const connection = await Connection.open(addressOf(box.url), { ...USUAL_BOUNDS, idleInTransactionMs: 60_000 });
  return Object.assign(connection, { [Symbol.asyncDispose]: () => connection.close() });
}

/** Adds records of some days, with their partitions. */
async function filled(days: number) {
  await box.run(`TRUNCATE ${TABLES.join(', ')}`);
  base += 1_000_000;
  const [handle] = box.handles;
  const { log, partition } = postgresRecords(handle, processTimers);
  for (let day = 0; day < days; day++) {
    await partition?.(base + day * DAY, DAY);
    const ids = Array.from({ length: 10 }, (_, at) => base + day * DAY + at * 100);
    await handle.commit(ids.map((id) => log.add(recordOf({ id, labels: { team: 'red' } }))));
  }
  return { handle, log, idAt: (day: number) => base + day * DAY };
}

test('while a long query reads, no partition is dropped, but records are added and read; a later try drops the partition', async () => {
  const { handle, idAt } = await filled(4);
  const { log } = postgresRecords(handle);
  await using reader = await openReader();
  await reader.script('BEGIN; SELECT count(*) FROM record_labels');
  const refused = expect(log.prune(idAt(2), DAY)).rejects.toMatchObject({ reason: 'busy' });
  const added = Array.from({ length: 20 }, async (_, at) => {
    await handle.commit([log.add(recordOf({ id: idAt(3) + 1 + at }))]);
    return (await log.find(idAt(3) + 1 + at))?.id;
  });
  expect(await Promise.all(added)).toEqual(Array.from({ length: 20 }, (_, at) => idAt(3) + 1 + at));
  await refused;
  const again = postgresRecords(handle, processTimers).log.prune(idAt(2), DAY);
  expect(await log.find(idAt(0))).not.toBeNull();
  await reader.script('COMMIT');
  await again;
  expect([await log.find(idAt(2) - 100), (await log.find(idAt(2)))?.id]).toEqual([null, idAt(2)]);
});

test('two instances that create and drop partitions at once, while both add records, lose no record', async () => {
  const { idAt } = await filled(3);
  let next = 1;
  const work = box.handles.map(async (handle) => {
    const { log, partition } = postgresRecords(handle, processTimers);
    for (let day = 3; day < 6; day++) {
      const ids = Array.from({ length: 5 }, () => idAt(day) + next++);
      await Promise.all([
        ...ids.map((id) => handle.commit([log.add(recordOf({ id, labels: { team: 'red' } }))])),
        partition?.(idAt(day), DAY),
        log.prune(idAt(day - 2), DAY),
      ]);
    }
  });
  await Promise.all(work);
  const kept = await idsIn('records');
  expect(kept).toHaveLength(2 * 5 * 3);
  for (const table of TABLES) expect(await idsIn(table)).toEqual(kept);
});

test('a user with rights on the tables alone can create and drop partitions; a user without the right to delete records cannot', async () => {
  const { idAt } = await filled(3);
  await box.run(`CREATE ROLE serving LOGIN; CREATE ROLE looking LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO looking;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO serving`);
  const as = async (user: string) => {
    const handle = await openHandle(box.url.replace('signalbox@', `${user}@`));
    return { ...postgresRecords(handle, processTimers), [Symbol.asyncDispose]: () => handle.close() };
  };
  await using serving = await as('serving');
  await using looking = await as('looking');
  await expect(looking.partition?.(idAt(9), DAY)).rejects.toMatchObject({ reason: 'denied' });
  await serving.partition?.(idAt(9), DAY);
  await serving.log.prune(idAt(2), DAY);
  expect((await boundsOf()).slice(0, 1)).toEqual([idAt(2)]);
  expect(await serving.log.find(idAt(2) - 100)).toBeNull();
});

test('if the last partition has too many rows, they stay, old rows are deleted one by one, and new rows are added', async () => {
  const { handle, log, idAt } = await filled(2);
  const { partition } = postgresRecords(handle, processTimers);
  const far = idAt(500);
  await box.run(`INSERT INTO record_labels SELECT 'a', 'b', ${far} + i FROM generate_series(1, 10001) AS i`);
  await expect(partition?.(far, DAY)).rejects.toMatchObject({ reason: 'full' });
  await handle.commit([log.add(recordOf({ id: far })), log.add(recordOf({ id: far + 5 * DAY }))]);
  expect(await log.prune(far + 4 * DAY, DAY)).toBe(1);
  expect(await idsIn('records')).toEqual([far + 5 * DAY]);
});
