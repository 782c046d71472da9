import { expect, test } from 'bun:test';
import { randomFrom, seedOf } from '../deep/effort.ts';
import { startChain } from './kills.ts';
import { POINTS } from './points.ts';

/** The seed is printed, so that a failure can be repeated: `SIGNALBOX_SEED=… bun test test/crash/kill.test.ts`. */
const seed = seedOf('kill -9');
console.log(`kill -9: seed ${seed}`);

// The seed selects a point at which the server is killed. `npm run test:deep -- crash` kills the server at each point many times.
for (const [at, point] of POINTS.entries()) {
  if (at !== seed % POINTS.length) continue;
  const random = randomFrom(seed + at);
  const rule = random() < 0.5 ? 'charge' : 'release';
  test(`after kill -9 at ${point.name}, the ledger has the prices that clients received, and orphaned holds are closed once (${rule})`, async () => {
    const chain = startChain(random);
    try {
      // Try again: on a busy machine, the process may die before any client has seen content.
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
