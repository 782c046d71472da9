import type { Bench } from '../gateways.ts';
import { type Judge, type Requests, run } from '../load.ts';
import { cpuMeter, type Program, residentMiB, treeOf } from '../process.ts';
import { fixed, median, quantile, table } from '../stats.ts';
import { bytesOf, httpBytes, WORKLOADS, type Workload } from '../workload.ts';
import { type Portkey, portkeyHeaders } from './portkey.ts';

interface Contender {
  readonly name: string;
  readonly program: Program;
  /** Lines of the head that it needs beyond the usual. */
  readonly lines: readonly string[];
}

const requestsOf = ({ program, lines }: Contender, { fields }: Workload, key: string): Requests =>
  bytesOf(httpBytes(program.port, '/v1/chat/completions', key, { model: 'auto', ...fields }, lines), 'own');

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
const isWholeReply: Judge = (body) => body.includes(`"content":"${TEXT}"`) && body.trimEnd().endsWith('}');
const isWholeStream: Judge = (body) =>
  body.split('"content":"word "').length === CHUNKS + 1 &&
  body.includes('"finish_reason":"stop"') &&
  body.trimEnd().endsWith('data: [DONE]');
const judgeOf = ({ stream }: Workload): Judge => (stream ? isWholeStream : isWholeReply);

/** µs of CPU from now on, of a program and all that it has started. */
function meterOf({ pid }: Program): () => number {
  const meters = treeOf(pid).map(cpuMeter);
  return () => meters.reduce((sum, spent) => sum + spent().all, 0);
}

const memoryOf = ({ pid }: Program): number => treeOf(pid).reduce((sum, one) => sum + residentMiB(one), 0);

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

/** One contender in one cell, round by round. */
interface Showing {
  readonly name: string;
  readonly rounds: readonly Round[];
  readonly memory: number;
}

/** One workload at so many requests in flight: the floor, Signalbox, and the others. */
interface Cell {
  readonly workload: Workload;
  readonly concurrency: number;
  readonly showings: readonly Showing[];
}

/** Signalbox against Portkey on Node and on Bun, over the floor: Markdown of every figure, and of the ratios alone. */
export async function compareLoad(
  bench: Bench,
  portkey: Portkey,
  quick: boolean,
): Promise<{ readonly full: string; readonly summary: string }> {
  const plan = quick ? QUICK : FULL;
  const programs = await Promise.all([portkey.start('node'), portkey.start('bun')]);
  const headers = portkeyHeaders(`http://127.0.0.1:${bench.upstream.port}/v1`);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const contenders: readonly Contender[] = [
    { name: 'floor', program: bench.floor, lines: [] },
    { name: 'Signalbox', program: bench.signalbox, lines: [] },
    { name: 'Portkey, Node', program: programs[0], lines },
    { name: 'Portkey, Bun', program: programs[1], lines },
  ];
  const cells: Cell[] = [];
  try {
    for (const [nth, workload] of MEASURED.entries()) {
      const length = nth === 0 ? plan.warmUp : plan.laterWarmUp;
      for (const one of contenders) await warmUp(one, workload, bench.key, length);
      for (const concurrency of CONCURRENCY) {
        const cell = await measure(contenders, workload, concurrency, bench.key, plan);
        for (const row of rowsOf(cell)) process.stderr.write(`${row.join('  ')}\n`);
        cells.push(cell);
      }
    }
  } finally {
    await Promise.all(programs.map((program) => program.stop()));
  }
  const busiest = cells.filter(({ concurrency }) => concurrency === CONCURRENCY.at(-1));
  return { full: table([HEAD, ...cells.flatMap(rowsOf)]), summary: table([SUMMARY_HEAD, ...busiest.map(summaryRow)]) };
}

/** Until three blocks in a row cost the same within 3 %, so that what runs often is compiled. */
async function warmUp(contender: Contender, workload: Workload, key: string, { most, seconds }: WarmUp): Promise<void> {
  const block = Math.ceil(most / 24);
  const { name, program } = contender;
  const requests = requestsOf(contender, workload, key);
  const until = performance.now() + seconds * 1_000;
  const costs: number[] = [];
  let sent = 0;
  while (sent < most && performance.now() < until) {
    const spent = meterOf(program);
    const { errors } = await run(program.port, requests, 64, block, judgeOf(workload));
    if (errors > 0) throw new Error(`${name} gave ${errors} answers of ${block} that are not whole`);
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
  'CPU µs',
  '÷ Signalbox (min–max)',
  'added p50 ms',
  'added p99 ms',
  'RSS MiB',
  'errors',
];

async function measure(
  contenders: readonly Contender[],
  workload: Workload,
  concurrency: number,
  key: string,
  plan: Plan,
): Promise<Cell> {
  const entrants = contenders.map((one) => ({ ...one, requestsOf: requestsOf(one, workload, key) }));
  const results = entrants.map((): Round[] => []);
  const counts: number[] = [];
  const least = leastOf(concurrency);
  for (const { program, requestsOf } of entrants) {
    // Warms this workload up, and tells how many requests a round of a second has.
    await run(program.port, requestsOf, concurrency, least, judgeOf(workload));
    const { seconds } = await run(program.port, requestsOf, concurrency, least, judgeOf(workload));
    counts.push(Math.max(least, Math.round((least / seconds) * plan.roundSeconds)));
  }
  for (let i = 0; i < plan.rounds; i++) {
    for (const [at, { program, requestsOf }] of entrants.entries()) {
      const requests = counts[at]!;
      const spent = meterOf(program);
      const { latencies, errors } = await run(program.port, requestsOf, concurrency, requests, judgeOf(workload));
      const cpu = spent() / requests;
      results[at]!.push({ cpu, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), errors });
    }
  }
  const showings = entrants.map(({ name, program }, at) => ({ name, rounds: results[at]!, memory: memoryOf(program) }));
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
      fixed(of(one, 'cpu'), 0),
      one.name === 'Signalbox'
        ? '1'
        : `${fixed(median(ratios))} (${fixed(Math.min(...ratios))}–${fixed(Math.max(...ratios))})`,
      added('p50'),
      added('p99'),
      fixed(one.memory, 0),
      String(one.rounds.reduce((sum, { errors }) => sum + errors, 0)),
    ];
  });
}

const SUMMARY_HEAD = ['CPU against Signalbox', 'in flight', 'Portkey on Node', 'Portkey on Bun'];

const summaryRow = (cell: Cell): string[] => [
  cell.workload.name,
  String(cell.concurrency),
  ...cell.showings.slice(2).map((one) => fixed(median(ratiosOf(one, cell)))),
];
