import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newKey, startUpstream, temporaryFolder } from './gateways.ts';
import { run } from './load.ts';
import { benchPolicy, fullPolicy } from './policy.ts';
import { fixed, table } from './stats.ts';
import { bytesOf, httpBytes, type Workload } from './workload.ts';

/**
 * Measures the length of the request path: the lines of `src/` and `plugins/` that a request runs, and the objects that it leaves for the
 * garbage collector. Unlike time, the numbers of lines and objects are the same on a busy machine. A line in a loop counts as one line, and
 * as one step each time it runs.
 */

const IN_FLIGHT = 16;
/** Lines that only the first requests run are in both counts, so these lines cancel out. */
const BEFORE = 300;
const COUNTED = 1_000;
/** The number of requests is small, so that no garbage collection happens between two counts of objects. */
const OBJECTS_OF = 60;

type Counts = ReadonlyMap<string, number>;
/** The work of a server, or of one request. */
interface Run {
  /** How often each line ran, by file and number. */
  readonly lines: Counts;
  /** The objects of a request, by type. */
  readonly objects: Counts;
}

interface Stage {
  readonly policy: string;
  requestsOf(port: number): Uint8Array | (() => Uint8Array);
}

async function served({ policy, requestsOf }: Stage, key: string, requests: number): Promise<Run> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'policies'));
  writeFileSync(join(folder, 'policies/policy.yaml'), policy);
  const { promise: port, resolve: listens } = Promise.withResolvers<number>();
  let counted = (_: Counts): void => {};
  const coverage = ['--coverage', '--coverage-reporter=lcov', `--coverage-dir=${folder}`];
  const child = Bun.spawn([process.execPath, 'test', '--timeout', '120000', ...coverage, './bench/way-served.ts'], {
    cwd: join(import.meta.dir, '..'),
    env: { ...process.env, SIGNALBOX_API_KEY: key, WAY_FOLDER: folder },
    stdout: 'ignore',
    stderr: 'ignore',
    ipc(message: { readonly port?: number; readonly objects?: Record<string, number> }) {
      if (message.port !== undefined) listens(message.port);
      if (message.objects) counted(new Map(Object.entries(message.objects)));
    },
  });
  const objects = (wish: 'collect and count' | 'count') =>
    new Promise<Counts>((resolve) => {
      counted = resolve;
      child.send(wish);
    });
  const bytes = requestsOf(await port);
  await run(await port, bytes, IN_FLIGHT, requests);
  const before = await objects('collect and count');
  await run(await port, bytes, IN_FLIGHT, OBJECTS_OF);
  const after = await objects('count');
  child.send('end');
  await child.exited;
  return {
    lines: linesOf(readFileSync(join(folder, 'lcov.info'), 'utf8')),
    objects: more(after, before, OBJECTS_OF),
  };
}

/** @param lcov a tracefile as described by lcov's `geninfo`: the path of a file, then its lines with their counts */
function linesOf(lcov: string): Counts {
  const counts = new Map<string, number>();
  let file = '';
  for (const line of lcov.split('\n')) {
    if (line.startsWith('SF:')) file = line.slice(3);
    else if (line.startsWith('DA:') && /^(src|plugins)\//.test(file)) {
      const [number, count] = line.slice(3).split(',');
      counts.set(`${file}:${number}`, Number(count));
    }
  }
  return counts;
}

/** Returns the lines that an additional request runs and the objects that it leaves. */
async function lengthOf(stage: Stage, key: string): Promise<Run> {
  const few = await served(stage, key, BEFORE);
  const many = await served(stage, key, BEFORE + COUNTED);
  return { lines: more(many.lines, few.lines, COUNTED), objects: many.objects };
}

/** Returns the increase of each count per request; counts with an increase below one half are left out. */
function more(after: Counts, before: Counts, requests: number): Counts {
  const grown = new Map<string, number>();
  for (const [name, count] of after) {
    const each = (count - (before.get(name) ?? 0)) / requests;
    if (each >= 0.5) grown.set(name, each);
  }
  return grown;
}

