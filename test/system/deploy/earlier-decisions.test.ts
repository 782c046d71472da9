import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { modelOf, statusOf, summaryOf } from '../../../src/core/decision/record.ts';
import { openStore } from '../../../src/store/open.ts';
import { copyFixture } from '../../fixtures/folder.ts';

test('the list of decisions indexes the records of 0.1 in batches that survive restarts, and filters find the records', async () => {
  const { data, file } = copyFixture();
  let store = await openStore(file, { mode: 'serve' });
  const before = await store.records.log.list({ limit: 500 });
  expect(before).toEqual({ entries: [], next: null });
  // Before the index is complete, every record can still be found by its ID.
  using old = new Database(file, { readonly: true });
  const last = old.query<{ id: number }, []>('SELECT max(id) AS id FROM decisions').get()!;
  expect(await store.records.log.find(last.id)).not.toBeNull();
  while (await store.records.log.index()) {
    await store.close();
    store = await openStore(file, { mode: 'serve' });
  }
  const { log } = store.records;
  const { entries: all } = await log.list({ limit: 500 });
  using db = new Database(file, { readonly: true });
  expect(db.query('SELECT count(*) AS n FROM decisions').get()).toEqual({ n: all.length });
  for (const { id, summary, ...entry } of all) {
    const record = await log.find(id);
    expect(summary).toEqual(summaryOf(record!));
    const { keyId, facts, labels, stream } = record!;
    const said = { keyId, model: modelOf(record!), task: facts.task, status: statusOf(record!), operation: 'chat' };
    expect<unknown>(entry).toEqual({ ...said, request: null, team: null, user: null, session: null });
    expect([labels, stream]).toEqual([null, null]);
    const { model, task, status } = entry;
    const found = await log.list({ keyId, model, task, status, operation: 'chat', limit: 500 });
    expect(found.entries.map((one) => one.id)).toContain(id);
  }
  expect(all.map(({ status }) => status)).toContain('recommended');
  await store.close();
  rmSync(data, { recursive: true });
});
