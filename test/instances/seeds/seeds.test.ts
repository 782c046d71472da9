import { afterAll, beforeAll, expect, test } from 'bun:test';
import { effort, isDeep, randomFrom } from '../../deep/effort.ts';
import { type SharedPolicy, sharedPolicy } from './member.ts';
import { Play } from './play.ts';

/** Three instances on a store with random faults, and the laws that must hold. */
const OPERATIONS = isDeep ? 5_000 : 1_000;
const { runs, seed, proved } = effort('state', 1, 200);

let policy: SharedPolicy;
beforeAll(async () => {
  policy = await sharedPolicy();
});
afterAll(() => policy[Symbol.dispose]());

test(
  'with three instances, no fund exceeds its limit, each hold ends once, reported prices are booked, a request name runs once, and no ID repeats',
  async () => {
    const random = randomFrom(seed);
    for (let at = 0; at < runs; at++) {
      const one = at === 0 ? seed : Math.floor(random() * 1_000_000);
      const play = new Play(policy, one);
      const broken = await play.run(OPERATIONS);
      expect({ seed: one, broken }).toEqual({ seed: one, broken: [] });
    }
    proved(`${OPERATIONS} operations of three instances with each seed`);
  },
  60_000 + runs * 30_000,
);