const sum = (counts: Counts): number => counts.values().reduce((all, count) => all + count, 0);

interface Part {
  lines: number;
  steps: number;
}

/** @param folders the number of folders of a path that form a part */
function partsOf(lines: Counts, folders = Number.POSITIVE_INFINITY): Map<string, Part> {
  const parts = new Map<string, Part>();
  for (const [name, count] of lines) {
    const path = name.slice(0, name.lastIndexOf(':')).split('/').slice(0, folders).join('/');
    const part = parts.get(path) ?? { lines: 0, steps: 0 };
    part.lines++;
    part.steps += count;
    parts.set(path, part);
  }
  return parts;
}

const SHOWN = 60;

function partTable(parts: ReadonlyMap<string, Part>): string {
  const most = [...parts].sort(([, a], [, b]) => b.lines - a.lines).slice(0, SHOWN);
  return table([
    ['where', 'lines', 'steps'],
    ...most.map(([path, { lines, steps }]) => [path, fixed(lines, 0), fixed(steps, 0)]),
  ]);
}

function objectTable(objects: Counts): string {
  const most = [...objects].sort(([, a], [, b]) => b - a);
  return table([['objects', 'a request'], ...most.map(([type, count]) => [type, fixed(count)])]);
}

function summaryOf(rung: string, { lines, objects }: Run): string[] {
  const closures = (objects.get('Function') ?? 0) + (objects.get('JSLexicalEnvironment') ?? 0);
  const figures = [partsOf(lines).size, lines.size, sum(lines), sum(objects), closures, objects.get('Promise') ?? 0];
  return [rung, ...figures.map((figure) => fixed(figure, 0))];
}

const inDetail = ({ lines, objects }: Run): string =>
  [partTable(partsOf(lines, 2)), partTable(partsOf(lines)), objectTable(objects)].join('\n\n');

function stagesOf(address: string, key: string, { fields }: Workload): Record<string, Stage> {
  const get = (path: string) => (port: number) => httpBytes(port, path, key, null);
  const post = (path: string, model: string) => (port: number) =>
    bytesOf(httpBytes(port, path, key, { model, ...fields }), 'own');
  const chat = '/v1/chat/completions';
  const policy = benchPolicy(address);
  return {
    '`GET /healthz`': { policy, requestsOf: get('/healthz') },
    '`GET /v1/models`': { policy, requestsOf: get('/v1/models') },
    '`POST /v1/route`': { policy, requestsOf: post('/v1/route', 'auto') },
    'chat, pinned': { policy, requestsOf: post(chat, 'bench-model-3') },
    'chat, auto': { policy, requestsOf: post(chat, 'auto') },
    'chat, full': { policy: fullPolicy(address), requestsOf: post(chat, 'auto') },
  };
}

/**
 * @param only the text that the names of the measured rungs must contain; if only one rung is left, its parts, files and objects are also
 * printed
 */
export async function way(workload: Workload, only: string): Promise<string> {
  const upstream = await startUpstream();
  try {
    const key = newKey();
    const stages = Object.entries(stagesOf(`http://127.0.0.1:${upstream.port}/v1`, key, workload));
    const chosen = stages.filter(([rung]) => rung.includes(only));
    const runs: [string, Run][] = [];
    for (const [rung, stage] of chosen) runs.push([rung, await lengthOf(stage, key)]);
    const head = [workload.name, 'files', 'lines', 'steps', 'objects', 'closures, scopes', 'promises'];
    const summary = table([head, ...runs.map(([rung, run]) => summaryOf(rung, run))]);
    return runs.length === 1 ? `${summary}\n\n${inDetail(runs[0]![1])}` : summary;
  } finally {
    await upstream.stop();
  }
}
