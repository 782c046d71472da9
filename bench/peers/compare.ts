import { treeMeter, treeMiB } from '../process.ts';
import { fixed, median, quantile, table } from '../stats.ts';
import { JSON_200, STREAM, WORKLOADS, type Workload, workloadOf } from '../workload.ts';
import { type Send, senderOf } from './requests.ts';
import type { RunningGateway } from './running.ts';

/** A workload, and the number of requests in flight. */
type Setting = readonly [workload: string, inFlight: number];
const SETTINGS: readonly Setting[] = [
  [JSON_200, 64],
  [JSON_200, 16],
  [JSON_200, 1],
  ['JSON, 100 KB', 16],
  ['agent’s turn, 20 KB', 16],
  ['agent’s turn in a session, 20 KB', 16],
  ['agent’s turn in a session, 100 KB', 16],
  ['agent’s turn in a session, 300 KB', 16],
  [STREAM, 64],
];
const MEASURED = WORKLOADS.filter(({ name }) => SETTINGS.some(([workload]) => workload === name));

interface Plan {
  readonly rounds: number;
  /** About how long a round of each gateway lasts, in seconds. */
  readonly roundSeconds: number;
  /** The warm-up of processes that have just started. */
  readonly warmUp: WarmUp;
  /** The warm-up before each further workload, which runs code of its own. */
  readonly laterWarmUp: WarmUp;
}
interface WarmUp {
  readonly most: number;
  readonly seconds: number;
}
const FULL: Plan = {
  rounds: 5,
  roundSeconds: 0.5,
  warmUp: { most: 24_000, seconds: 12 },
  laterWarmUp: { most: 4_000, seconds: 3 },
};
const QUICK: Plan = {
  rounds: 3,
  roundSeconds: 0.3,
  warmUp: { most: 10_000, seconds: 8 },
  laterWarmUp: { most: 1_500, seconds: 2 },
};
/** Returns the minimum number of requests per round, so that even a slow gateway has enough for quantiles of all rounds. */
const leastOf = (inFlight: number): number => Math.max(60, 2 * inFlight);

/** The results of a gateway in one setting. */
interface Showing {
  /** CPU time in µs per request, for each round. */
  readonly cpu: readonly number[];
  /** The latencies of all rounds in ms, in ascending order. */
  readonly latencies: Float64Array;
  readonly memory: number;
  readonly wrong: number;
}

/** A setting with the results of each gateway, in the order of the gateways. */
interface Cell {
  readonly setting: Setting;
  readonly showings: readonly Showing[];
}

/**
 * Measures gateways that share an upstream, in turns.
 * @param gateways the floor first
 * @returns Markdown: every figure, and a row for each gateway
 */
export async function compareLoad(
  gateways: readonly RunningGateway[],
  quick: boolean,
): Promise<{ readonly full: string; readonly summary: string }> {
  const plan = quick ? QUICK : FULL;
  for (const [nth, workload] of MEASURED.entries()) {
    for (const one of gateways) await warmUp(one, workload, nth === 0 ? plan.warmUp : plan.laterWarmUp);
  }
  process.stderr.write('measuring\n');
  const cells: Cell[] = [];
  for (const setting of SETTINGS) {
    const cell = await measure(gateways, setting, plan);
    for (const row of rowsOf(gateways, cell)) process.stderr.write(`${row.join('  ')}\n`);
    cells.push(cell);
  }
  return {
    full: table([HEAD, ...cells.flatMap((cell) => rowsOf(gateways, cell))]),
    summary: summaryOf(gateways, cells),
  };
}

/** Sends requests until three blocks in a row cost the same within 3 %, so that frequently used code is compiled. */
async function warmUp(gateway: RunningGateway, workload: Workload, { most, seconds }: WarmUp): Promise<void> {
  const { name, pids } = gateway;
  const block = Math.ceil(most / 24);
  const send = senderOf(gateway, workload);
  const until = performance.now() + seconds * 1_000;
  const costs: number[] = [];
  let sent = 0;
  while (sent < most && performance.now() < until) {
    const spent = treeMeter(pids);
    const { errors } = await send(64, block);
    if (errors === block) throw new Error(`${name} answers no request with the upstream's whole answer`);
    sent += block;
    costs.push(spent() / block);
    const last = costs.slice(-3);
    if (sent >= most / 3 && Math.max(...last) < 1.03 * Math.min(...last)) break;
  }
  process.stderr.write(
    `${name}, ${workload.name}: ${sent} requests to warm up, ${fixed(costs.at(-1)!, 0)} µs at the end\n`,
  );
}

