import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newKey, startSignalbox, startUpstream, temporaryFolder } from './gateways.ts';
import { type Entrant, type LadderRound, roundOf, WARM_UP } from './ladder.ts';
import { benchPolicy, fullPolicy } from './policy.ts';
import { fixed, median, table } from './stats.ts';
import { bytesOf, httpBytes, JSON_200, WORKLOADS } from './workload.ts';

/** The rungs of the ladder (see `bench/ladder.ts`) whose cost changes when the request path changes. */
const COMPARED = ['route', 'pinned', 'auto', 'full'] as const;
type Compared = (typeof COMPARED)[number];

interface Checkout {
  readonly entrants: Readonly<Record<Compared, Entrant>>;
  stop(): Promise<void>;
}

/** Starts the servers of one checkout: one with the usual policy, one with the full policy. */
async function serve(root: string, address: string, key: string): Promise<Checkout> {
  const start = (policy: string) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'policy.yaml'), policy);
    return startSignalbox(['--data', join(folder, 'data'), '--policies', folder], key, {}, root);
  };
  const [usual, full] = await Promise.all([start(benchPolicy(address)), start(fullPolicy(address))]);
  const { fields } = WORKLOADS.find(({ name }) => name === JSON_200)!;
  const entrant = (rung: Compared): Entrant => {
    const program = rung === 'full' ? full : usual;
    const body = { model: rung === 'pinned' ? 'bench-model-3' : 'auto', ...fields };
    const path = rung === 'route' ? '/v1/route' : '/v1/chat/completions';
    return { rung, program, requestsOf: bytesOf(httpBytes(program.port, path, key, body), 'own') };
  };
  return {
    entrants: { route: entrant('route'), pinned: entrant('pinned'), auto: entrant('auto'), full: entrant('full') },
    async stop() {
      await Promise.all([usual.stop(), full.stop()]);
    },
  };
}

export interface BesidePlan {
  readonly rounds: number;
  /** The number of requests per round with 64 in flight. With one request in flight, a round has 0.4 times as many requests. */
  readonly requests: number;
}

/**
 * Compares the cost of a request in this checkout and in another checkout. The servers of both checkouts take turns in one run. The result
 * has the medians of CPU time in µs per request, the median over all rounds of the ratio of our figures to the figures of the other
 * checkout, and the same ratio for the p50.
 * @param other the root of the other checkout, with its packages installed
 */
export async function beside(other: string, { rounds, requests }: BesidePlan): Promise<string> {
  const upstream = await startUpstream();
  const address = `http://127.0.0.1:${upstream.port}/v1`;
  const key = newKey();
  const theirs = await serve(other, address, key);
  const ours = await serve(join(import.meta.dir, '..'), address, key);
  const rows = [['rung, in flight', 'theirs, µs', 'ours, µs', 'CPU', 'p50', 'p99']];
  try {
    for (const rung of COMPARED) {
      const pair = [theirs.entrants[rung], ours.entrants[rung]];
      for (const entrant of pair) await roundOf(entrant, 64, WARM_UP);
      for (const inFlight of [64, 1]) rows.push(await rowOf(pair, inFlight, rounds, requests));
    }
  } finally {
    await Promise.all([theirs.stop(), ours.stop(), upstream.stop()]);
  }
  return table(rows);
}

async function rowOf(pair: readonly Entrant[], inFlight: number, rounds: number, requests: number): Promise<string[]> {
  const figures: LadderRound[][] = [[], []];
  for (let round = 0; round < rounds; round++) {
    // The two checkouts take turns at being first in a round.
    const order = round % 2 === 0 ? [0, 1] : [1, 0];
    for (const at of order) {
      figures[at]!.push(await roundOf(pair[at]!, inFlight, inFlight === 1 ? requests * 0.4 : requests));
    }
  }
  const [before, now] = figures as [LadderRound[], LadderRound[]];
  const ratio = (of: (round: LadderRound) => number) =>
    fixed(median(now.map((round, at) => of(round) / of(before[at]!))), 3);
  const cpu = (side: LadderRound[]) => fixed(median(side.map((round) => round.cpu.all)), 0);
  const ratios = [ratio(({ cpu }) => cpu.all), ratio(({ p50 }) => p50), ratio(({ p99 }) => p99)];
  return [`${pair[0]!.rung}, ${inFlight}`, cpu(before), cpu(now), ...ratios];
}
