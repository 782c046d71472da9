import { expect, test } from 'bun:test';
import { StoreError } from '../../../src/store/store.ts';
import { entryOf, fundOf, granted, holdOf, nextId, settleOf } from '../suites/books.ts';
import { VirtualClock } from './clock.ts';
import { FRIENDLY, HOSTILE } from './faults.ts';
import { World } from './world.ts';

/** These tests check the simulated world that other tests rely on: it behaves as documented, and identically for the same seed. */
const START = Date.UTC(2026, 10, 20, 12);

const virtual = (faults = FRIENDLY, seed = 1) => {
  const clock = new VirtualClock(START);
  return { clock, world: new World({ clock, faults, seed }) };
};

test('the time of the hostile world advances only when a test advances it, and timers fire in the order of their times', async () => {
  const clock = new VirtualClock(START);
  const rung: string[] = [];
  for (const ms of [30, 10, 20, 10, 0]) clock.after(ms, () => rung.push(`${ms} at ${clock.now() - START}`));
  clock.after(15, () => rung.push('called off'))();
  await clock.pass(20);
  expect(rung).toEqual(['0 at 0', '10 at 10', '10 at 10', '20 at 20']);
  await clock.pass(100);
  expect(rung.at(-1)).toBe('30 at 30');
  expect(clock.now()).toBe(START + 120);
});

test('instances of the hostile world share a limit, because the same books decide for all instances', async () => {
  const { world } = virtual();
  const [one, other] = await Promise.all(
    ['a', 'b'].map(async (name) => (await world.open(name)).openBooks(world.clock.now)),
  );
  const fund = fundOf(100);
  expect(await one!.apply([holdOf(nextId(), [fund], 60)])).toEqual([granted(60)]);
  expect(await other!.apply([holdOf(nextId(), [fund], 60)])).toMatchObject([{ kind: 'refused', why: 'contended' }]);
});

test('a seed of the hostile world always produces the same events at the same times', async () => {
  const trace = async (seed: number): Promise<readonly string[]> => {
    const { world, clock } = virtual({ ...HOSTILE, refused: 0.2, lostAnswer: 0.2 }, seed);
    const seen: string[] = [];
    const base = nextId();
    const fund = fundOf(10_000);
    const books = await Promise.all(['a', 'b'].map(async (name) => (await world.open(name)).openBooks(clock.now)));
    for (let at = 0; at < 40; at++) {
      const id = nextId();
      books[at % 2]!.apply([holdOf(id, [fund], 1)]).then(
        () => seen.push(`${id - base} ${clock.now()}`),
        (error: StoreError) => seen.push(`${id - base} ${clock.now()} ${error.message}`),
      );
      await clock.pass(50);
    }
    await clock.pass(60_000);
    return seen;
  };
  const first = await trace(7);
  expect(first.length).toBe(40);
  expect(first.filter((line) => /broke|reached/.test(line)).length).toBeGreaterThan(5);
  expect(await trace(7)).toEqual(first.slice());
  expect(await trace(8)).not.toEqual(first.slice());
});

test('if the answer to a commit is lost, the commit fails for its caller, but the store carries it out', async () => {
  const { world } = virtual({ ...FRIENDLY, lostAnswer: 1 });
  const books = await (await world.open('a')).openBooks(world.clock.now);
  const fund = fundOf(100);
  await expect(books.apply([holdOf(nextId(), [fund], 60)])).rejects.toBeInstanceOf(StoreError);
  expect(books.standing([fund])).toMatchObject([{ held: 60 }]);
});

test('a refused commit changes nothing in the store', async () => {
  const { world } = virtual({ ...FRIENDLY, refused: 1 });
  const books = await (await world.open('a')).openBooks(world.clock.now);
  const fund = fundOf(100);
  await expect(books.apply([holdOf(nextId(), [fund], 60)])).rejects.toBeInstanceOf(StoreError);
  expect(books.standing([fund])).toMatchObject([{ held: 0 }]);
});

test('while the store is unreachable for an instance, its calls fail and its appends wait; other instances continue', async () => {
  const { world, clock } = virtual();
  const [a, b] = [await world.open('a'), await world.open('b')];
  const books = await a.openBooks(clock.now);
  const fund = fundOf(100);
  const id = nextId();
  await books.apply([holdOf(id, [fund], 60)]);
  a.connection.loseStore(5_000);
  await expect(books.apply([holdOf(nextId(), [fund], 10)])).rejects.toBeInstanceOf(StoreError);
  await expect(a.keys.all()).rejects.toBeInstanceOf(StoreError);
  books.append([settleOf(id, 20)]);
  expect(await books.written()).toBe(false);
  expect(await b.keys.all()).toEqual([]);
  await clock.pass(4_999);
  expect(books.standing([fund])).toMatchObject([{ held: 60 }]);
  await clock.pass(1);
  expect(books.standing([fund])).toMatchObject([{ spent: 20, held: 0 }]);
  expect(await books.written()).toBe(true);
});

test('a paused instance gets no answer until it continues, but the store carries out the calls that the instance sent before', async () => {
  const { world, clock } = virtual();
  const a = await world.open('a');
  const books = await a.openBooks(clock.now);
  const fund = fundOf(100);
  let isAnswered = false;
  const asked = books.apply([holdOf(nextId(), [fund], 60)]).then(() => {
    isAnswered = true;
  });
  a.connection.pause(60_000);
  await clock.pass(59_999);
  expect([isAnswered, books.standing([fund])[0]?.held]).toEqual([false, 60]);
  await clock.pass(1);
  await asked;
});

test('a crashed instance gets no answers, and appends that have not reached the store are lost', async () => {
  const { world, clock } = virtual({ ...FRIENDLY, slowBefore: 1, delayMs: 100 });
  const a = await world.open('a');
  const books = await a.openBooks(clock.now);
  const fund = fundOf(100);
  const id = nextId();
  const asked = books.apply([holdOf(id, [fund], 60)]);
  await clock.pass(100);
  await asked;
  books.append([{ kind: 'post', id, step: 1, at: clock.now(), entry: entryOf(10), most: 60 }]);
  a.connection.crash();
  let isAnswered = false;
  void books.apply([holdOf(nextId(), [fund], 1)]).then(() => {
    isAnswered = true;
  });
  await clock.pass(60_000);
  expect([isAnswered, books.standing([fund])[0]]).toMatchObject([false, { spent: 0, held: 60 }]);
});
