import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CodeMap, readJitDump } from './code-map.ts';
import { newKey, startSignalbox, startUpstream, temporaryFolder } from './gateways.ts';
import { type Requests, run } from './load.ts';
import { benchPolicy, fullPolicy } from './policy.ts';
import { cpuMeter } from './process.ts';
import { fixed, table } from './stats.ts';
import { bytesOf, httpBytes, WORKLOADS } from './workload.ts';

/**
 * `npm run bench:attribution -- [pinned | auto | full | route] [--only TEXT]`: shows where a running server spends CPU time, by function.
 * The command needs Linux and `perf`. Each sample counts for the nearest compiled JavaScript function on its stack, so a function's figure
 * includes the time in the engine, in SQLite and in the kernel. Code that was never compiled counts for its caller.
 */
const WARM_UP = 15_000;
const ROUNDS = 30;
const ROUND = 500;
const IN_FLIGHT = 64;
const SHOWN = 60;

const words = process.argv.slice(2);
const rung = ['pinned', 'auto', 'full', 'route'].find((name) => words.includes(name)) ?? 'auto';
const onlyAt = words.indexOf('--only');
const workload = WORKLOADS.find(({ name }) => name.includes(onlyAt < 0 ? '' : (words[onlyAt + 1] ?? '')));
if (!workload) throw new Error(`the workloads are ${WORKLOADS.map(({ name }) => `"${name}"`).join(', ')}`);

/** Counts samples by name. */
class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string): void {
    this.#counts.set(name, this.of(name) + 1);
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** Returns the names; the name with the most samples comes first. */
  names(): string[] {
    return [...this.#counts.entries()].sort(([, a], [, b]) => b - a).map(([name]) => name);
  }
}

interface Attribution {
  readonly samples: number;
  readonly threads: Tally;
  /** The samples of the thread that runs JavaScript: kernel, native code or JavaScript. */
  readonly kinds: Tally;
  /** For each function: its time with the native code that it calls, its own time, and its time with everything that it calls. */
  readonly owned: Tally;
  readonly own: Tally;
  readonly whole: Tally;
}

const FRAME = /^\s*([0-9a-f]+) .*?\((.*)\)$/;
const NOBODY = '(the server, the loop and the collector)';

/** @param script the output of `perf script -F comm,ip,dso` */
function attribute(script: string, code: CodeMap): Attribution {
  const found = { threads: new Tally(), kinds: new Tally(), owned: new Tally(), own: new Tally(), whole: new Tally() };
  let samples = 0;
  for (const block of script.split('\n\n')) {
    const [head = '', ...lines] = block.trim().split('\n');
    const frames = lines.flatMap((line) => {
      const [, ip, place = ''] = FRAME.exec(line) ?? [];
      return ip === undefined ? [] : [{ name: code.nameAt(Number(`0x${ip}`)), place }];
    });
    const [top] = frames;
    if (!top) continue;
    samples++;
    const thread = head.trim();
    found.threads.add(thread);
    if (!thread.startsWith('bun')) continue;
    found.kinds.add(top.name !== null ? 'JavaScript' : top.place.includes('kernel') ? 'kernel' : 'native');
    const names = frames.flatMap(({ name }) => (name === null ? [] : [name]));
    found.owned.add(names[0] ?? NOBODY);
    if (top.name !== null) found.own.add(top.name);
    for (const name of new Set(names)) found.whole.add(name);
  }
  return { samples, ...found };
}

async function measured(): Promise<string> {
  const upstream = await startUpstream();
  const address = `http://127.0.0.1:${upstream.port}/v1`;
  const key = newKey();
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'policy.yaml'), rung === 'full' ? fullPolicy(address) : benchPolicy(address));
  const args = ['--data', join(folder, 'data'), '--policies', folder];
  const jit = { BUN_JSC_useJITDump: '1', BUN_JSC_jitDumpDirectory: folder };
  const server = await startSignalbox(args, key, jit);
  try {
    const path = rung === 'route' ? '/v1/route' : '/v1/chat/completions';
    const body = { model: rung === 'pinned' ? 'bench-model-3' : 'auto', ...workload!.fields };
    const requests: Requests = bytesOf(httpBytes(server.port, path, key, body), 'own');
    await run(server.port, requests, IN_FLIGHT, WARM_UP);
    const data = join(folder, 'perf.data');
    const record = ['perf', 'record', '-q', '-F', '4999', '-g', '-p', String(server.pid), '-o', data];
    const perf = Bun.spawn(record, { stdout: 'ignore', stderr: 'inherit' });
    await Bun.sleep(500);
    const spent = cpuMeter(server.pid);
    for (let round = 0; round < ROUNDS; round++) await run(server.port, requests, IN_FLIGHT, ROUND);
    const micros = spent().all / (ROUNDS * ROUND);
    perf.kill('SIGINT');
    await perf.exited;
    const script = await Bun.$`perf script -i ${data} -F comm,ip,dso`.quiet().text();
    const dump = readdirSync(folder).find((name) => name.endsWith('.dump'));
    if (!dump) throw new Error('the engine wrote no dump of its code');
    return report(attribute(script, new CodeMap(readJitDump(readFileSync(join(folder, dump))))), micros);
  } finally {
    await Promise.all([server.stop(), upstream.stop()]);
  }
}

/** @param micros CPU time per request in all threads, in µs */
function report({ samples, threads, kinds, owned, own, whole }: Attribution, micros: number): string {
  const of = (tally: Tally, name: string): string => fixed((tally.of(name) * micros) / samples);
  const list = (title: string, tally: Tally) =>
    table([[title, 'µs'], ...tally.names().map((name) => [name, of(tally, name)])]);
  const functions = owned.names().slice(0, SHOWN);
  return [
    `${workload!.name}, ${rung}: ${fixed(micros)} µs a request, ${samples} samples.`,
    list('thread', threads),
    list('main thread', kinds),
    table([
      ['function', 'with native code, µs', 'itself', 'with all that it calls'],
      ...functions.map((name) => [name, of(owned, name), of(own, name), of(whole, name)]),
    ]),
  ].join('\n\n');
}

process.stdout.write(`${await measured()}\n`);
process.exit(0);
