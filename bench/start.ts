import { join } from 'node:path';
import { newKey, startSignalbox, startUpstream, temporaryFolder } from './gateways.ts';
import { run } from './load.ts';
import { cpuMicros, type Program, residentMiB } from './process.ts';
import { fixed, median, table } from './stats.ts';
import { bytesOf, httpBytes, promptText } from './workload.ts';

/** Measures how soon a server with the shipped policy answers after its start, and the memory that it takes. */
const REST_MS = 3_000;
/** A model that is found at the benchmark's upstream, so no real provider can be called. */
const MODEL = 'ollama/bench';

export interface StartPlan {
  readonly starts: number;
  /** The number of requests of the load, with 64 in flight. */
  readonly load: number;
}

/** @returns a table */
export async function startFigures({ starts, load }: StartPlan): Promise<string> {
  const upstream = await startUpstream();
  const [key, folder] = [newKey(), temporaryFolder()];
  const env = { OLLAMA_BASE_URL: `http://127.0.0.1:${upstream.port}/v1` };
  const start = () => startSignalbox(['--data', join(folder, 'data')], key, env);
  const listening: number[] = [];
  const answered: number[] = [];
  const cpu: number[] = [];
  // The first start creates the data folder, and its files are read from the disk, so the first start is not counted.
  for (let nth = -1; nth < starts; nth++) {
    const begun = performance.now();
    const server = await start();
    const open = performance.now() - begun;
    await ask(server, key, 1, 1);
    if (nth >= 0) {
      answered.push(performance.now() - begun);
      listening.push(open);
      cpu.push(cpuMicros(server.pid) / 1_000);
    }
    await server.stop();
  }
  const server = await start();
  await ask(server, key, 1, 1);
  const rest = await resting(server);
  await ask(server, key, 64, load);
  const row = [median(listening), median(answered), Math.min(...answered), median(cpu), rest, await resting(server)];
  await Promise.all([server.stop(), upstream.stop()]);
  const head = [
    'listening, ms',
    'first answer, ms',
    'the fastest',
    'CPU ms until then',
    'RSS at rest, MiB',
    `after ${load} requests`,
  ];
  return table([
    ['from source, warm cache', ...head],
    [`median of ${starts} starts`, ...row.map((one) => fixed(one, 0))],
  ]);
}

async function resting({ pid }: Program): Promise<number> {
  await Bun.sleep(REST_MS);
  return residentMiB(pid);
}

async function ask({ port }: Program, key: string, inFlight: number, requests: number): Promise<void> {
  const body = { model: MODEL, messages: [{ role: 'user', content: promptText(200) }] };
  await run(port, bytesOf(httpBytes(port, '/v1/chat/completions', key, body), 'own'), inFlight, requests);
}
