import { expect, test } from 'bun:test';
import { idAt } from '../../../src/core/id.ts';
import { openRecords } from '../../../src/gateway/records/records.ts';
import { ledgerMigrations } from '../../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../../src/store/sqlite/database.ts';
import { recordsMigrations } from '../../../src/store/sqlite/records/schema.ts';
import { trafficMigrations } from '../../../src/store/sqlite/traffic/schema.ts';
import { tempFolder } from '../../store/support.ts';
import { record } from './support.ts';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 20);

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
        ...({ failure: 'overloaded' } as const),
        ...{ requestId: null, finishReasons: [], status: 503, message: 'no [prompt]' },
      },
    ],
    usage: {
      inputTokens: 1,
      outputTokens: 2,
      reasoningTokens: 0,
      units: { cached_input: 1, 'tool_use/web_search': 2 },
    },
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
  expect(await records.find(1)).toEqual(chat);
  expect(await records.find(2)).toEqual(record(2, 6, { kind: 'route' }));
  const replaced = record(4, 7, { outcome: { ...outcome, usageReplaced: true } });
  await store.commit([store.records.log.add(replaced)]);
  expect(await records.find(4)).toEqual(replaced);
  expect(await records.find(3)).toBeNull();
  await store.close();
});

test('a record is found and listed as soon as it is added, and survives a clean shutdown', async () => {
  using folder = tempFolder();
  const { store, records } = await open(folder.file);
  records.add(record(1, 5));
  expect(await records.find(1)).toEqual(record(1, 5));
  records.add(record(2, 6));
  expect((await records.list({ limit: 10 })).entries.map(({ id }) => id)).toEqual([2, 1]);
  records.add(record(3, 7));
  await store.close();
  const again = await open(folder.file);
  expect(await again.records.find(3)).toEqual(record(3, 7));
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
    await records.saveRevision({ revision, source: revision, models: [], surroundings: { unset: [], plugins: [] } });
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