async function measure(gateways: readonly RunningGateway[], setting: Setting, plan: Plan): Promise<Cell> {
  const [name, inFlight] = setting;
  const workload = workloadOf(name);
  const least = leastOf(inFlight);
  const entrants: { readonly pids: readonly number[]; readonly send: Send; readonly requests: number }[] = [];
  for (const gateway of gateways) {
    const send = senderOf(gateway, workload);
    const { seconds } = await send(inFlight, least);
    const requests = Math.max(least, Math.round((least / seconds) * plan.roundSeconds));
    entrants.push({ pids: gateway.pids, send, requests });
  }
  const found = entrants.map(() => ({ cpu: [] as number[], latencies: [] as Float64Array[], wrong: 0 }));
  for (let round = 0; round < plan.rounds; round++) {
    for (const [at, { pids, send, requests }] of entrants.entries()) {
      const spent = treeMeter(pids);
      const { latencies, errors } = await send(inFlight, requests);
      const one = found[at]!;
      one.cpu.push(spent() / requests);
      one.latencies.push(latencies);
      one.wrong += errors;
    }
  }
  const showings = found.map(({ cpu, latencies, wrong }, at): Showing => {
    const all = Float64Array.from(latencies.flatMap((some) => [...some])).sort();
    return { cpu, latencies: all, memory: treeMiB(entrants[at]!.pids), wrong };
  });
  return { setting, showings };
}

/** Returns the milliseconds added to the floor. */
const addedMs = (showing: Showing, { showings: [floor] }: Cell, share: number): string =>
  showing === floor ? '–' : fixed(quantile(showing.latencies, share) - quantile(floor!.latencies, share), 2);

const HEAD = [
  'request',
  'in flight',
  'gateway',
  'promises',
  'CPU µs',
  '÷ floor (min–max)',
  'added p50 ms',
  'added p99 ms',
  'memory MiB',
  'wrong answers',
];

function rowsOf(gateways: readonly RunningGateway[], cell: Cell): string[][] {
  return cell.showings.map((one, at) => {
    const ratios = one.cpu.map((cpu, round) => cpu / cell.showings[0]!.cpu[round]!);
    return [
      cell.setting[0],
      String(cell.setting[1]),
      gateways[at]!.name,
      gateways[at]!.promises,
      fixed(median(one.cpu), 0),
      `${fixed(median(ratios))} (${fixed(Math.min(...ratios))}–${fixed(Math.max(...ratios))})`,
      addedMs(one, cell, 0.5),
      addedMs(one, cell, 0.99),
      fixed(one.memory, 0),
      String(one.wrong),
    ];
  });
}

/**
 * Returns a row for each gateway: CPU time in µs with the added p50 in ms for each setting, the maximum memory, and the number of wrong
 * answers.
 */
function summaryOf(gateways: readonly RunningGateway[], cells: readonly Cell[]): string {
  const settings = cells.map(({ setting: [workload, inFlight] }) => `${workload}, ${inFlight}`);
  const rows = gateways.map(({ name, promises }, at) => {
    const showings = cells.map(({ showings }) => showings[at]!);
    const costs = showings.map((one, nth) => `${fixed(median(one.cpu), 0)} (${addedMs(one, cells[nth]!, 0.5)})`);
    const memory = fixed(Math.max(...showings.map((one) => one.memory)), 0);
    return [name, promises, ...costs, memory, String(showings.reduce((sum, { wrong }) => sum + wrong, 0))];
  });
  return table([['gateway', 'promises', ...settings, 'memory MiB', 'wrong answers'], ...rows]);
}
