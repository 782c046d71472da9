import { expect, test } from 'bun:test';
import { openKeys } from '../../src/access/keys.ts';
import type { Timers } from '../../src/core/time/timers.ts';
import { keepTrailNote, lastChange } from '../../src/server/trail-note.ts';
import { openStore } from '../../src/store/open.ts';
import { tempFolder } from '../store/support.ts';
import { waitFor } from '../support/answers.ts';

/** Opens a server and a command on one database. `tick` makes the server poll. */
async function open(folder: string) {
  const file = `${folder}/signalbox.db`;
  const store = await openStore(file, { mode: 'serve' });
  const keys = await openKeys({ store, now: Date.now });
  const theirs = await openStore(file, { mode: 'beside', rooms: ['access'] });
  const command = await openKeys({ store: theirs, now: Date.now });
  let tick = () => {};
  const timer = { unref: () => {}, close: () => {} };
  const timers: Timers = {
    after: () => timer,
    every: (_, run) => {
      tick = run;
      return timer;
    },
  };
  let seen = 0;
  const noteSeen = async (through: number) => {
    seen = through;
    return true;
  };
  const isNoted = (change: number) => seen >= change;
  const reasonOf = (key: string) => keys.authenticate(`Bearer ${key}`).reason;
  const close = async () => {
    for (const one of [keys, command]) one.close();
    for (const one of [store, theirs]) await one.close();
  };
  return { store, keys, command, timers, tick: () => tick(), reasonOf, noteSeen, isNoted, close };
}

const GRANT = { name: 'app', scopes: ['chat'] } as const;

test('the server reports no change as applied before it is, even if another change arrives during the report', async () => {
  using folder = tempFolder();
  const { store, keys, command, timers, tick, reasonOf, noteSeen, isNoted, close } = await open(folder.path);
  const stop = await keepTrailNote({ store, keys, timers, noteSeen });
  const first = await command.create(GRANT);
  const noted = await lastChange(store);
  const list = store.trail.list.bind(store.trail);
  let second = first;
  store.trail.list = async (query) => {
    store.trail.list = list;
    const found = await list(query);
    second = await command.create(GRANT);
    return found;
  };
  tick();
  await waitFor(() => isNoted(noted));
  expect(isNoted(noted + 1)).toBe(false);
  expect(reasonOf(first.key)).toBeNull();
  await waitFor(() => {
    tick();
    return isNoted(noted + 1);
  });
  expect(reasonOf(second.key)).toBeNull();
  await stop();
  await close();
});

test('a change that a poll could not apply is reported by a later poll', async () => {
  using folder = tempFolder();
  const { store, keys, command, timers, tick, noteSeen, isNoted, close } = await open(folder.path);
  let fails = 0;
  const putInForce = async () => {
    if (fails-- > 0) throw new Error('no budgets now');
    await keys.putInForce();
  };
  const stop = await keepTrailNote({ store, keys: { putInForce }, timers, noteSeen });
  fails = 1;
  await command.create(GRANT);
  const change = await lastChange(store);
  tick();
  await waitFor(() => fails === 0);
  expect(isNoted(change)).toBe(false);
  await waitFor(() => {
    tick();
    return isNoted(change);
  });
  await stop();
  await close();
});

test('the next poll does not wait for a slow change, so that all other copies stay up to date', async () => {
  using folder = tempFolder();
  const { store, keys, command, timers, tick, noteSeen, isNoted, close } = await open(folder.path);
  const isWritten = Promise.withResolvers<void>();
  const late: (() => void)[] = [];
  const slow = async (through: number) => {
    await isWritten.promise;
    return noteSeen(through);
  };
  const after = (_: number, run: () => void) => {
    late.push(run);
    return { unref: () => {}, close: () => {} };
  };
  isWritten.resolve();
  const stop = await keepTrailNote({ store, keys, timers: { ...timers, after }, noteSeen: slow });
  const hangs = Promise.withResolvers<void>();
  isWritten.promise = hangs.promise;
  await command.create(GRANT);
  const change = await lastChange(store);
  const look = store.news.look.bind(store.news);
  let looks = 0;
  store.news.look = async () => {
    await look();
    looks++;
  };
  tick();
  // The second poll belongs to the report.
  await waitFor(() => looks === 2);
  for (const run of late) run();
  await waitFor(() => {
    tick();
    return looks > 2;
  });
  expect(isNoted(change)).toBe(false);
  hangs.resolve();
  await waitFor(() => isNoted(change));
  await stop();
  await close();
});
