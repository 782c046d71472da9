import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { idAt } from '../../src/core/id.ts';
import { openStore } from '../../src/store/open.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '../../src/store/sqlite/open.ts';
import { labelSeries, STEP_MS, TRAFFIC_KINDS, type TrafficKind } from '../../src/store/traffic.ts';
import { layStore } from '../support/empty-store.ts';
import { holdOf, settleOf } from './suites/books.ts';
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

test('a folder of an earlier version counts its past after new rows, newest first, and reports its progress', async () => {
  using folder = tempFolder();
  const earlier = await openSqlite(
    folder.file,
    ALL_TABLES.filter(({ room }) => room !== 'traffic'),
  );
  const minutes = Array.from({ length: 1_000 }, (_, at) => NOON - STEP_MS.day + at * STEP_MS.minute);
  await earlier.commit(minutes.map((at) => earlier.records.log.add(made(at, 'key'))));
  await earlier.close();
  const store = await openStore(folder.file, { mode: 'serve' });
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
    while ((await store.traffic.progress()).pastBefore === minutes.at(-1)) await store.traffic.count(NOON);
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

/** Deletes from a folder the notes about which cells were kept. */
function forgetKept(file: string): void {
  using db = new Database(file);
  db.run('DROP TABLE traffic_kept');
  db.run('ALTER TABLE traffic DROP COLUMN refused');
  db.run("DELETE FROM migrations WHERE room = 'traffic' AND version >= 3");
}

test('in a folder of an earlier version, an audit compares what follows the first cell of each length until traffic is counted again', async () => {
  using folder = tempFolder();
  const moments = [NOON - STEP_MS.day, NOON - STEP_MS.hour];
  const open = () => openStore(folder.file, { mode: 'serve' });
  const earlier = await open();
  const books = await earlier.openBooks(() => NOON);
  const charge = async (at: number) => {
    await books.apply([holdOf(idAt(at), [], 50)]);
    await books.append([settleOf(idAt(at), 7)]);
    await earlier.flush();
  };
  for (const at of moments) await charge(at);
  while (await earlier.traffic.count(NOON));
  // A server of an earlier version wrote no such note.
  await earlier.traffic.prune(NOON + STEP_MS.day + STEP_MS.hour);
  await earlier.close();
  forgetKept(folder.file);
  const store = await open();
  const wrong = async () => (await store.journal.wrongCells(NOON)).map(({ step, kind }) => `${step} ${kind}`);
  const change = (statement: string) => {
    using db = new Database(folder.file);
    db.run(statement);
  };
  try {
    expect(await wrong()).toEqual([]);
    change('DELETE FROM traffic WHERE kind = 0 AND width = 1');
    expect(await wrong()).toEqual(['minute total']);
    await store.traffic.recount();
    while (await store.traffic.count(NOON));
    expect(await wrong()).toEqual([]);
    change('DELETE FROM traffic WHERE kind = 0 AND width = 1');
    expect(await wrong()).toEqual(['minute total', 'minute total']);
  } finally {
    await store.close();
  }
});

/** Removes from a folder what came with users and labels. */
function leaveAsBefore(file: string): void {
  forgetKept(file);
  using db = new Database(file);
  db.run(`DELETE FROM traffic WHERE kind >= ${TRAFFIC_KINDS.indexOf('user')}`);
  for (const column of ['user_id', 'labels']) db.run(`ALTER TABLE traffic_waiting DROP COLUMN ${column}`);
  db.run("DELETE FROM migrations WHERE room = 'traffic' AND version = 2");
}

test('a folder from before users and labels is counted again after it is opened, from the first day whose records are complete', async () => {
  for (const prunedDays of [0, 2]) {
    using folder = tempFolder();
    const earlier = await openSqlite(folder.file, ALL_TABLES);
    const moments = [60, 26, 25, 1].map((hours) => NOON - hours * STEP_MS.hour);
    const ofRobin = { user: 'robin', labels: { use: 'chat' } };
    await earlier.commit(moments.map((at) => earlier.records.log.add(made(at, 'key', ofRobin))));
    while (await earlier.traffic.count(NOON));
    if (prunedDays > 0) await earlier.records.log.prune(idAt(NOON - prunedDays * STEP_MS.day));
    await earlier.close();
    leaveAsBefore(folder.file);
    const store = await openStore(folder.file, { mode: 'serve' });
    const requests = async (kind: TrafficKind) => {
      const sums = await store.traffic.sums({ ...day, kind, series: null });
      return sums.map(({ series, requests }) => [series, requests]);
    };
    try {
      expect((await store.traffic.progress()).pastBefore).not.toBeNull();
      while (await store.traffic.count(NOON));
      expect(await requests('total')).toEqual([['', 4]]);
      const left = prunedDays > 0 ? 3 : 4;
      expect(await requests('user')).toEqual([['robin', left]]);
      expect(await requests('label')).toEqual([[labelSeries('use', 'chat'), left]]);
      expect(await store.traffic.progress()).toMatchObject({ freshFrom: null, pastBefore: null });
    } finally {
      await store.close();
    }
  }
});
