import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { idAt, idSpan, timeOfId } from '../../src/core/id.ts';
import type { OpenStore } from '../../src/store/driver.ts';
import { type Instance, nameOf } from '../../src/store/instance.ts';
import { openStore } from '../../src/store/open.ts';
import { tries } from '../deep/effort.ts';
import { refusalOf } from './implementations.ts';
import { reasonOf } from './lease-stand.ts';
import { tempFolder } from './support.ts';

const START = Date.UTC(2026, 10, 20, 12);
const SECOND = idSpan(1_000);

const serve = (file: string, now: () => number): Promise<OpenStore> => openStore(file, { mode: 'serve', now });

const ids = ({ nextId }: Instance, count: number): number[] => Array.from({ length: count }, nextId);

/** Reads the ID mark of a database. */
function markIn(file: string): number {
  using db = new Database(file, { readonly: true });
  return db.query<{ through: number }, []>('SELECT ids_through AS through FROM instances').get()!.through;
}

describe('the instance of a SQLite database', () => {
  test('after a crash, new IDs are above all earlier IDs, even if the clock went back and no ID was stored', async () => {
    using folder = tempFolder();
    const before = await serve(folder.file, () => START);
    const given = ids(before.instance, 500);
    // The process is gone, so nothing is closed.
    for (const back of [0, 600_000, 86_400_000]) {
      const after = await serve(folder.file, () => START - back);
      const [id = 0] = ids(after.instance, 1);
      expect(id).toBeGreaterThan(Math.max(...given));
      expect(id - Math.max(...given)).toBeLessThan(2 * SECOND);
      expect(after.instance.idsAbove).toBeLessThan(id);
      given.push(id);
    }
    expect(new Set(given).size).toBe(503);
  });

  test('a clean stop frees the slot at once, and the next start is not ahead of its clock', async () => {
    using folder = tempFolder();
    let last = 0;
    for (let epoch = 1; epoch <= 20; epoch++) {
      const store = await serve(folder.file, () => START + epoch);
      expect(nameOf(store.instance)).toEqual({ slot: 0, epoch });
      const [id = 0] = ids(store.instance, 3);
      expect([id > last, timeOfId(id)]).toEqual([true, START + epoch]);
      last = id;
      await store.close();
    }
  });

  test('the lease survives a sleep of the machine, and an idle server writes nothing', async () => {
    using folder = tempFolder();
    let time = START;
    const store = await serve(folder.file, () => time);
    ids(store.instance, 1);
    using other = new Database(folder.file, { readonly: true });
    const version = () => other.query<{ data_version: number }, []>('PRAGMA data_version').get()!.data_version;
    const [before, name] = [version(), nameOf(store.instance)];
    time += 3_600_000;
    // More than four times the lease of other stores has passed.
    expect([store.instance.isCurrent, store.instance.fenced, await store.instance.lives(name)]).toEqual([
      true,
      null,
      true,
    ]);
    expect(version()).toBe(before);
    expect(timeOfId(ids(store.instance, 1)[0]!)).toBe(time);
    expect([nameOf(store.instance), version() - before]).toEqual([name, 1]);
    await store.close();
  });

  test('under load, the server writes the ID mark once a second', async () => {
    using folder = tempFolder();
    let time = START;
    const store = await serve(folder.file, () => time);
    const marks = new Set<number>();
    for (let ms = 0; ms < 10_000; ms += 20) {
      time += 20;
      const given = ids(store.instance, 40);
      const mark = markIn(folder.file);
      expect(mark).toBeGreaterThanOrEqual(Math.max(...given));
      marks.add(mark);
    }
    expect(marks.size).toBeLessThanOrEqual(11);
    await store.close();
  });

  test('if a second server opens the same file, the first server’s commits and IDs are refused with an error that says what to do', async () => {
    using folder = tempFolder();
    let time = START;
    const first = await serve(folder.file, () => time);
    ids(first.instance, 1);
    const second = await serve(folder.file, () => time);
    expect(await refusalOf(first.commit([first.blocklist.put(`0x${'a1'.repeat(20)}`, 'note', 0)]))).toBe('fenced');
    time += 5_000;
    expect(await reasonOf(first.instance.nextId)).toBe('fenced');
    expect(first.instance.isCurrent).toBe(false);
    expect(first.instance.fenced).toBe(
      'The database cannot be written: another server has taken over this data folder; stop this one.',
    );
    const names = [nameOf(first.instance), nameOf(second.instance)];
    for (const { instance } of [first, second])
      expect(await Promise.all(names.map((name) => instance.lives(name)))).toEqual([false, true]);
    expect([second.instance.isCurrent, second.instance.fenced]).toEqual([true, null]);
    await first.close().catch(() => {});
    await second.close();
  });

  test('IDs continue while the disk refuses the ID mark, and a command’s lock delays them only once', async () => {
    using folder = tempFolder();
    let time = START;
    const store = await openStore(folder.file, { mode: 'serve', now: () => time, busyTimeoutMs: 20 });
    const given = ids(store.instance, 1);
    using other = new Database(folder.file);
    other.run('BEGIN IMMEDIATE');
    time += 5_000;
    given.push(...ids(store.instance, 1_000));
    other.run('COMMIT');
    expect(new Set(given).size).toBe(1_001);
    await store.close();
    expect(markIn(folder.file)).toBe(Math.max(...given));
  });

  test('a command creates no IDs and ends no server', async () => {
    using folder = tempFolder();
    const store = await serve(folder.file, () => START);
    const command = await openStore(folder.file, { mode: 'beside', rooms: ['access'] });
    expect([command.instance.isCurrent, await reasonOf(command.instance.nextId)]).toEqual([false, 'fenced']);
    await command.close();
    await store.commit([]);
    expect([store.instance.isCurrent, ids(store.instance, 1)]).toEqual([true, [idAt(START)]]);
    await store.close();
  });
});

