import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Checkout } from './checkouts.ts';
import { newKey, startSignalbox, startUpstream, temporaryFolder } from './gateways.ts';
import { type Entrant, inTurns, type LadderRound, requestsTo, roundOf, WARM_UP } from './ladder.ts';
import { benchPolicy, fullPolicy } from './policy.ts';
import { fixed, median, table } from './stats.ts';
import { JSON_200, WORKLOADS, type Workload } from './workload.ts';

/** The rungs of the ladder (see `bench/ladder.ts`) whose cost changes when the request path changes. */
const RUNGS = ['route', 'pinned', 'auto', 'full'] as const;
type ComparedRung = (typeof RUNGS)[number];

interface Servers {
  readonly checkout: Checkout;
  entrant(rung: ComparedRung, workload: Workload): Entrant;
  stop(): Promise<void>;
}

/** Starts the servers of one checkout: one with the usual policy, one with the full policy. */
async function serve(checkout: Checkout, address: string, key: string): Promise<Servers> {
  const start = (policy: string) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'policy.yaml'), policy);
    return startSignalbox(['--data', join(folder, 'data'), '--policies', folder], key, {}, checkout.root);
  };
  const [usual, full] = await Promise.all([start(benchPolicy(address)), start(fullPolicy(address))]);
  return {
    checkout,
    entrant(rung, workload) {
      const program = rung === 'full' ? full : usual;
      return { rung, program, requestsOf: requestsTo(program, rung, key, workload, 'own') };
    },
    async stop() {
      await Promise.all([usual.stop(), full.stop()]);
    },
  };
}

export interface ComparePlan {
  readonly rounds: number;
  /** The number of requests to each warmed server before each further workload. */
  readonly laterWarmUp: number;
  /** Only workloads whose names contain this text. */
  readonly only: string;
}

/** Returns the numbers of requests in flight that a workload is measured with. */
function inFlightOf({ name, sessionBytes }: Workload): readonly number[] {
  if (name === JSON_200) return [64, 16, 1];
  return [sessionBytes === undefined ? 64 : 16];
}

/** Returns the rungs that a workload is measured with. */
function rungsOf({ name }: Workload): readonly ComparedRung[] {
  return name === JSON_200 ? RUNGS : ['pinned', 'auto'];
}

/**
 * Compares the CPU of a request in several checkouts, the last of which is this one. Their servers take turns in one run. The result has the
 * medians of CPU time in µs per request, the median over all rounds of the ratio of our figures to those of each other checkout, and the
 * same ratio for the p50.
 */
export async function compare(checkouts: readonly Checkout[], plan: ComparePlan): Promise<string> {
  const upstream = await startUpstream();
  const address = `http://127.0.0.1:${upstream.port}/v1`;
  const key = newKey();
  const servers: Servers[] = [];
  const others = checkouts.slice(0, -1);
  const head = [
    ...['request', 'rung', 'in flight', ...checkouts.map(({ name }) => `${name}, µs`)],
    ...others.flatMap(({ name }) => [`CPU ÷ ${name}`, `p50 ÷ ${name}`]),
  ];
  const rows = [head];
  try {
    for (const checkout of checkouts) servers.push(await serve(checkout, address, key));
    const warmed = new Set<ComparedRung>();
    for (const workload of WORKLOADS.filter(({ name }) => name.includes(plan.only))) {
      for (const rung of rungsOf(workload)) {
        const entrants = servers.map((one) => one.entrant(rung, workload));
        for (const entrant of entrants) await roundOf(entrant, 64, warmed.has(rung) ? plan.laterWarmUp : WARM_UP);
        warmed.add(rung);
        for (const inFlight of inFlightOf(workload)) {
          const row = [workload.name, rung, String(inFlight)];
          const figures = await inTurns(entrants, workload, inFlight, plan.rounds);
          rows.push([...row, ...figuresOf(figures)]);
          process.stderr.write(`${rows.at(-1)!.join('  ')}\n`);
        }
      }
    }
  } finally {
    await Promise.all([...servers.map((one) => one.stop()), upstream.stop()]);
  }
  return table(rows);
}

/** @param rounds of each checkout, the last of which is this one */
function figuresOf(rounds: readonly (readonly LadderRound[])[]): string[] {
  const ours = rounds.at(-1)!;
  const ratio = (theirs: readonly LadderRound[], of: (round: LadderRound) => number) =>
    fixed(median(ours.map((round, at) => of(round) / of(theirs[at]!))), 2);
  return [
    ...rounds.map((side) => fixed(median(side.map((round) => round.cpu.all)), 0)),
    ...rounds.slice(0, -1).flatMap((theirs) => [ratio(theirs, ({ cpu }) => cpu.all), ratio(theirs, ({ p50 }) => p50)]),
  ];
}
