import { describe, expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import type { Timers } from '../../src/core/time/timers.ts';
import { BodyPace, TurnPace } from '../../src/http/kit/body-pace.ts';

const TURN = 4_194_304;
const MIB = 1_048_576;
const LARGE = 65_536;

type Turns = Pick<TurnPace, 'turn'>;

/** Requests a turn for all bodies at once. Returns the bodies that proceeded in each turn of the event loop. */
async function turnsOf(pace: Turns, sizes: readonly number[]): Promise<number[][]> {
  const turns: number[][] = [[]];
  let left = sizes.length;
  const begin = (at: number) => {
    left--;
    turns.at(-1)!.push(at);
  };
  for (const [at, bytes] of sizes.entries()) {
    const waits = pace.turn(bytes);
    if (waits) void waits.then(() => begin(at));
    else begin(at);
  }
  while (left > 0) {
    turns.push([]);
    await setImmediate();
  }
  return turns.filter((turn) => turn.length > 0);
}

const isLarge = (bytes: number): boolean => bytes > LARGE;

const sizes = fc.array(
  fc.oneof(
    fc.constant(0),
    fc.nat(LARGE),
    fc.integer({ min: LARGE + 1, max: 1_600_000 }),
    fc.integer({ min: TURN, max: 2 * TURN }),
  ),
  { maxLength: 60 },
);

async function checkPace(pace: Turns, bodies: readonly number[]): Promise<void> {
  const turns = await turnsOf(pace, bodies);
  const large = turns.map((turn) => turn.filter((at) => isLarge(bodies[at]!)));
  expect(large.flat()).toEqual(bodies.flatMap((bytes, at) => (isLarge(bytes) ? [at] : [])));
  for (const turn of large) {
    const before = turn.slice(0, -1).reduce((sum, at) => sum + bodies[at]!, 0);
    expect(before).toBeLessThan(TURN);
  }
  const small = bodies.flatMap((bytes, at) => (isLarge(bytes) ? [] : [at]));
  expect(
    turns
      .flatMap((turn, n) => (n === 0 ? turn : turn.filter((at) => !isLarge(bodies[at]!))))
      .filter((at) => small.includes(at)),
  ).toEqual(small);
}

describe('the pace of large bodies', () => {
  test('lets bodies proceed in order, with less than 4 MiB before the last body of a turn; small bodies never wait', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, (bodies) => checkPace(new TurnPace(), bodies)),
      {
        seed: 66,
        numRuns: 200,
      },
    );
  });

  test('the test notices a pace that lets all bodies proceed at once, or the last one first', async () => {
    const atOnce: Turns = { turn: () => null };
    const many = Array.from({ length: 40 }, () => 150_000);
    await expect(checkPace(atOnce, many)).rejects.toThrow();
    const line: (() => void)[] = [];
    const begin = () => {
      for (const one of line.splice(0).reverse()) one();
    };
    const lastFirst: Turns = {
      turn: () =>
        new Promise((go) => {
          if (line.push(go) === 1) setTimeout(begin, 1);
        }),
    };
    await expect(checkPace(lastFirst, [150_000, 150_000])).rejects.toThrow();
  });

  test('lets a single body proceed at once, whatever its size', async () => {
    const pace = new TurnPace();
    for (const bytes of [LARGE + 1, 10 * TURN]) {
      expect(pace.turn(bytes)).toBeNull();
      await setImmediate();
    }
  });

  test('collects garbage after each 16 MiB while 64 MiB of bodies are in memory, once more when they are gone, and never otherwise', async () => {
    let [collections, bytes] = [0, 63 * MIB];
    let look: (() => void) | null = null;
    const timers: Timers = {
      after: () => expect.unreachable('it checks again and again'),
      every: (_, run) => {
        look = run;
        return { unref() {}, close: () => (look = null) };
      },
    };
    const held = {
      timers,
      get bytes() {
        return bytes;
      },
    };
    const { work } = new BodyPace(held, () => collections++);
    const many = (number: number) => Array.from({ length: number }, () => MIB);
    await turnsOf(work, many(70));
    expect([collections, look]).toEqual([0, null]);
    bytes = 64 * MIB;
    // With the earlier bodies, the first of these exceeds the limit.
    await turnsOf(work, many(33));
    expect(collections).toBe(3);
    (look as (() => void) | null)?.();
    expect(collections).toBe(3);
    bytes = 0;
    (look as (() => void) | null)?.();
    expect([collections, look]).toEqual([4, null]);
  });
});
