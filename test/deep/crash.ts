import { afterAll, expect, test } from 'bun:test';
import { type Kill, startChain } from '../crash/kills.ts';
import { POINTS } from '../crash/points.ts';
import { effort, randomFrom } from './effort.ts';

/** `npm run test:deep -- crash`: many kills at each point, one after the other on the same data folder. */
const { runs, seed, proved } = effort('crash', 2, 20);

const credits = (kills: readonly Kill[], of: (kill: Kill) => number): string =>
  (kills.reduce((sum, kill) => sum + of(kill), 0) / 1_000_000).toFixed(3);
const count = (kills: readonly Kill[], of: (kill: Kill) => number): number =>
  kills.reduce((sum, kill) => sum + of(kill), 0);

/** Describes the result of kills in a sentence. */
function resultOf(where: string, kills: readonly Kill[]): string {
  const answered = count(kills, (kill) => kill.answered);
  const orphans = count(kills, (kill) => kill.orphans);
  const held = credits(kills, (kill) => kill.held);
  const unknown = credits(kills, (kill) => kill.unknown);
  return `kill -9 at ${where}: of ${count(kills, ({ sent }) => sent)} requests ${answered} answers, each booked as told; ${orphans} orphans, each closed once; they held ${held} Credits, of which the upstreams had billed ${unknown}; no row lost, doubled or beyond a budget`;
}

const all: Kill[] = [];
afterAll(() => proved(resultOf(`each of ${POINTS.length} points`, all)));

for (const [at, point] of POINTS.entries()) {
  test(`${runs} kills at ${point.name}`, async () => {
    const chain = startChain(randomFrom(seed + at));
    const kills: Kill[] = [];
    try {
      for (let run = 0; run < runs; run++) {
        const kill = await chain.kill(point, (seed + at + run) % 2 === 0 ? 'charge' : 'release');
        expect(kill.problems).toEqual([]);
        kills.push(kill);
      }
    } finally {
      await chain.stop();
    }
    if (point.shows) expect(count(kills, ({ cut }) => cut)).toBeGreaterThan(0);
    console.log(resultOf(point.name, kills));
    all.push(...kills);
  });
}