type Step =
  | { readonly do: 'give'; readonly count: number }
  | { readonly do: 'clock'; readonly byMs: number }
  | { readonly do: 'crash' | 'stop' };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('give' as const), count: fc.integer({ min: 1, max: 40 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('clock' as const),
      byMs: fc.constantFrom(1, 400, 5_000, -5_000, -600_000, 600_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('crash' as const, 'stop' as const) }) },
);

/** Runs servers on the same file, one after another. */
async function live(steps: readonly Step[], spoil: (file: string) => void): Promise<string | null> {
  using folder = tempFolder();
  let time = START;
  let last = 0;
  let store = await serve(folder.file, () => time);
  const left: OpenStore[] = [];
  for (const one of steps) {
    if (one.do === 'clock') time += one.byMs;
    else if (one.do === 'give') {
      for (const id of ids(store.instance, one.count)) {
        if (id <= last) return `${id} comes after ${last}`;
        last = id;
      }
    } else {
      if (one.do === 'stop') await store.close();
      else left.push(store);
      spoil(folder.file);
      store = await serve(folder.file, () => time);
    }
  }
  for (const one of [store, ...left]) await one.close().catch(() => {});
  return null;
}

const lives = fc.array(step, { minLength: 5, maxLength: 25, size: 'max' });
const holds = (spoil: (file: string) => void = () => {}) =>
  fc.asyncProperty(lives, async (steps) => (await live(steps, spoil)) === null);

describe('IDs of a data folder', () => {
  test('IDs only grow, despite crashes, stops and clocks that jump', async () => {
    await fc.assert(holds(), tries('IDs of a data folder grow over crashes and clocks that jump', 8, 500));
  });

  test('the law detects a lost ID mark', async () => {
    const forget = (file: string) => {
      using db = new Database(file);
      db.run('UPDATE instances SET ids_through = 0');
    };
    const found = await fc.check(holds(forget), { numRuns: 40, seed: 1, endOnFailure: true });
    expect(found.failed).toBe(true);
  });
});
