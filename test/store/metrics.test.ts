import { expect, test } from 'bun:test';
import { storeFamilies } from '../../src/store/metrics.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { StoreError } from '../../src/store/store.ts';
import { figuresOf } from '../support/families.ts';
import { badNote, note, notes, tempFolder } from './support.ts';

/** A database, and the figures that a page would have of it now. */
async function opened(file: string) {
  const store = await openSqlite(file, [notes]);
  const families = storeFamilies(store.activity);
  const figures = () => figuresOf(families);
  return { store, figures, errors: () => figures().signalbox_store_errors_total };
}

/** What it is rejected with must be the store's own. */
const rejected = (work: Promise<unknown>): Promise<void> =>
  work.then(
    () => expect.unreachable(),
    (error) => void expect(error).toBeInstanceOf(StoreError),
  );

test('Each transaction is counted with its time, and what waits for one until it is taken', async () => {
  using folder = tempFolder();
  const { store, figures } = await opened(folder.file);
  expect(figures()).toEqual({
    signalbox_store_commit_seconds_count: 0,
    signalbox_store_commit_seconds_sum: 0,
    signalbox_store_writes_waiting: 0,
    signalbox_store_errors_total: 0,
    signalbox_store_failing: 0,
    signalbox_store_connections_failed_total: 0,
  });
  const began = performance.now();
  const commits = [store.commit([note(1)]), store.commit([note(2)])];
  store.append([note(3)]);
  expect(figures()).toMatchObject({ signalbox_store_writes_waiting: 3, signalbox_store_commit_seconds_count: 0 });
  await Promise.all(commits);
  const { signalbox_store_commit_seconds_sum: seconds, ...rest } = figures();
  expect(rest).toMatchObject({ signalbox_store_writes_waiting: 0, signalbox_store_commit_seconds_count: 1 });
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual((performance.now() - began) / 1_000);
  await store.close();
});

test('A write or a read that is refused is an error, and no failure of the disk', async () => {
  using folder = tempFolder();
  const { store, figures, errors } = await opened(folder.file);
  await rejected(store.commit([badNote(1)]));
  expect(errors()).toBe(1);
  store.append([badNote(2)]);
  await store.flush();
  expect(errors()).toBe(2);
  await rejected(store.query({ sql: 'SELECT 1 FROM nothing' }));
  expect(errors()).toBe(3);
  expect(figures().signalbox_store_failing).toBe(0);
  await store.close();
});

test('A disk that is full is failing until it takes writes again, and what it owes waits', async () => {
  using folder = tempFolder();
  const { store, figures, errors } = await opened(folder.file);
  const limit = (pages: number) => store.query({ sql: `PRAGMA max_page_count = ${pages}` });
  await limit(5);
  store.append(Array.from({ length: 500 }, (_, i) => note(i, 'x'.repeat(90))));
  await rejected(store.commit([note(9_999)]));
  expect(figures()).toMatchObject({ signalbox_store_failing: 1, signalbox_store_writes_waiting: 1 });
  expect(errors()).toBe(1);
  await rejected(store.flush());
  expect(errors()).toBe(2);
  expect(figures().signalbox_store_commit_seconds_count).toBe(0);
  await limit(100_000);
  await store.flush();
  expect(figures()).toMatchObject({
    signalbox_store_failing: 0,
    signalbox_store_writes_waiting: 0,
    signalbox_store_commit_seconds_count: 1,
    signalbox_store_errors_total: 2,
  });
  await store.close();
});

test('Of too many writes that wait each is an error that is refused; a closed store is none', async () => {
  using folder = tempFolder();
  const { store, figures, errors } = await opened(folder.file);
  for (let i = 0; i < 10_000; i++) store.append([note(i)]);
  await rejected(store.commit([note(10_000)]));
  expect(figures()).toMatchObject({ signalbox_store_writes_waiting: 10_000, signalbox_store_errors_total: 1 });
  await store.written();
  await store.close();
  await rejected(store.commit([note(10_001)]));
  expect(errors()).toBe(1);
});
