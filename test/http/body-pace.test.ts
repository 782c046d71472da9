import { describe, expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { BodyPace } from '../../src/http/body-pace.ts';

const TURN = 1_048_576;
const LARGE = 65_536;

interface Pace {
  turn(bytes: number): Promise<void> | null;
}

/** Asks for all at once. Returns the bodies that began in each turn of the event loop. */
async function turnsOf(pace: Pace, sizes: readonly number[]): Promise<number[][]> {
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
    fc.integer({ min: LARGE + 1, max: 400_000 }),
    fc.integer({ min: TURN, max: 3 * TURN }),
  ),
  { maxLength: 60 },
);

async function checkPace(pace: Pace, bodies: readonly number[]): Promise<void> {
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
  test('begins them in their order, with less than 1 MiB before the last of a turn; small ones never wait', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, (bodies) => checkPace(new BodyPace(() => 0), bodies)),
      {
        seed: 66,
        numRuns: 200,
      },
    );
  });

  test('a pace that lets all begin at once, or the last first, breaks that', async () => {
    const atOnce: Pace = { turn: () => null };
    const many = Array.from({ length: 20 }, () => 150_000);
    await expect(checkPace(atOnce, many)).rejects.toThrow();
    const line: (() => void)[] = [];
    const begin = () => {
      for (const one of line.splice(0).reverse()) one();
    };
    const lastFirst: Pace = {
      turn: () =>
        new Promise((go) => {
          if (line.push(go) === 1) setTimeout(begin, 1);
        }),
    };
    await expect(checkPace(lastFirst, [150_000, 150_000])).rejects.toThrow();
  });

  test('one body alone never waits, whatever its size', async () => {
    const pace = new BodyPace(() => 0);
    for (const bytes of [LARGE + 1, 10 * TURN]) {
      expect(pace.turn(bytes)).toBeNull();
      await setImmediate();
    }
  });

  test('collects after each 32 MiB while 64 MiB of bodies are in memory, and never otherwise', async () => {
    let collections = 0;
    let held = 63 * TURN;
    const pace = new BodyPace(
      () => held,
      () => collections++,
    );
    await turnsOf(
      pace,
      Array.from({ length: 70 }, () => TURN),
    );
    expect(collections).toBe(0);
    held = 64 * TURN;
    await turnsOf(
      pace,
      Array.from({ length: 65 }, () => TURN),
    );
    await setImmediate();
    expect(collections).toBeGreaterThanOrEqual(2);
    expect(collections).toBeLessThanOrEqual(3);
  });
});
