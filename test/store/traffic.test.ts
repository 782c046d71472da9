import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { openStore } from '../../src/store/open.ts';
import { WrittenTraffic } from '../../src/store/record-traffic.ts';
import type { Statement } from '../../src/store/sql/statement.ts';
import { nextBatch } from '../../src/store/sql/traffic/batch.ts';
import { STEP_MS } from '../../src/store/traffic.ts';
import { TrafficSums } from '../../src/store/traffic-sums.ts';
import { layStore } from '../support/empty-store.ts';
import { made, NOON, trafficSuite } from './suites/traffic.ts';
import { type AuditedTraffic, TRAFFIC_AUDIT_CASES } from './suites/traffic-audit.ts';
import { tempFolder, testCases } from './support.ts';

async function auditedInSqlite(): Promise<AuditedTraffic> {
  const folder = tempFolder();
  await layStore(folder.file);
  const store = await openStore(folder.file, { mode: 'serve' });
  const { traffic, journal } = store;
  return {
    ...{ store, traffic, journal, books: await store.openBooks(() => NOON) },
    async run(statement) {
      using db = new Database(folder.file, { readwrite: true });
      db.run(statement);
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      folder[Symbol.dispose]();
    },
  };
}

describe('in SQLite', () => {
  trafficSuite(async () => {
    const folder = tempFolder();
    const store = await openStore(folder.file, { mode: 'serve' });
    return Object.assign(store, {
      async [Symbol.asyncDispose]() {
        await store.close();
        folder[Symbol.dispose]();
      },
    });
  });
});

describe('traffic in SQLite', () => testCases(TRAFFIC_AUDIT_CASES, auditedInSqlite));

const day = { step: 'day', from: NOON - 3 * STEP_MS.day, to: NOON + STEP_MS.day } as const;

test('a recount counts the past after new rows, newest first, and reports its progress', async () => {
  using folder = tempFolder();
  const store = await openStore(folder.file, { mode: 'serve' });
  const minutes = Array.from({ length: 1_000 }, (_, at) => NOON - STEP_MS.day + at * STEP_MS.minute);
  await store.commit(minutes.map((at) => store.records.log.add(made(at, 'key'))));
  while (await store.traffic.count(NOON));
  const requests = async () => {
    const buckets = await store.traffic.buckets({
      step: 'hour',
      kind: 'total',
      from: day.from,
      to: day.to,
      series: null,
    });
    return buckets.reduce((sum, { figures }) => sum + figures.requests, 0);
  };
  try {
    expect(await requests()).toBe(1_000);
    expect(await store.traffic.recount()).toBe(0);
    while (((await store.traffic.progress()).pastBefore ?? 0) >= minutes.at(-1)!) await store.traffic.count(NOON);
    expect(await requests()).toBe(500);
    expect(await store.traffic.progress()).toMatchObject({ freshFrom: null, pastBefore: minutes.at(-501)! });
    await store.commit([store.records.log.add(made(NOON, 'key'))]);
    await store.traffic.count(NOON);
    expect(await requests()).toBe(501);
    while (await store.traffic.count(NOON));
    expect(await requests()).toBe(1_001);
    expect(await store.traffic.progress()).toMatchObject({ freshFrom: null, pastBefore: null });
  } finally {
    await store.close();
  }
});

test('a count queries no records and no entries whose numbers are counted', async () => {
  const queried: string[] = [];
  const query = (statement: Statement) => {
    queried.push(/FROM (records|journal)/.exec(statement.sql)?.[1] ?? statement.sql);
    return Promise.resolve([]);
  };
  const past = { recordsBefore: 0, journalBefore: 0, recountFrom: 0, prunedBelow: 0 };
  const state = { ...past, version: 1, isClearing: 0, recordsThrough: 7, journalThrough: 9 };
  const countTo = (records: number, entries: number) => {
    const horizon = () => Promise.resolve({ records, entries });
    const means = { horizon, index: async () => false, put: () => [] };
    return nextBatch(
      { query },
      { ...means, written: new WrittenTraffic() },
      state,
      new TrafficSums({ minute: 0, hour: 0, day: 0 }),
      {
        records: 10,
        entries: 10,
      },
    );
  };
  expect(await countTo(7, 9)).toBeNull();
  expect(queried).toEqual([]);
  expect(await countTo(8, 10)).toBeNull();
  expect(queried).toEqual(['records', 'journal']);
});
