import { type Judge, type Requests, run } from '../load.ts';
import { cpuMeter, residentMiB, treeOf } from '../process.ts';
import { fixed, median, quantile, table } from '../stats.ts';
import { bytesOf, httpBytes, WORKLOADS, type Workload } from '../workload.ts';
import type { RunningGateway } from './running.ts';

const portOf = ({ url }: RunningGateway): number => Number(new URL(url).port);

function requestsOf(gateway: RunningGateway, { fields }: Workload): Requests {
  const { url, key, model, headers = {} } = gateway;
  const { pathname, search } = new URL(url);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return bytesOf(httpBytes(portOf(gateway), `${pathname}${search}`, key, { model, ...fields }, lines), 'own');
}

interface Round {
  readonly cpu: number;
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
}

/** Each request has its own prompt. */
const MEASURED: readonly Workload[] = WORKLOADS.filter(({ name }) =>
  ['JSON, 200 B', 'JSON, 100 KB', 'agent’s turn, 20 KB', 'stream of 50 chunks'].includes(name),
);
const CONCURRENCY = [1, 16, 64] as const;

/** What the upstream of the benchmark says, whole: see upstream.ts. */
const TEXT = 'word '.repeat(100).trim();
const CHUNKS = 50;
const isWholeReply: Judge = (body) => body.includes(`"${TEXT}"`) && body.trimEnd().endsWith('}');
const isWholeStream: Judge = (body) =>
  body.split('"word "').length === CHUNKS + 1 &&
  /"finish_reason": ?"stop"/.test(body) &&
  body.trimEnd().endsWith('data: [DONE]');
const judgeOf = ({ stream }: Workload): Judge => (stream ? isWholeStream : isWholeReply);

/** Its processes and all that they have started. */
const processesOf = ({ pids }: RunningGateway): number[] => [...new Set(pids.flatMap(treeOf))];

/** µs of CPU from now on, of all processes. */
function meterOf(gateway: RunningGateway): () => number {
  const meters = processesOf(gateway).map(cpuMeter);
  return () => meters.reduce((sum, spent) => sum + spent().all, 0);
}

const memoryOf = (gateway: RunningGateway): number =>
  processesOf(gateway).reduce((sum, one) => sum + residentMiB(one), 0);

interface Plan {
  readonly rounds: number;
  /** About how long a round of each contender lasts. */
  readonly roundSeconds: number;
  /** Of processes that have just started. */
  readonly warmUp: WarmUp;
  /** Before each further workload, which runs code of its own. */
  readonly laterWarmUp: WarmUp;
}
interface WarmUp {
  readonly most: number;
  readonly seconds: number;
}
const FULL: Plan = {
  rounds: 7,
  roundSeconds: 1,
  warmUp: { most: 60_000, seconds: 40 },
  laterWarmUp: { most: 15_000, seconds: 6 },
};
const QUICK: Plan = {
  rounds: 3,
  roundSeconds: 0.4,
  warmUp: { most: 10_000, seconds: 8 },
  laterWarmUp: { most: 1_500, seconds: 2 },
};
/** With fewer in a round its 99th percentile would be its worst. One at a time takes long where an answer waits for a timer. */
const leastOf = (concurrency: number): number => (concurrency === 1 ? 60 : 200);

/** One gateway in one cell, round by round. */
interface Showing {
  readonly name: string;
  readonly promises: RunningGateway['promises'];
  readonly rounds: readonly Round[];
  readonly memory: number;
}

/** One workload at so many requests in flight: the floor, Signalbox, and the others. */
interface Cell {
  readonly workload: Workload;
  readonly concurrency: number;
  readonly showings: readonly Showing[];
}

/**
 * Measures gateways that share an upstream, in turns: Markdown of every figure, and of the ratios to Signalbox alone.
 * @param gateways the floor first, then Signalbox, then the others
 */
