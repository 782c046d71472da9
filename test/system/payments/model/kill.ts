import { expect, test } from 'bun:test';
import { effort, randomFrom } from '../../../deep/effort.ts';
import { type Kills, POINTS, startKills } from './kills.ts';

/** `npm run test:deep -- payments` kills often at each point. */
const { runs, seed, proved } = effort('payments', 1, 33);

test('kill -9 while payments run: after a restart the chain, the ledger and the clients agree, and nobody pays twice', async () => {
  let answered = 0;
  let unsettled = 0;
  let kills: Kills | null = null;
  try {
    for (let run = 0; run < runs; run++) {
      const point = POINTS[(seed + run) % POINTS.length]!;
      kills = startKills(randomFrom(seed + run));
      const kill = await kills.kill(point);
      await kills.stop();
      expect({ seed: seed + run, point, problems: kill.problems }).toEqual({ seed: seed + run, point, problems: [] });
      answered += kill.answered;
      unsettled += kill.unsettled;
    }
    proved(
      `kill -9 at ${POINTS.length} points of a payment on a true chain, ${runs} kills of ${runs * 6} paid requests: ${answered} answers, ${unsettled} told that nobody knows yet; each paid at most once, every unit on the chain in the ledger, the audit clean`,
    );
  } finally {
    await kills?.stop();
  }
}, 3_600_000);
