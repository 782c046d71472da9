import { expect, test } from 'bun:test';
import { storeFamilies } from '../../src/store/metrics.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { StoreError } from '../../src/store/store.ts';
import { figuresOf } from '../support/families.ts';
import { badNote, note, notes, tempFolder } from './support.ts';

/** Opens a database. Also returns the current figures that `/metrics` would show for it. */
async function opened(file: string) {
  const store = await openSqlite(file, [notes]);
  const families = storeFamilies(store.activity);
  const figures = () => figuresOf(families);
  return { store, figures, errors: () => figures().signalbox_store_errors_total };
}

/** Requires that work is rejected with the store's own error. */
const rejected = (work: Promise<unknown>): Promise<void> =>
  work.then(
    () => expect.unreachable(),
    (error) => void expect(error).toBeInstanceOf(StoreError),
  );

test('the store counts each transaction with its duration, and each waiting write until a transaction takes it', async () => {
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

test('a refused write or read counts as an error, but not as a failure of the disk', async () => {
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

test('the metrics count a full disk as failing until the disk accepts writes again, and appends wait', async () => {
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

test('a write that the store refuses because too many writes wait counts as an error; a write to a closed store does not', async () => {
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
