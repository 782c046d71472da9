import { cpus } from 'node:os';
import { startBench } from './gateways.ts';
import { requestBytes, run, type Shape } from './load.ts';
import { cpuMicros, type Program, residentMiB } from './process.ts';
import { fixed, median, quantile, table } from './stats.ts';

/**
 * `npm run bench`: Signalbox in full against a bare pass-through proxy, both in front of the same
 * upstream, in rounds that take turns. Ratios of CPU hold on a shared machine; throughput does not.
 * `--quick` for a look, `--only JSON` for the shapes whose name has it.
 */
const quick = process.argv.includes('--quick');
const only = process.argv[process.argv.indexOf('--only') + 1] ?? '';
const ROUNDS = quick ? 3 : 7;

const SHAPES: readonly Shape[] = [
  { name: 'JSON, 200 B', stream: false, promptChars: 200 },
  { name: 'JSON, 2 KB', stream: false, promptChars: 2_000 },
  { name: 'JSON, 100 KB', stream: false, promptChars: 100_000 },
  { name: 'stream of 50 chunks, 200 B', stream: true, promptChars: 200 },
];
const CONCURRENCY = [1, 16, 64] as const;
/** Requests a round: about a second of work, so that the kernel's ticks are fine enough. */
const requestsOf = ({ stream, promptChars }: Shape, concurrency: number): number =>
  Math.round(
    (stream ? 2_000 : promptChars > 50_000 ? 3_000 : 12_000) * (concurrency === 1 ? 0.3 : 1) * (quick ? 0.4 : 1),
  );

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

const bench = await startBench();
const rows = [
  [
    'request',
    'conc.',
    'floor µs',
    'Signalbox µs',
    'ratio',
    'added p50 ms',
    'added p99 ms',
    'floor req/s',
    'Signalbox req/s',
    'RSS MiB',
  ],
];
try {
  for (const shape of SHAPES.filter(({ name }) => name.includes(only))) {
    for (const concurrency of CONCURRENCY) {
      const requests = requestsOf(shape, concurrency);
      const programs = [bench.floor, bench.signalbox] as const;
      const rounds: [Round[], Round[]] = [[], []];
      for (let i = -1; i < ROUNDS; i++) {
        for (const [which, program] of programs.entries()) {
          const result = await round(program, requestBytes(shape, program.port, bench.key), concurrency, requests);
          // The first pair only warms up.
          if (i >= 0) rounds[which]!.push(result);
        }
      }
      const of = (which: 0 | 1, figure: keyof Round) => median(rounds[which].map((one) => one[figure]));
      const ratio = median(rounds[1].map((one, i) => one.cpu / rounds[0][i]!.cpu));
      rows.push([
        shape.name,
        String(concurrency),
        fixed(of(0, 'cpu')),
        fixed(of(1, 'cpu')),
        fixed(ratio, 2),
        fixed(of(1, 'p50') - of(0, 'p50'), 2),
        fixed(of(1, 'p99') - of(0, 'p99'), 2),
        fixed(of(0, 'perSecond'), 0),
        fixed(of(1, 'perSecond'), 0),
        fixed(residentMiB(bench.signalbox.pid), 0),
      ]);
      process.stderr.write(`${rows.at(-1)!.join('  ')}\n`);
    }
  }
} finally {
  await bench.stop();
}
const { model } = cpus()[0]!;
process.stdout.write(
  `${cpus().length} cores (${model}), Bun ${Bun.version}, ${ROUNDS} interleaved rounds, medians.\n\n${table(rows)}\n`,
);
