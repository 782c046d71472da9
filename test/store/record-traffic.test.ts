import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { AttemptRecord } from '../../src/core/decision/attempt.ts';
import type { DecisionOutcome } from '../../src/core/decision/outcome.ts';
import type { DecisionRecord } from '../../src/core/decision/record.ts';
import { idAt } from '../../src/core/id.ts';
import { plainUsage } from '../../src/core/money/usage.ts';
import { type RecordTraffic, WrittenTraffic } from '../../src/store/record-traffic.ts';
import { BY_ID, selectTraffic } from '../../src/store/sql/traffic/stored.ts';
import { openSqlite, type SqliteRepositories } from '../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '../../src/store/sqlite/open.ts';
import { sqliteRecordLog } from '../../src/store/sqlite/records/log.ts';
import { tries } from '../deep/effort.ts';
import { record } from '../gateway/records/support.ts';
import { layStore } from '../support/empty-store.ts';
import { tempFolder } from './support.ts';

const NOON = Date.UTC(2026, 10, 20, 12);
let lastId = idAt(NOON);
const nextId = (): number => ++lastId;

const names = fc.constantFrom('a', 'b', 'a b', 'ä/ö:c');
const times = fc.oneof(fc.nat(90_000), fc.double({ min: 0, max: 90_000, noNaN: true }));
const usages = fc
  .record({ input: fc.nat(999), output: fc.nat(999), cached: fc.nat(99), reasoning: fc.nat(99) })
  .map(({ input, output, cached, reasoning }) => ({
    ...plainUsage(input, output),
    reasoningTokens: reasoning,
    units: { cached_input: cached },
  }));
const attempts: fc.Arbitrary<AttemptRecord> = fc.record({
  ...{ model: names, provider: names, upstream: names, startMs: fc.option(times, { nil: undefined }), ms: times },
  ...{ firstPartMs: fc.option(times), failure: fc.constantFrom(null, 'overloaded', 'rejected', 'context', 'timeout') },
  ...{
    endpoint: fc.option(fc.nat(3), { nil: undefined }),
    requestId: fc.option(names),
    finishReasons: fc.array(names, { maxLength: 2 }),
  },
});
const outcomes: fc.Arbitrary<DecisionOutcome> = fc.record({
  status: fc.constantFrom('completed', 'failed', 'broken', 'abandoned'),
  error: fc.constantFrom(null, 'upstream_failed'),
  attempts: fc.array(attempts, { maxLength: 3 }),
  usage: fc.option(usages),
  ...{ estimated: fc.boolean(), charged: fc.nat(99), saved: fc.integer({ min: -99, max: 99 }) },
  ...{ firstPartMs: fc.option(times), totalMs: times, cappedBy: fc.constantFrom(null, 'model') },
  usageReplaced: fc.boolean(),
});
const records: fc.Arbitrary<readonly DecisionRecord[]> = fc
  .array(
    fc.record({
      ...{ keyId: fc.constantFrom('key0', 'key1'), team: fc.option(names), user: fc.option(names) },
      ...{ labels: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }), choice: names },
      outcome: fc.option(outcomes),
    }),
    { maxLength: 12 },
  )
  .map((all) => all.map((more) => record(0, NOON, { ...more, kind: more.outcome ? 'chat' : 'route' })));

let folder: ReturnType<typeof tempFolder>;
let db: SqliteRepositories;
beforeAll(async () => {
  folder = tempFolder();
  await layStore(folder.file);
  db = await openSqlite(folder.file, ALL_TABLES);
});
afterAll(async () => {
  await db.close();
  folder[Symbol.dispose]();
});

/** The law: the memory of the process that wrote the records gives the same traffic figures as their rows. */
const lawOf = (make: () => WrittenTraffic) =>
  fc.asyncProperty(records, async (all) => {
    const written = make();
    const log = sqliteRecordLog(db, written);
    const made = all.map((one) => ({ ...one, id: nextId() }));
    await db.commit(made.map((one) => log.add(one)));
    while (await log.index());
    const ids = [JSON.stringify(made.map(({ id }) => id))];
    const own = await selectTraffic(db, written, BY_ID, ids);
    return Bun.deepEquals(own, await selectTraffic(db, new WrittenTraffic(), BY_ID, ids));
  });

const NAME = 'a server counts the records that it wrote exactly as another server counts their rows';

test(NAME, async () => {
  await fc.assert(
    lawOf(() => new WrittenTraffic()),
    tries(NAME, 50, 5_000),
  );
});

const MUTANTS: Readonly<Record<string, (traffic: RecordTraffic) => RecordTraffic>> = {
  'forgets failed attempts': (traffic) => ({ ...traffic, failures: [] }),
  'times models by the caller': (traffic) => ({ ...traffic, attemptDuration: traffic.duration }),
  'leaves out the user': (traffic) => ({ ...traffic, user: '' }),
  'leaves out labels': (traffic) => ({ ...traffic, labels: [] }),
  'counts no errors': (traffic) => ({ ...traffic, figures: { ...traffic.figures, errors: 0 } }),
};

for (const [name, change] of Object.entries(MUTANTS)) {
  test(`the law detects a memory of written records that ${name}`, async () => {
    class Mutant extends WrittenTraffic {
      override find(id: number) {
        const traffic = super.find(id);
        return traffic && change(traffic);
      }
    }
    const { failed } = await fc.check(
      lawOf(() => new Mutant()),
      { numRuns: 100, seed: 7, endOnFailure: true },
    );
    expect(failed).toBe(true);
  });
}

test('the memory of written records is bounded, forgets old records, and keeps the first of two records with the same ID', () => {
  const written = new WrittenTraffic();
  written.add(record(1, NOON, { keyId: 'first' }));
  written.add(record(1, NOON, { keyId: 'second' }));
  expect(written.find(1)?.key).toBe('first');
  for (let id = 2; id < 20_000; id++) written.add(record(id, NOON));
  expect([written.find(1), written.find(19_999)?.key]).toEqual([undefined, 'key']);
  written.age();
  expect(written.find(19_999)?.key).toBe('key');
  written.age();
  expect(written.find(19_999)).toBeUndefined();
});
