import { expect, test } from 'bun:test';
import { randomFrom, seedOf } from '../deep/effort.ts';
import { startChain } from './kills.ts';
import { POINTS } from './points.ts';

/** Printed, so that a failure can be had again: `SIGNALBOX_SEED=… bun test test/crash/kill.test.ts`. */
const seed = seedOf('kill -9');
console.log(`kill -9: seed ${seed}`);

// One point, by the seed; `npm run test:deep -- crash` kills at each of them many times.
for (const [at, point] of POINTS.entries()) {
  if (at !== seed % POINTS.length) continue;
  const random = randomFrom(seed + at);
  const rule = random() < 0.5 ? 'charge' : 'release';
  test(`kill -9 at ${point.name}: the ledger has what clients were told, and orphans are closed once (${rule})`, async () => {
    const chain = startChain(random);
    try {
      // Whether a client has seen content before the process dies is a matter of luck on a busy machine.
      for (let cut = 0, tries = 0; tries === 0 || (point.shows && cut === 0); tries++) {
        const kill = await chain.kill(point, rule);
        expect(kill.problems).toEqual([]);
        expect(tries).toBeLessThan(5);
        cut = kill.cut;
      }
    } finally {
      await chain.stop();
    }
  });
}
