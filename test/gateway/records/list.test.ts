import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import type { DecisionRecord } from '../../../src/core/decision/record.ts';
import { openStore } from '../../../src/store/open.ts';
import { tempFolder } from '../../store/support.ts';
import { record } from './support.ts';

/** Lists of many records read only the index, and the work for each page is bounded. */

const NOISE = 'UPDATE records SET body = ?';

async function withRecords(count: number, of: (at: number) => DecisionRecord) {
  const folder = tempFolder();
  const store = await openStore(folder.file, { mode: 'serve' });
  const { log } = store.records;
  await store.commit(Array.from({ length: count }, (_, at) => log.add(of(at))));
  const end = async () => {
    await store.close();
    folder[Symbol.dispose]();
  };
  return { store, log, file: folder.file, [Symbol.asyncDispose]: end };
}

test('a list reads no body of an indexed record', async () => {
  await using stand = await withRecords(30, (at) => record(at + 1, 5));
  const { log, file } = stand;
  const before = await log.list({ limit: 20 });
  while (await log.index());
  expect(await log.list({ limit: 20 })).toEqual(before);
  expect(before.entries.every(({ summary }) => summary !== null)).toBe(true);
  using db = new Database(file);
  db.run(NOISE, ['torn']);
  expect(await log.list({ limit: 20 })).toEqual(before);
});

test('a list shows a record whose summary is missing as before', async () => {
  await using stand = await withRecords(30, (at) => record(at + 1, 5));
  const { log, file } = stand;
  while (await log.index());
  const before = await log.list({ limit: 30 });
  using db = new Database(file);
  db.run('UPDATE record_index SET summary = NULL');
  expect(await log.list({ limit: 30 })).toEqual(before);
});

test('a record with a damaged body gets no summary, and does not stop the index', async () => {
  await using stand = await withRecords(3, (at) => record(at + 1, 5));
  const { log, file } = stand;
  using db = new Database(file);
  db.run(`${NOISE} WHERE id = 2`, ['[]']);
  while (await log.index());
  expect((await log.list({ limit: 9 })).entries.map(({ summary }) => summary !== null)).toEqual([true, false, true]);
});

test('a page reads a bounded number of records, and the pages together find all matches', async () => {
  const rare = { ...record(1, 5), keyId: 'busy', user: 'u1', facts: { ...record(1, 5).facts, task: 'math' as const } };
  await using stand = await withRecords(12_000, (at) => ({
    ...(at === 3 ? rare : record(1, 5)),
    ...{ id: at + 1, keyId: at % 2 === 0 && at !== 3 ? 'other' : 'busy', user: at % 3 === 0 ? 'u1' : 'u2' },
  }));
  const { log } = stand;
  while (await log.index());
  for (const by of [{ keyId: 'busy' }, { keyIds: ['busy'] }, { keyIds: ['busy', ...'abcdefghijklmnopq'] }]) {
    const query = { ...by, user: 'u1', task: 'math', limit: 5, looksMax: 1_000 };
    const first = await log.list(query);
    expect(first.entries).toEqual([]);
    expect(first.next).toBeGreaterThan(1);
    let pages = 1;
    const found: number[] = [];
    for (let { next } = first; next !== null; pages++) {
      const page = await log.list({ ...query, after: next });
      found.push(...page.entries.map(({ id }) => id));
      next = page.next;
    }
    expect(found).toEqual([4]);
    expect(pages).toBeGreaterThan(3);
    expect((await log.list({ ...query, looksMax: 100_000 })).entries.map(({ id }) => id)).toEqual([4]);
  }
});
