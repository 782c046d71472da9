import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Estimate } from '../../../src/core/decision/estimate.ts';
import type { DecisionRecord } from '../../../src/core/decision/record.ts';
import { idAt } from '../../../src/core/id.ts';
import { openRecords } from '../../../src/gateway/records/records.ts';
import { decodeEstimate, encodeEstimate } from '../../../src/store/sql/records/estimate.ts';
import { type SqlValue, write } from '../../../src/store/sql/statement.ts';
import { ledgerMigrations } from '../../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../../src/store/sqlite/database.ts';
import { recordsMigrations } from '../../../src/store/sqlite/records/schema.ts';
import { trafficMigrations } from '../../../src/store/sqlite/traffic/schema.ts';
import { tempFolder } from '../../store/support.ts';
import { record } from './support.ts';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 20);

/** Returns a record with its qualities as a list, because Bun never treats typed arrays with NaN as equal. */
function plain(record: DecisionRecord | null) {
  return record && { ...record, quality: record.quality && [...record.quality] };
}

async function open(file: string, now = () => NOW) {
  const store = await openSqlite(file, [ledgerMigrations, recordsMigrations, trafficMigrations]);
  return { store, records: openRecords({ store, tables: store.records, now }) };
}

test('a record is restored exactly', async () => {
  using folder = tempFolder();
  const { store, records } = await open(folder.file);
  const outcome = {
    status: 'completed',
    error: null,
    attempts: [
      {
        model: 'model-a',
        provider: 'p',
        upstream: 'u',
        ms: 12.5,
        startMs: 2,
        firstPartMs: 3,
        failure: null,
        endpoint: 1,
        requestId: 'req_1',
        finishReasons: ['stop'],
      },
      {
        ...{ model: 'model-b', provider: 'q', upstream: 'v', ms: 3, startMs: 15, firstPartMs: null, endpoint: 0 },
        ...{ failure: 'overloaded', requestId: null, finishReasons: [], status: 503, message: 'no [prompt]' },
      },
    ],
    usage: { inputTokens: 1, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 2, reasoningTokens: 0 },
    estimated: false,
    charged: 12,
    saved: -3,
    firstPartMs: 4,
    totalMs: 14,
    cappedBy: null,
    usageReplaced: false,
  } as const;
  const chat = record(1, 5, { outcome, lastResorts: [{ model: 'model-c', endpoints: [1, 0] }] });
  await store.commit([store.records.log.add(chat), store.records.log.add(record(2, 6, { kind: 'route' }))]);
  expect(plain(await records.find(1))).toEqual(plain(chat));
  expect(plain(await records.find(2))).toEqual(plain(record(2, 6, { kind: 'route' })));
  const replaced = record(4, 7, { outcome: { ...outcome, usageReplaced: true } });
  await store.commit([store.records.log.add(replaced)]);
  expect(plain(await records.find(4))).toEqual(plain(replaced));
  expect(await records.find(3)).toBeNull();
  await store.close();
});

/** Any doubles and floats, including special values, and often values that a row omits. */
const figures = <List extends Float64Array | Float32Array>(of: fc.Arbitrary<List>, zeros: List) =>
  fc.oneof(fc.constant(zeros), of);
const size = { minLength: 3, maxLength: 3 };
const doubles = figures(fc.float64Array(size), new Float64Array(3));
const quality = new Float64Array([0.1 + 0.2, Number.NaN, 5e-324]);
const estimates: fc.Arbitrary<Estimate> = fc.record({
  quality: fc.oneof(fc.constant(quality), doubles),
  length: fc.double(),
});

/** Compares bits, because numeric equality ignores negative zero. */
const bits = (list: Float64Array | Float32Array | null) => list && Buffer.from(list.slice().buffer).toString('hex');
const plainEstimate = (of: Estimate | null) => of && [of.length, Object.is(of.length, -0), bits(of.quality)];

test('any estimate is restored exactly', async () => {
  using folder = tempFolder();
  const { store, records } = await open(folder.file);
  let id = 0;
  await fc.assert(
    fc.asyncProperty(fc.option(estimates), fc.boolean(), async (estimate, isKept) => {
      const of = record(++id, 5, { estimate, quality: isKept ? quality : null });
      await store.commit([store.records.log.add(of)]);
      const found = (await records.find(id))!;
      expect(plainEstimate(found.estimate)).toEqual(plainEstimate(estimate));
      expect(found.isOfLearning).toBeUndefined();
      expect(bits(found.quality)).toBe(bits(of.quality));
    }),
    { numRuns: 150 },
  );
  await store.close();
});

test('an estimate of 0.1 with a random draw, learned qualities or trust is recognized, and never read as a correction', () => {
  const qualities = Float64Array.of(0.5, 0.25);
  const bytesWith = (more: number, trust = 0) => {
    const bytes = encodeEstimate({ quality: qualities, length: 0.5 }, qualities);
    const view = new DataView(bytes.buffer);
    view.setUint8(1, view.getUint8(1) | more);
    view.setFloat64(16, trust, true);
    return bytes;
  };
  expect(decodeEstimate(bytesWith(0), qualities)).toEqual({ estimate: { quality: qualities, length: 0.5 } });
  const ofLearning = { estimate: null, isOfLearning: true } as const;
  for (const part of [2, 8, 16, 32, 64]) expect(decodeEstimate(bytesWith(part), qualities)).toEqual(ofLearning);
  expect(decodeEstimate(bytesWith(0, 0.4), qualities)).toEqual(ofLearning);
  // A draw without an estimate.
  expect(decodeEstimate(Uint8Array.of(1, 2, 0, 0, 2, 0, 0, 0, ...new Uint8Array(16)), qualities)).toEqual(ofLearning);
});

