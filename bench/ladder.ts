import type { Bench } from './gateways.ts';
import { type Requests, run } from './load.ts';
import { fullPolicy } from './policy.ts';
import { cpuMeter, type Program, type ThreadCpu } from './process.ts';
import { quantile } from './stats.ts';
import {
  bytesOf,
  httpBytes,
  JSON_200,
  type Prompts,
  SESSION_BEGIN,
  sessionRequests,
  WORKLOADS,
  type Workload,
} from './workload.ts';

/**
 * The ladder: requests to real servers that include more and more of a request's cost, from `GET /healthz` to a chat with every feature on.
 * The rungs of the ladder are compared with two floors: the bare proxy, and the flat gateway, which keeps the promises about money. All
 * rungs of a workload take turns within one run.
 */
export const RUNGS = ['floor', 'flat', 'healthz', 'key', 'route', 'pinned', 'auto', 'full'] as const;
export type Rung = (typeof RUNGS)[number];

/** The cost of a request at one rung, in one round. */
export interface LadderRound {
  /** CPU time in µs per request. */
  readonly cpu: ThreadCpu;
  readonly p50: number;
  readonly p99: number;
}

/** A workload with a number of requests in flight, and the results of its rungs, round by round. */
export interface LadderCell {
  readonly workload: Workload;
  readonly prompts: Prompts;
  readonly inFlight: number;
  readonly rungs: ReadonlyMap<Rung, readonly LadderRound[]>;
}

/** The cost of the first requests of a new server, in µs per request. */
export interface ColdStart {
  readonly rung: Rung;
  /** The cost of the rung's first `FIRST` requests. */
  readonly first: number;
  /** The cost of the last `FIRST` requests of its warm-up. */
  readonly warm: number;
}

export interface Ladder {
  readonly cells: readonly LadderCell[];
  readonly starts: readonly ColdStart[];
}

export interface LadderPlan {
  readonly rounds: number;
  /** The number of requests to each warmed rung before each further workload, which runs code of its own. */
  readonly laterWarmUp: number;
  /** Whether to measure each workload only with its own prompts and 64 in flight. */
  readonly isQuick: boolean;
  /** Only workloads whose names contain this text. */
  readonly only: string;
}

/** The number of requests to each of these rungs before the first measured request, so that frequently used code is compiled. */
export const WARM_UP = 24_000;
/**
 * The number of requests to a new server that are measured separately. While a new server answers these requests, little of its code is
 * compiled.
 */
export const FIRST = 2_000;
/**
 * `auto` comes before `route`, which runs in the same server, because the first of the two rungs pays for compiling the code that both
 * rungs use.
 */
const WARMED = ['floor', 'flat', 'auto', 'full', 'route'] as const;
const PINNED = 'bench-model-3';
/** With only one request at a time, most of the time is waiting, so a round has fewer requests. */
const ALONE = 0.4;
/** The number of rounds of each cell before the measured rounds. */
const UNCOUNTED = 2;

export interface Entrant {
  readonly rung: Rung;
  readonly program: Program;
  readonly requestsOf: Requests;
}

/** @param tell receives each cell when it is measured. */
export async function climb(bench: Bench, plan: LadderPlan, tell: (cell: LadderCell) => void): Promise<Ladder> {
  const full = await bench.start(fullPolicy(bench.address));
  const cells: LadderCell[] = [];
  const starts: ColdStart[] = [];
  const measured = WORKLOADS.filter(({ name }) => name.includes(plan.only));
  for (const workload of measured) {
    const isFirst = cells.length === 0;
    const entrants = entrantsOf(bench, full, workload, 'own');
    for (const rung of WARMED) {
      const entrant = entrants.find((one) => one.rung === rung);
      if (!entrant) continue;
      if (isFirst && rung !== 'route') starts.push(await startOf(entrant));
      else await roundOf(entrant, 64, isFirst ? WARM_UP : plan.laterWarmUp);
    }
    for (const [prompts, inFlight] of series(workload, plan.isQuick)) {
      const cell = await cellOf(entrantsOf(bench, full, workload, prompts), workload, prompts, inFlight, plan.rounds);
      tell(cell);
      cells.push(cell);
    }
  }
  return { cells, starts };
}

