import { expect, test } from 'bun:test';
import { idAt } from '../../src/core/id.ts';
import type { DecisionRecord } from '../../src/records/record.ts';
import { openRecords, recordsMigrations, recordWrite } from '../../src/records/records.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { SqlValue } from '../../src/store/store.ts';
import { tempFolder } from '../store/support.ts';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 20);

function record(id: number, time: number, over: Partial<DecisionRecord> = {}): DecisionRecord {
  return {
    id,
    time,
    keyId: 'key',
    kind: 'chat',
    revision: 'r1',
    frame: 7,
    seed: '00000000deadbeef',
    facts: {
      model: 'auto',
      pinned: false,
      task: 'coding',
      mix: [],
      naturalLanguage: 'en',
      languagesSeen: ['python'],
      inputTokens: 12,
      inputTokensMax: 40,
      inputTokensCounted: null,
      images: 0,
      audioBytes: 0,
      unboundedMedia: 0,
      outputTokens: null,
      outputTokensAsked: null,
      outputTokensMax: 100,
      choices: 1,
      cached: [{ model: 'm', tokens: 7 }],
      needs: 0,
      languages: ['typescript'],
      weights: { cost: 0.1 + 0.2, quality: 1 },
      ceilings: { costCredits: null, latencyMs: null },
      budget: null,
      funds: { free: 12 },
      rules: { constraints: [2], preferences: [] },
      allowedModels: null,
    },
    quality: new Float64Array([0.1 + 0.2, Number.NaN, 5e-324]),
    reason: 'auto:balanced',
    choice: 'model-a',
    fallbacks: ['model-b'],
    lastResorts: [],
    outcome: null,
    ...over,
  };
}

/** With its figures as a list: typed arrays with NaN are never equal here. */
function plain(record: DecisionRecord | null) {
  return record && { ...record, quality: [...record.quality] };
}

async function open(file: string, now = () => NOW) {
  const store = await openSqlite(file, [recordsMigrations]);
  return { store, records: openRecords({ store, now }) };
}

test('a record comes back bit for bit', async () => {
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
        firstPartMs: 3,
        failure: null,
        endpoint: 1,
        requestId: 'req_1',
        finishReasons: ['stop'],
      },
    ],
    usage: { inputTokens: 1, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 2, reasoningTokens: 0 },
    estimated: false,
    charged: 12,
    saved: -3,
    firstPartMs: 4,
    totalMs: 14,
  } as const;
  const chat = record(1, 5, { outcome, lastResorts: [{ model: 'model-c', endpoints: [1, 0] }] });
  await store.commit([...recordWrite(chat), ...recordWrite(record(2, 6, { kind: 'route' }))]);
  expect(plain(await records.find(1))).toEqual(plain(chat));
  expect(plain(await records.find(2))).toEqual(plain(record(2, 6, { kind: 'route' })));
  expect(await records.find(3)).toBeNull();
  await store.close();
});

test('figures are copied: a scratch array may be used again at once', async () => {
  using folder = tempFolder();
  const { store, records } = await open(folder.file);
  const quality = new Float64Array([1, 2, 3, 4]).subarray(1, 3);
  store.append(recordWrite(record(1, 5, { quality })));
  quality.fill(0);
  await store.flush();
  expect((await records.find(1))?.quality).toEqual(new Float64Array([2, 3]));
  await store.close();
});

test('pruning removes what is older and nothing else, however much it is', async () => {
  using folder = tempFolder();
  const { store, records } = await open(folder.file);
  const kept = idAt(NOW - 30 * DAY);
  const old = Array.from({ length: 2_500 }, (_, i) => recordWrite(record(kept - 1 - i, 0)));
  await store.commit([...old.flat(), ...recordWrite(record(kept, 0))]);
  expect(await records.prune(30 * DAY)).toBe(2_500);
  expect(await records.prune(30 * DAY)).toBe(0);
  expect(await records.find(kept - 1)).toBeNull();
  expect(await records.find(kept)).not.toBeNull();
  await store.close();
});

test('a revision is kept as it was first saved', async () => {
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

test('revisions go with the last decisions that could name them; the one in force never does', async () => {
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
  // Until day 10 the first was in force; decisions of then are gone from day 40 on.
  expect(await kept()).toEqual(['first', 'second', 'third']);
  day = 41;
  expect(await kept()).toEqual(['second', 'third']);
  day = 1_000;
  expect(await kept()).toEqual(['third']);
  await store.close();
});

test('records and revisions of earlier versions are read: what they did not know is nothing, or null', async () => {
  using folder = tempFolder();
  const [first, second] = recordsMigrations.versions;
  const before = await openSqlite(folder.file, [{ room: 'records', versions: [first!, second!] }]);
  const facts = ['auto', false, 'general', 12, 40, 0, 0, null, null, 1, 0, [], null, {}, null, null];
  const outcome = ['completed', null, [['m', 'p', 'u', 1, 1, null]], [1, 0, 0, 2, 0], false, 12, -3, 4, 14];
  const body = JSON.stringify(['00', facts, 'auto:balanced', 'm', [], outcome]);
  const insert = (sql: string, params: SqlValue[]) => before.commit([{ statement: { sql }, params }]);
  await insert('INSERT INTO decisions VALUES (1, 5, ?, ?, ?, ?, ?)', ['key', 'chat', 'r1', new Uint8Array(8), body]);
  await insert('INSERT INTO revisions VALUES (?, ?, ?, ?)', ['r1', '[]', '["m"]', 5]);
  await before.close();

  const { store, records } = await open(folder.file);
  expect(await records.find(1)).toMatchObject({
    frame: null,
    lastResorts: [],
    facts: { mix: [], naturalLanguage: 'und', rules: { constraints: [], preferences: [] }, cached: [], funds: null },
    outcome: { totalMs: 14, attempts: [{ model: 'm', failure: null, endpoint: null }] },
  });
  expect(await records.findRevision('r1')).toMatchObject({ models: ['m'], surroundings: null });
  await store.close();
});