export async function compareLoad(
  gateways: readonly RunningGateway[],
  quick: boolean,
): Promise<{ readonly full: string; readonly summary: string }> {
  const plan = quick ? QUICK : FULL;
  const cells: Cell[] = [];
  for (const [nth, workload] of MEASURED.entries()) {
    const length = nth === 0 ? plan.warmUp : plan.laterWarmUp;
    for (const one of gateways) await warmUp(one, workload, length);
    for (const concurrency of CONCURRENCY) {
      const cell = await measure(gateways, workload, concurrency, plan);
      for (const row of rowsOf(cell)) process.stderr.write(`${row.join('  ')}\n`);
      cells.push(cell);
    }
  }
  const busiest = cells.filter(({ concurrency }) => concurrency === CONCURRENCY.at(-1));
  const head = ['CPU against Signalbox', 'in flight', ...gateways.slice(2).map(({ name }) => name)];
  return { full: table([HEAD, ...cells.flatMap(rowsOf)]), summary: table([head, ...busiest.map(summaryRow)]) };
}

/** Until three blocks in a row cost the same within 3 %, so that what runs often is compiled. */
async function warmUp(gateway: RunningGateway, workload: Workload, { most, seconds }: WarmUp): Promise<void> {
  const block = Math.ceil(most / 24);
  const { name } = gateway;
  const requests = requestsOf(gateway, workload);
  const until = performance.now() + seconds * 1_000;
  const costs: number[] = [];
  let sent = 0;
  while (sent < most && performance.now() < until) {
    const spent = meterOf(gateway);
    const { errors } = await run(portOf(gateway), requests, 64, block, judgeOf(workload));
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

const HEAD = [
  'request',
  'conc.',
  'gateway',
  'promises',
  'CPU µs',
  '÷ Signalbox (min–max)',
  'added p50 ms',
  'added p99 ms',
  'RSS MiB',
  'errors',
];

async function measure(
  gateways: readonly RunningGateway[],
  workload: Workload,
  concurrency: number,
  plan: Plan,
): Promise<Cell> {
  const entrants = gateways.map((gateway) => ({ gateway, port: portOf(gateway), next: requestsOf(gateway, workload) }));
  const results = entrants.map((): Round[] => []);
  const counts: number[] = [];
  const least = leastOf(concurrency);
  for (const { port, next } of entrants) {
    // Warms this workload up, and tells how many requests a round of a second has.
    await run(port, next, concurrency, least, judgeOf(workload));
    const { seconds } = await run(port, next, concurrency, least, judgeOf(workload));
    counts.push(Math.max(least, Math.round((least / seconds) * plan.roundSeconds)));
  }
  for (let i = 0; i < plan.rounds; i++) {
    for (const [at, { gateway, port, next }] of entrants.entries()) {
      const requests = counts[at]!;
      const spent = meterOf(gateway);
      const { latencies, errors } = await run(port, next, concurrency, requests, judgeOf(workload));
      const cpu = spent() / requests;
      results[at]!.push({ cpu, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), errors });
    }
  }
  const showings = gateways.map((gateway, at) => {
    const { name, promises } = gateway;
    return { name, promises, rounds: results[at]!, memory: memoryOf(gateway) };
  });
  return { workload, concurrency, showings };
}

const ratiosOf = ({ rounds }: Showing, { showings }: Cell): number[] =>
  rounds.map(({ cpu }, i) => cpu / showings[1]!.rounds[i]!.cpu);

function rowsOf(cell: Cell): string[][] {
  const of = ({ rounds }: Showing, figure: keyof Round) => median(rounds.map((one) => one[figure]));
  const [floor] = cell.showings;
  return cell.showings.map((one) => {
    const ratios = ratiosOf(one, cell);
    const added = (figure: 'p50' | 'p99') => (one === floor ? '–' : fixed(of(one, figure) - of(floor!, figure), 2));
    return [
      cell.workload.name,
      String(cell.concurrency),
      one.name,
      one.promises,
      fixed(of(one, 'cpu'), 0),
      one === cell.showings[1]
        ? '1'
        : `${fixed(median(ratios))} (${fixed(Math.min(...ratios))}–${fixed(Math.max(...ratios))})`,
      added('p50'),
      added('p99'),
      fixed(one.memory, 0),
      String(one.rounds.reduce((sum, { errors }) => sum + errors, 0)),
    ];
  });
}

const summaryRow = (cell: Cell): string[] => [
  cell.workload.name,
  String(cell.concurrency),
  ...cell.showings.slice(2).map((one) => fixed(median(ratiosOf(one, cell)))),
];
