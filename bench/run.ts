import { cpus } from 'node:os';
import { type Bench, startBench } from './gateways.ts';
import { requestBytes, run, type Shape } from './load.ts';
import { cpuMicros, type Program, residentMiB } from './process.ts';
import { stages } from './stages.ts';
import { fixed, median, quantile, table } from './stats.ts';

/**
 * `npm run bench`: Signalbox in full against a bare pass-through proxy, both in front of the same
 * upstream, in rounds that take turns. Ratios of CPU hold on a shared machine; throughput does not.
 * Then where the CPU goes, stage by stage. `--quick` for a look, `--only JSON` for the shapes whose
 * name has it, streams of 50 chunks among them, `--no-stages` without the second table.
 */
const flag = (name: string): boolean => process.argv.includes(name);
const quick = flag('--quick');
const onlyAt = process.argv.indexOf('--only');
const only = onlyAt < 0 ? '' : (process.argv[onlyAt + 1] ?? '');
const ROUNDS = quick ? 3 : 7;

interface Load extends Shape {
  /** Requests a round: about a second of work, so that the kernel's ticks are fine enough. */
  readonly requests: number;
  /** Requests that each program answers first, 64 at once, so that what runs often is compiled. */
  readonly warmUp: number;
}

const LOADS: readonly Load[] = [
  { name: 'JSON, 200 B', stream: false, promptChars: 200, requests: 12_000, warmUp: 60_000 },
  { name: 'JSON, 2 KB', stream: false, promptChars: 2_000, requests: 12_000, warmUp: 12_000 },
  { name: 'JSON, 100 KB', stream: false, promptChars: 100_000, requests: 3_000, warmUp: 3_000 },
  { name: 'stream, 200 B', stream: true, promptChars: 200, requests: 2_000, warmUp: 6_000 },
  { name: 'stream, 2 KB', stream: true, promptChars: 2_000, requests: 2_000, warmUp: 2_000 },
  { name: 'stream, 100 KB', stream: true, promptChars: 100_000, requests: 1_000, warmUp: 1_000 },
];
/** Content chunks of every stream; see upstream.ts. */
const CHUNKS = 50;
const CONCURRENCY = [1, 16, 64] as const;
const QUICK = 0.4;
/** A request alone takes its time in waits, not in work. */
const ALONE = 0.3;

const scaled = (count: number): number => Math.round(count * (quick ? QUICK : 1));

interface Round {
  readonly cpu: number;
  readonly p50: number;
  readonly p99: number;
  readonly perSecond: number;
}

async function round(program: Program, bytes: Uint8Array, concurrency: number, requests: number): Promise<Round> {
  const before = cpuMicros(program.pid);
  const sample = await run(program.port, bytes, concurrency, requests);
  return {
    cpu: (cpuMicros(program.pid) - before) / requests,
    p50: quantile(sample.latencies, 0.5),
    p99: quantile(sample.latencies, 0.99),
    perSecond: requests / sample.seconds,
  };
}

const HEAD = [
  'request',
  'conc.',
  'floor µs',
  'Signalbox µs',
  'ratio',
  'µs a chunk',
  'added p50 ms',
  'added p99 ms',
  'floor req/s',
  'Signalbox req/s',
  'RSS MiB',
];

async function compare(bench: Bench, load: Load, concurrency: number): Promise<string[]> {
  const programs = [bench.floor, bench.signalbox] as const;
  const requests = scaled(load.requests * (concurrency === 1 ? ALONE : 1));
  const rounds: [Round[], Round[]] = [[], []];
  for (let i = 0; i < ROUNDS; i++) {
    for (const [which, program] of programs.entries()) {
      rounds[which]!.push(await round(program, requestBytes(load, program.port, bench.key), concurrency, requests));
    }
  }
  const of = (which: 0 | 1, figure: keyof Round) => median(rounds[which].map((one) => one[figure]));
  const ratio = median(rounds[1].map((one, i) => one.cpu / rounds[0][i]!.cpu));
  return [
    load.name,
    String(concurrency),
    fixed(of(0, 'cpu')),
    fixed(of(1, 'cpu')),
    fixed(ratio, 2),
    load.stream ? fixed(of(1, 'cpu') / CHUNKS) : '–',
    fixed(of(1, 'p50') - of(0, 'p50'), 2),
    fixed(of(1, 'p99') - of(0, 'p99'), 2),
    fixed(of(0, 'perSecond'), 0),
    fixed(of(1, 'perSecond'), 0),
    fixed(residentMiB(bench.signalbox.pid), 0),
  ];
}

async function main(): Promise<void> {
  const bench = await startBench();
  try {
    const rows = [HEAD];
    for (const load of LOADS.filter(({ name }) => name.includes(only))) {
      const warmUp = scaled(load.warmUp);
      process.stderr.write(`${load.name}: ${warmUp} requests to warm up\n`);
      for (const program of [bench.floor, bench.signalbox]) {
        await run(program.port, requestBytes(load, program.port, bench.key), 64, warmUp);
      }
      for (const concurrency of CONCURRENCY) {
        const row = await compare(bench, load, concurrency);
        process.stderr.write(`${row.join('  ')}\n`);
        rows.push(row);
      }
    }
    const { model } = cpus()[0]!;
    const how = `${cpus().length} cores (${model}), Bun ${Bun.version}, ${ROUNDS} interleaved rounds, medians.`;
    process.stdout.write(`${how}\n\n${table(rows)}\n`);
    if (!flag('--no-stages')) process.stdout.write(`\n${table(await stages(bench, quick))}\n`);
  } finally {
    await bench.stop();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
});
