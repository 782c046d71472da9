import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { newKey, startSignalbox, startUpstream, temporaryFolder } from './gateways.ts';
import { run } from './load.ts';
import { benchPolicy } from './policy.ts';
import { cpuMeter, type Program } from './process.ts';
import { fixed, median, table } from './stats.ts';
import { httpBytes } from './workload.ts';

/**
 * `bun bench/cache.ts [--quick] [--before FOLDER]`: the CPU time of a request that the cache answers, of a miss, and of a request to a server
 * without a cache, in µs. The kinds take turns. `--before` adds a server without a cache from another checkout.
 */
const quick = process.argv.includes('--quick');
const beforeAt = process.argv.indexOf('--before');
const before = beforeAt < 0 ? null : (process.argv[beforeAt + 1] ?? null);
const ROUNDS = quick ? 5 : 31;
const REQUESTS = quick ? 100 : 1_000;
const WARM_UP = quick ? 1_500 : 15_000;
const IN_FLIGHT = 16;
const SIZES = quick ? [1_000] : [200, 8_000];
const CACHE = 'cache: {}\n';

const key = newKey();
const upstream = await startUpstream();
const policy = benchPolicy(`http://127.0.0.1:${upstream.port}/v1`);

function start(more: string, root?: string): Promise<Program> {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'policy.yaml'), policy + more);
  return startSignalbox(['--data', join(folder, 'data'), '--policies', folder], key, {}, root);
}

const plain = await start('');
const cached = await start(CACHE);
const earlier = before === null ? null : await start('', before);

let nth = 0;
const bytesOf = (port: number, chars: number, stream: boolean, question: string) => {
  const content = `${question} ${'How do gateways choose a model? '.repeat(chars / 32)}`;
  const body = { model: 'auto', temperature: 0, ...(stream && { stream }), messages: [{ role: 'user', content }] };
  return httpBytes(port, '/v1/chat/completions', key, body);
};

interface Kind {
  readonly name: string;
  readonly program: Program;
  readonly isSame: boolean;
}
const KINDS: readonly Kind[] = [
  ...(earlier ? [{ name: 'no cache, before', program: earlier, isSame: false }] : []),
  { name: 'no cache', program: plain, isSame: false },
  { name: 'miss', program: cached, isSame: false },
  { name: 'hit', program: cached, isSame: true },
];

const rows: string[][] = [['request', ...KINDS.map(({ name }) => name), 'hit / miss']];
for (const chars of SIZES)
  for (const stream of quick ? [false] : [false, true]) {
    const sample = async ({ program: { pid, port }, isSame }: Kind, requests: number): Promise<number> => {
      const same = bytesOf(port, chars, stream, 'The same question.');
      const next = () => (isSame ? same : bytesOf(port, chars, stream, `Question ${nth++}.`));
      const spent = cpuMeter(pid);
      await run(port, next, IN_FLIGHT, requests);
      return spent().all / requests;
    };
    for (const kind of KINDS) await sample(kind, WARM_UP / KINDS.length);
    const samples = KINDS.map((): number[] => []);
    for (let round = 0; round < ROUNDS; round++)
      for (const [at, kind] of KINDS.entries()) samples[at]!.push(await sample(kind, REQUESTS));
    const medians = samples.map(median);
    const [miss, hit] = medians.slice(-2);
    rows.push([
      `${chars} characters, ${stream ? 'stream' : 'JSON'}`,
      ...medians.map((one) => fixed(one, 0)),
      fixed(hit! / miss!, 2),
    ]);
  }
console.log(
  `${cpus()[0]?.model}, Bun ${Bun.version}, ${ROUNDS} rounds of ${REQUESTS} requests, µs of CPU\n\n${table(rows)}`,
);
await Promise.all([plain, cached, earlier, upstream].map((one) => one?.stop()));
process.exit(0);