/** Warms up a new server and measures its first requests. */
async function startOf(entrant: Entrant): Promise<ColdStart> {
  const first = await roundOf(entrant, 64, FIRST);
  await roundOf(entrant, 64, WARM_UP - 2 * FIRST);
  const warm = await roundOf(entrant, 64, FIRST);
  return { rung: entrant.rung, first: first.cpu.all, warm: warm.cpu.all };
}

function series(workload: Workload, isQuick: boolean): readonly (readonly [Prompts, number])[] {
  const { name } = workload;
  const smallest = [
    ['own', 64],
    ['same', 64],
    ['own', 1],
  ] as const;
  if (workload.sessionBytes !== undefined) return [['own', 16]];
  if (isQuick) return name === JSON_200 ? smallest : [['own', 64]];
  const usual = [
    ['own', 64],
    ['own', 16],
    ['same', 64],
  ] as const;
  return name === JSON_200 ? [...smallest, ['own', 16], ['same', 16]] : usual;
}

/** Returns the rungs that a workload can use. Rungs without a prompt belong to one workload only. */
function entrantsOf(bench: Bench, full: Program, workload: Workload, prompts: Prompts): Entrant[] {
  const { floor, flat, signalbox, key } = bench;
  const get = (program: Program, path: string) => httpBytes(program.port, path, key, null);
  const entrant = (rung: Rung, program: Program): Entrant => ({
    rung,
    program,
    requestsOf: requestsTo(program, rung, key, workload, prompts),
  });
  const bare: Entrant[] = [
    { rung: 'healthz', program: signalbox, requestsOf: get(signalbox, '/healthz') },
    { rung: 'key', program: signalbox, requestsOf: get(signalbox, '/v1/models') },
  ];
  return [
    entrant('floor', floor),
    entrant('flat', flat),
    ...(workload.name === JSON_200 ? bare : []),
    ...(workload.stream ? [] : [entrant('route', signalbox)]),
    entrant('pinned', signalbox),
    entrant('auto', signalbox),
    entrant('full', full),
  ];
}

/** Returns the requests of a rung that has a prompt. */
export function requestsTo({ port }: Program, rung: Rung, key: string, workload: Workload, prompts: Prompts): Requests {
  const path = rung === 'route' ? '/v1/route' : '/v1/chat/completions';
  const model = rung === 'flat' || rung === 'pinned' ? PINNED : 'auto';
  const post = (body: object) => httpBytes(port, path, key, body);
  return workload.sessionBytes === undefined
    ? bytesOf(post({ model, ...workload.fields }), prompts)
    : sessionRequests(workload, post, model);
}

async function cellOf(
  entrants: readonly Entrant[],
  workload: Workload,
  prompts: Prompts,
  inFlight: number,
  rounds: number,
): Promise<LadderCell> {
  const figures = await inTurns(entrants, workload, inFlight, rounds);
  return { workload, prompts, inFlight, rungs: new Map(entrants.map(({ rung }, at) => [rung, figures[at]!])) };
}

/** Measures servers in turns. Returns the rounds of each. */
export async function inTurns(
  entrants: readonly Entrant[],
  workload: Workload,
  inFlight: number,
  rounds: number,
): Promise<LadderRound[][]> {
  const figures: LadderRound[][] = entrants.map(() => []);
  const requests = Math.round(workload.requests * (inFlight === 1 ? ALONE : 1));
  for (let round = -UNCOUNTED; round < rounds; round++) {
    for (let turn = 0; turn < entrants.length; turn++) {
      // Another server begins each round, so that none always follows the same neighbour.
      const at = (turn + round + UNCOUNTED) % entrants.length;
      if (workload.sessionBytes !== undefined) await roundOf(entrants[at]!, inFlight, SESSION_BEGIN);
      const measured = await roundOf(entrants[at]!, inFlight, requests);
      if (round >= 0) figures[at]!.push(measured);
    }
  }
  return figures;
}

export async function roundOf(
  { program, requestsOf }: Entrant,
  inFlight: number,
  requests: number,
): Promise<LadderRound> {
  const spent = cpuMeter(program.pid);
  const { latencies } = await run(program.port, requestsOf, inFlight, requests);
  const { all, main, http, engine } = spent();
  return {
    cpu: { all: all / requests, main: main / requests, http: http / requests, engine: engine / requests },
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
  };
}
