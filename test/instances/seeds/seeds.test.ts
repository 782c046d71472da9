import { afterAll, beforeAll, expect, test } from 'bun:test';
import { effort, isDeep, randomFrom } from '../../deep/effort.ts';
import { type SharedPolicy, sharedPolicy } from './member.ts';
import { Play } from './play.ts';

/** Three instances on the hostile store, and what must hold whatever happens there. */
const OPERATIONS = isDeep ? 5_000 : 2_000;
const { runs, seed, proved } = effort('state', 1, 200);

let policy: SharedPolicy;
beforeAll(async () => {
  policy = await sharedPolicy();
});
afterAll(() => policy[Symbol.dispose]());

test(
  'three instances: no fund above its limit, each hold ended once, told is booked, one run a name, no ID twice',
  async () => {
    const random = randomFrom(seed);
    for (let at = 0; at < runs; at++) {
      const one = at === 0 ? seed : Math.floor(random() * 1_000_000);
      const play = new Play(policy, one);
      const broken = await play.run(OPERATIONS);
      expect({ seed: one, broken }).toEqual({ seed: one, broken: [] });
    }
    proved(`${OPERATIONS} operations of three instances a seed`);
  },
  60_000 + runs * 30_000,
);
