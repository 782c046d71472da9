import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { newKey, startUpstream, temporaryFolder } from './gateways.ts';
import { requestBytes, run, type Shape } from './load.ts';
import { benchPolicy } from './policy.ts';
import { cpuMicros, type Program, startSilent } from './process.ts';
import { fixed, median, quantile, table } from './stats.ts';

/**
 * `npm run bench:seen`: measures the cost of observability: the CPU time of a request with the log, the metrics and traces on, compared
 * with a server that writes no line and counts nothing. All servers run in parallel and take turns, so that each round is compared with its
 * neighbouring rounds. `nothing, again` is the baseline a second time: its difference is chance, which affects every other difference as
 * well. `--beside DIR` also compares another checkout, such as the commit before a change. `--only TEXT`: the baseline, and settings whose
 * names contain it. `--quick` gives a rough result.
 */
const quick = process.argv.includes('--quick');
const ROUNDS = quick ? 8 : 31;
const REQUESTS = quick ? 3_000 : 5_000;
/** With fewer requests per round, even a quick run would compare how much code of each server is compiled. */
const WARM_UP = 20_000;
const CONCURRENCY = 64;
const SHAPE: Shape = { name: 'JSON, 200 B', stream: false, promptChars: 200 };
const KEY = newKey();

interface Setting {
  readonly name: string;
  readonly root: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

interface Server {
  readonly setting: Setting;
  readonly program: Program;
  readonly bytes: Uint8Array;
  /** CPU time in µs per request, one figure per round. */
  readonly cpu: number[];
  /** The median latency in ms, one figure per round. */
  readonly p50: number[];
}

/** A server that accepts traces and drops them. */
const collector = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    await request.arrayBuffer();
    return new Response(null, { headers: { 'content-type': 'application/x-protobuf' } });
  },
});

function settings(): Setting[] {
  const root = join(import.meta.dir, '..');
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}` };
  const ratio = { ...traced, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' };
  const json = ['--log', 'json'];
  const beside = process.argv.indexOf('--beside');
  return [
    { name: 'nothing (baseline)', root, args: ['--log', 'off', '--metrics', 'off'], env: {} },
    { name: 'nothing, again', root, args: ['--log', 'off', '--metrics', 'off'], env: {} },
    { name: 'metrics', root, args: ['--log', 'off'], env: {} },
    { name: 'log', root, args: [...json, '--metrics', 'off'], env: {} },
    { name: 'log and metrics (as shipped)', root, args: json, env: {} },
    { name: 'and traces, 1 of 100', root, args: json, env: ratio },
    { name: 'and traces, all', root, args: json, env: traced },
    ...(beside < 0 ? [] : [{ name: 'the other checkout', root: process.argv[beside + 1]!, args: [], env: {} }]),
  ];
}

async function start(setting: Setting, folder: string, at: number): Promise<Server> {
  const { root, args, env } = setting;
  const program = await startSilent(
    (port) => [
      ...[join(root, 'src/main.ts'), 'serve', '--port', `${port}`, '--policies', folder],
      ...['--data', join(folder, `data-${at}`), ...args],
    ],
    { SIGNALBOX_API_KEY: KEY, ...env },
  );
  return { setting, program, bytes: requestBytes(SHAPE, program.port, KEY), cpu: [], p50: [] };
}

async function round({ program, bytes, cpu, p50 }: Server, requests: number): Promise<void> {
  const before = cpuMicros(program.pid);
  const { latencies } = await run(program.port, bytes, CONCURRENCY, requests);
  cpu.push((cpuMicros(program.pid) - before) / requests);
  p50.push(quantile(latencies, 0.5));
}

async function main(): Promise<void> {
  const folder = temporaryFolder();
  const upstream = await startUpstream();
  writeFileSync(join(folder, 'policy.yaml'), benchPolicy(`http://127.0.0.1:${upstream.port}/v1`));
  const servers: Server[] = [];
  const only = process.argv.indexOf('--only');
  const wanted = settings().filter(({ name }, at) => at === 0 || only < 0 || name.includes(process.argv[only + 1]!));
  for (const [at, setting] of wanted.entries()) servers.push(await start(setting, folder, at));
  try {
    for (const server of servers) await round({ ...server, cpu: [], p50: [] }, WARM_UP);
    for (let i = 0; i < ROUNDS; i++) {
      // Another server comes first each time, so that no server always follows the same neighbour.
      for (let at = 0; at < servers.length; at++) await round(servers[(at + i) % servers.length]!, REQUESTS);
    }
    const how = `${cpus().length} cores (${cpus()[0]!.model}), Bun ${Bun.version}, ${SHAPE.name}, ${CONCURRENCY} in flight, ${ROUNDS} interleaved rounds of ${REQUESTS} requests, medians; the difference is that of neighbouring rounds.`;
    process.stdout.write(`${how}\n\n${table(rowsOf(servers))}\n`);
  } finally {
    await Promise.all([upstream, ...servers.map(({ program }) => program)].map((program) => program.stop()));
    await collector.stop(true);
  }
}

/** Returns the mean of the fifth of the rounds with the lowest CPU time, because other work on the machine only ever adds time. */
function quietest(cpu: readonly number[]): number {
  const least = cpu.toSorted((a, b) => a - b).slice(0, Math.ceil(cpu.length / 5));
  return least.reduce((sum, one) => sum + one, 0) / least.length;
}

function rowsOf(servers: readonly Server[]): string[][] {
  const [baseline] = servers;
  return [
    [
      'seen',
      'CPU a request, µs',
      'more than the baseline, µs',
      'half of the rounds between',
      'quietest fifth, µs',
      'p50, ms',
    ],
    ...servers.map(({ setting, cpu, p50 }) => {
      const more = cpu.map((one, i) => one - baseline!.cpu[i]!).sort((a, b) => a - b);
      const middle = `${fixed(quantile(more, 0.25))} to ${fixed(quantile(more, 0.75))}`;
      return [
        setting.name,
        fixed(median(cpu)),
        fixed(median(more)),
        middle,
        fixed(quietest(cpu)),
        fixed(median(p50), 2),
      ];
    }),
  ];
}

await main();
process.exit(0);
