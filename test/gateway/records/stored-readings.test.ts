import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { priorReadings, type Readings } from '../../../src/core/decision/readings.ts';
import { createIds, timeOfId } from '../../../src/core/id.ts';
import { openRecords } from '../../../src/gateway/records/records.ts';
import { RENEW_MS } from '../../../src/gateway/records/stored-readings.ts';
import { openSqlite } from '../../../src/store/sqlite/database.ts';
import { recordsMigrations } from '../../../src/store/sqlite/records/schema.ts';
import type { Store } from '../../../src/store/store.ts';
import { model, snapshot } from '../../routing/build.ts';
import { badNote, notes, tempFolder } from '../../store/support.ts';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 20);
const policy = snapshot([model('a'), model('b'), model('c')]);
const FIGURES = ['ttftMs', 'warmTtftMs', 'tokensPerSecond', 'health', 'retryAt', 'outputTokens'] as const;

/** Readings with a measurement of endpoint 1. */
function seen(ttftMs: number): Readings {
  const readings = { ...priorReadings(policy), number: 1 };
  readings.ttftMs[1] = ttftMs;
  return readings;
}

async function open(file: string) {
  let time = NOW;
  const store = await openSqlite(file, [recordsMigrations, notes]);
  const records = openRecords({ store, tables: store.records, now: () => time });
  const nextId = createIds(() => time, 0);
  const note = (readings: Readings, into: Pick<Store, 'append'> = store) => {
    const { number, writes } = records.readings.refer(readings, policy, nextId, 7);
    into.append(writes);
    return { number, writes: writes.length };
  };
  const pass = (ms: number) => {
    time += ms;
  };
  return { store, records, note, pass };
}

test('any readings are restored exactly', async () => {
  using folder = tempFolder();
  const { store, records, note } = await open(folder.file);
  const change = fc.record({
    figure: fc.constantFrom(...FIGURES),
    at: fc.nat({ max: 2 }),
    value: fc.oneof(fc.double(), fc.constantFrom(-0, Number.NaN, 5e-324)),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(change), async (changes) => {
      const readings = { ...priorReadings(policy), number: 9 };
      for (const { figure, at, value } of changes) {
        if (at < readings[figure].length) readings[figure][at] = figure === 'health' ? at + 1 : value;
      }
      const { number } = note(readings);
      await store.flush();
      const found = (await records.findReadings(number, policy))!;
      for (const figure of FIGURES) {
        expect([...found[figure]].every((value, at) => Object.is(value, readings[figure][at]))).toBe(true);
      }
      const allHealthy = readings.health.every((state) => state === 0);
      expect([found.number, found.allHealthy]).toEqual([number, allHealthy]);
    }),
  );
  await store.close();
});

test('readings are stored as differences from the policy; without differences they have no row, and number 0', async () => {
  using folder = tempFolder();
  const { store, records, note } = await open(folder.file);
  const { number } = note(seen(123.4));
  await store.flush();
  const none = {
    ttftMs: [],
    warmTtftMs: [],
    tokensPerSecond: [],
    health: [],
    retryAt: [],
    outputTokens: [],
  };
  expect(await store.records.readings.find(number)).toEqual({ ...none, ttftMs: [[1, 123.4]] });
  expect(note(priorReadings(policy))).toEqual({ number: 0, writes: 0 });
  expect(note({ ...priorReadings(policy), number: 3 })).toEqual({ number: 0, writes: 0 });
  expect(await records.findReadings(0, policy)).toEqual(priorReadings(policy));
  await store.close();
});

test('readings are written with records until they are stored, once; their numbers grow and survive a restart', async () => {
  using folder = tempFolder();
  const { store, records, note } = await open(folder.file);
  const readings = seen(50);
  const first = note(readings);
  expect(first.number).toBeGreaterThan(0);
  expect(note(readings)).toEqual({ ...first, writes: 1 });
  await store.flush();
  await Bun.sleep(0);
  expect(note(readings)).toEqual({ ...first, writes: 0 });
  const other = note(seen(60));
  expect(other.number).toBeGreaterThan(first.number);
  await store.flush();
  expect(await records.findReadings(first.number, policy)).toEqual({ ...readings, number: first.number });
  expect(await records.findReadings(first.number + 1_000, policy)).toBeNull();
  await store.close();
});

test('readings use the number of their decision if no other number is available', async () => {
  using folder = tempFolder();
  const { store, records } = await open(folder.file);
  const refused = () => {
    throw new Error('fenced');
  };
  const { number, writes } = records.readings.refer(seen(50), policy, refused, 7);
  expect(number).toBe(7);
  store.append(writes);
  await store.flush();
  expect(await records.findReadings(7, policy)).toEqual({ ...seen(50), number: 7 });
  await store.close();
});

test('readings whose record was rejected are written with the next record', async () => {
  using folder = tempFolder();
  const { store, records, note } = await open(folder.file);
  const readings = seen(50);
  const { number } = note(readings, { append: (writes) => store.append([...writes, badNote(1)]) });
  await store.flush();
  await Bun.sleep(0);
  expect(await records.findReadings(number, policy)).toBeNull();
  expect(note(readings)).toEqual({ number, writes: 1 });
  await store.flush();
  expect(await records.findReadings(number, policy)).not.toBeNull();
  await store.close();
});

test('readings are deleted with the decisions that could refer to them, however long they were current', async () => {
  using folder = tempFolder();
  const { store, records, note, pass } = await open(folder.file);
  const readings = seen(50);
  const first = note(readings).number;
  pass(RENEW_MS - 1);
  expect(note(readings).number).toBe(first);
  pass(1);
  const second = note(readings).number;
  expect(timeOfId(second)).toBe(NOW + RENEW_MS);
  pass(30 * DAY);
  await records.prune(30 * DAY);
  // A decision of the last 30 days may refer to readings that are up to an hour older.
  expect(await records.findReadings(first, policy)).not.toBeNull();
  pass(1);
  await records.prune(30 * DAY);
  expect(await records.findReadings(first, policy)).toBeNull();
  expect(await records.findReadings(second, policy)).not.toBeNull();
  pass(RENEW_MS + DAY);
  await records.prune(30 * DAY);
  expect(await records.findReadings(second, policy)).toBeNull();
  await store.close();
});
