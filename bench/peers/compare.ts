import type { Bench } from '../gateways.ts';
import { type Judge, type Requests, run } from '../load.ts';
import { cpuMicros, type Program, residentMiB, treeOf } from '../process.ts';
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

const cpuOf = ({ pid }: Program): number => treeOf(pid).reduce((sum, one) => sum + cpuMicros(one), 0);
const memoryOf = ({ pid }: Program): number => treeOf(pid).reduce((sum, one) => sum + residentMiB(one), 0);

interface Plan {
  readonly rounds: number;
  /** About how long a round of each contender lasts. */
  readonly roundSeconds: number;
  readonly warmUpMax: number;
  readonly warmUpSeconds: number;
}
const FULL: Plan = { rounds: 7, roundSeconds: 1, warmUpMax: 60_000, warmUpSeconds: 40 };
const QUICK: Plan = { rounds: 3, roundSeconds: 0.4, warmUpMax: 10_000, warmUpSeconds: 8 };
/** With fewer in a round its 99th percentile would be its worst. One at a time takes long where an answer waits for a timer. */
const leastOf = (concurrency: number): number => (concurrency === 1 ? 60 : 200);

/** Signalbox against Portkey on Node and on Bun, over the floor: the table, as Markdown. */
export async function compareLoad(bench: Bench, portkey: Portkey, quick: boolean): Promise<string> {
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
  const rows = [HEAD];
  try {
    for (const one of contenders) await warmUp(one, bench.key, plan);
    for (const workload of MEASURED) {
      for (const concurrency of CONCURRENCY) {
        for (const row of await cell(contenders, workload, concurrency, bench.key, plan)) {
          process.stderr.write(`${row.join('  ')}\n`);
          rows.push(row);
        }
      }
    }
  } finally {
    await Promise.all(programs.map((program) => program.stop()));
  }
  return table(rows);
}

/** Until three blocks in a row cost the same within 3 %, so that what runs often is compiled. */
async function warmUp(contender: Contender, key: string, plan: Plan): Promise<void> {
  const BLOCK = 2_500;
  const { name, program } = contender;
  const workload = MEASURED[0]!;
  const requests = requestsOf(contender, workload, key);
  const until = performance.now() + plan.warmUpSeconds * 1_000;
  const costs: number[] = [];
  let sent = 0;
  while (sent < plan.warmUpMax && performance.now() < until) {
    const before = cpuOf(program);
    const { errors } = await run(program.port, requests, 64, BLOCK, judgeOf(workload));
    if (errors > 0) throw new Error(`${name} gave ${errors} answers of ${BLOCK} that are not whole`);
    sent += BLOCK;
    costs.push((cpuOf(program) - before) / BLOCK);
    const last = costs.slice(-3);
    if (sent >= plan.warmUpMax / 3 && Math.max(...last) < 1.03 * Math.min(...last)) break;
  }
  process.stderr.write(`${name}: ${sent} requests to warm up, ${fixed(costs.at(-1)!, 0)} µs at the end\n`);
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

async function cell(
  contenders: readonly Contender[],
  workload: Workload,
  concurrency: number,
  key: string,
  plan: Plan,
): Promise<string[][]> {
  const entrants = contenders.map((one) => ({ ...one, bytes: requestsOf(one, workload, key) }));
  const results = entrants.map((): Round[] => []);
  const counts: number[] = [];
  const least = leastOf(concurrency);
  for (const { program, bytes } of entrants) {
    // Warms this workload up, and tells how many requests a round of a second has.
    await run(program.port, bytes, concurrency, least, judgeOf(workload));
    const { seconds } = await run(program.port, bytes, concurrency, least, judgeOf(workload));
    counts.push(Math.max(least, Math.round((least / seconds) * plan.roundSeconds)));
  }
  for (let i = 0; i < plan.rounds; i++) {
    for (const [at, { program, bytes }] of entrants.entries()) {
      const requests = counts[at]!;
      const before = cpuOf(program);
      const { latencies, errors } = await run(program.port, bytes, concurrency, requests, judgeOf(workload));
      const cpu = (cpuOf(program) - before) / requests;
      results[at]!.push({ cpu, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), errors });
    }
  }
  const [floor, signalbox] = results;
  const of = (rounds: readonly Round[], figure: keyof Round) => median(rounds.map((one) => one[figure]));
  return entrants.map(({ name, program }, at) => {
    const rounds = results[at]!;
    const ratios = rounds.map(({ cpu }, i) => cpu / signalbox![i]!.cpu);
    const added = (figure: 'p50' | 'p99') => (at === 0 ? '–' : fixed(of(rounds, figure) - of(floor!, figure), 2));
    return [
      workload.name,
      String(concurrency),
      name,
      fixed(of(rounds, 'cpu'), 0),
      name === 'Signalbox'
        ? '1'
        : `${fixed(median(ratios))} (${fixed(Math.min(...ratios))}–${fixed(Math.max(...ratios))})`,
      added('p50'),
      added('p99'),
      fixed(memoryOf(program), 0),
      String(rounds.reduce((sum, one) => sum + one.errors, 0)),
    ];
  });
}