test('an estimate stores no figure that can be computed', () => {
  const estimate = { quality, length: 0.5 };
  expect(encodeEstimate(estimate, quality)).toHaveLength(24);
  expect(encodeEstimate({ ...estimate, quality: quality.slice() }, quality)).toHaveLength(24);
  expect(encodeEstimate({ ...estimate, quality: quality.map((q) => q / 2) }, quality)).toHaveLength(48);
  expect(encodeEstimate(estimate, null)).toHaveLength(48);
});

test('a record without qualities and estimate stores neither of their BLOBs', async () => {
  using folder = tempFolder();
  const { store, records } = await open(folder.file);
  await store.commit([1, 2].map((id) => store.records.log.add(record(id, 5, id === 1 ? { quality: null } : {}))));
  const row = { sql: 'SELECT length(quality) AS quality, estimate FROM records ORDER BY id' };
  expect(await store.query(row)).toEqual([
    { quality: 0, estimate: null },
    { quality: 24, estimate: null },
  ]);
  expect(plain(await records.find(1))).toEqual(plain(record(1, 5, { quality: null })));
  await store.close();
});

test('a record is found and listed as soon as it is added, and survives a clean shutdown', async () => {
  using folder = tempFolder();
  const { store, records } = await open(folder.file);
  records.add(record(1, 5));
  expect(plain(await records.find(1))).toEqual(plain(record(1, 5)));
  records.add(record(2, 6));
  expect((await records.list({ limit: 10 })).entries.map(({ id }) => id)).toEqual([2, 1]);
  records.add(record(3, 7));
  await store.close();
  const again = await open(folder.file);
  expect(plain(await again.records.find(3))).toEqual(plain(record(3, 7)));
  await again.store.close();
});

test('pruning deletes all older records and no others, however many there are', async () => {
  using folder = tempFolder();
  const { store, records } = await open(folder.file);
  const kept = idAt(NOW - 30 * DAY);
  const old = Array.from({ length: 2_500 }, (_, i) => store.records.log.add(record(kept - 1 - i, 0)));
  await store.commit([...old, store.records.log.add(record(kept, 0))]);
  expect(await records.prune(30 * DAY)).toBe(2_500);
  expect(await records.prune(30 * DAY)).toBe(0);
  expect(await records.find(kept - 1)).toBeNull();
  expect(await records.find(kept)).not.toBeNull();
  await store.close();
});

test('a policy revision stays as it was first saved', async () => {
  using folder = tempFolder();
  const { store, records } = await open(folder.file);
  const surroundings = { unset: ['KEY'], plugins: [['./own.ts', 'c0de']] } as const;
  const kept = { revision: 'r1', source: 'models: …', models: ['a', 'b'], surroundings };
  await records.saveRevision(kept);
  await records.saveRevision({ ...kept, source: 'other', models: [] });
  expect(await records.findRevision('r1')).toEqual({ ...kept, saved: NOW });
  expect(await records.findRevision('r2')).toBeNull();
  await store.close();
});

test('a revision is deleted with the last decision that could refer to it; the active revision is never deleted', async () => {
  using folder = tempFolder();
  let day = 0;
  const { store, records } = await open(folder.file, () => NOW + day * DAY);
  for (const revision of ['first', 'second', 'third']) {
    await records.saveRevision({ revision, source: revision, models: [], surroundings: null });
    day += 10;
  }
  const kept = async () => {
    await records.prune(30 * DAY);
    const found = await Promise.all(['first', 'second', 'third'].map((name) => records.findRevision(name)));
    return found.flatMap((revision) => (revision ? [revision.revision] : []));
  };
  day = 40;
  // The first revision was active until day 10; decisions of that time are deleted from day 40 on.
  expect(await kept()).toEqual(['first', 'second', 'third']);
  day = 41;
  expect(await kept()).toEqual(['second', 'third']);
  day = 1_000;
  expect(await kept()).toEqual(['third']);
  await store.close();
});

test('records and revisions of 0.1 can be read, with defaults for missing fields', async () => {
  using folder = tempFolder();
  const before = await openSqlite(folder.file, [{ room: 'records', versions: { 4: recordsMigrations.versions[4]! } }]);
  const facts = ['auto', false, 'general', 12, 40, 0, 0, null, null, 1, 0, [], null, {}, null, null];
  const outcome = ['completed', null, [['m', 'p', 'u', 1, 1, null]], [1, 0, 0, 2, 0], false, 12, -3, 4, 14];
  const body = JSON.stringify(['00', facts, 'auto:balanced', 'm', [], outcome]);
  const insert = (sql: string, params: SqlValue[]) => before.commit([write({ sql }, ...params)]);
  await insert('INSERT INTO decisions VALUES (1, 5, ?, ?, ?, ?, ?, NULL, NULL)', [
    'key',
    'chat',
    'r1',
    new Uint8Array(8),
    body,
  ]);
  await insert('INSERT INTO revisions VALUES (?, ?, ?, ?, NULL)', ['r1', '[]', '["m"]', 5]);
  await before.close();

  const { store, records } = await open(folder.file);
  expect(await records.find(1)).toMatchObject({
    readingsNumber: null,
    estimate: null,
    lastResorts: [],
    facts: {
      mix: [],
      naturalLanguage: 'und',
      difficulty: 'usual',
      rules: { constraints: [], preferences: [] },
      cached: [],
      funds: null,
    },
    outcome: { totalMs: 14, attempts: [{ model: 'm', failure: null, endpoint: null }] },
  });
  expect(await records.findRevision('r1')).toMatchObject({ models: ['m'], surroundings: null });
  await store.close();
});
