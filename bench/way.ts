import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from '../test/support/postgres.ts';
import type { Checkout } from './checkouts.ts';
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
/** The objects are counted several times, because a timer of the server leaves some, too. The median counts. */
const OBJECT_COUNTS = 5;

type Counts = ReadonlyMap<string, number>;
/** The work of a server, or of one request. */
interface Run {
  /** How often each line ran, by file and number. */
  readonly lines: Counts;
  /** The objects of a request, by type. */
  readonly objects: Counts;
}

/** What a checkout runs for a request. */
interface Measured {
  readonly name: Checkout['name'];
  readonly run: Run;
}

interface Stage {
  readonly policy: string;
  /** Whether the server uses a PostgreSQL database. It uses SQLite otherwise. */
  readonly isOnPostgres?: true;
  requestsOf(port: number): Uint8Array | (() => Uint8Array);
}

/** @param root of the checkout that serves */
async function served(root: string, stage: Stage, key: string, requests: number): Promise<Run> {
  const { policy, isOnPostgres, requestsOf } = stage;
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'policies'));
  writeFileSync(join(folder, 'policies/policy.yaml'), policy);
  await using database = isOnPostgres ? await startPostgres() : null;
  await database?.create('way');
  const { promise: port, resolve: listens } = Promise.withResolvers<number>();
  let counted = (_: Counts): void => {};
  const coverage = ['--coverage', '--coverage-reporter=lcov', `--coverage-dir=${folder}`];
  const child = Bun.spawn([process.execPath, 'test', '--timeout', '120000', ...coverage, './bench/way-served.ts'], {
    cwd: root,
    env: {
      ...process.env,
      SIGNALBOX_API_KEY: key,
      WAY_FOLDER: folder,
      ...(database && { DATABASE_URL: database.urlOf('way') }),
    },
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
  const counts: Counts[] = [];
  for (let count = 0; count < OBJECT_COUNTS; count++) {
    const before = await objects('collect and count');
    await run(await port, bytes, IN_FLIGHT, OBJECTS_OF);
    counts.push(more(await objects('count'), before, OBJECTS_OF));
  }
  child.send('end');
  await child.exited;
  const lines = linesOf(readFileSync(join(folder, 'lcov.info'), 'utf8'));
  return { lines, objects: counts.sort((a, b) => sum(a) - sum(b))[OBJECT_COUNTS >> 1]! };
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
async function lengthOf(root: string, stage: Stage, key: string): Promise<Run> {
  const few = await served(root, stage, key, BEFORE);
  const many = await served(root, stage, key, BEFORE + COUNTED);
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

/** Returns the longest parts of our run, with those of the other runs. */
function partTable(runs: readonly Measured[], folders?: number): string {
  const parts = runs.map(({ name, run }) => ({ name, parts: partsOf(run.lines, folders) }));
  const ours = parts.at(-1)!.parts;
  const most = [...ours].sort(([, a], [, b]) => b.lines - a.lines).slice(0, SHOWN);
  const others = parts.slice(0, -1);
  return table([
    ['where', 'lines', 'steps', ...others.flatMap(({ name }) => [`${name}: lines`, 'steps'])],
    ...most.map(([path, { lines, steps }]) => {
      const theirs = others.map((other) => other.parts.get(path) ?? { lines: 0, steps: 0 });
      return [path, ...[{ lines, steps }, ...theirs].flatMap((part) => [fixed(part.lines, 0), fixed(part.steps, 0)])];
    }),
  ]);
}

function objectTable(runs: readonly Measured[]): string {
  const ours = runs.at(-1)!.run.objects;
  const others = runs.slice(0, -1);
  const most = [...ours].sort(([, a], [, b]) => b - a);
  return table([
    ['objects', 'a request', ...others.map(({ name }) => name)],
    ...most.map(([type, count]) => [
      type,
      ...[count, ...others.map(({ run }) => run.objects.get(type) ?? 0)].map((one) => fixed(one)),
    ]),
  ]);
}

const closuresIn = ({ objects }: Run) => (objects.get('Function') ?? 0) + (objects.get('JSLexicalEnvironment') ?? 0);
/** The columns of the summary. The figures of some are compared with the other checkouts. */
const COLUMNS: readonly { readonly title: string; of(run: Run): number; readonly isCompared: boolean }[] = [
  { title: 'files', of: ({ lines }) => partsOf(lines).size, isCompared: false },
  { title: 'lines', of: ({ lines }) => lines.size, isCompared: true },
  { title: 'steps', of: ({ lines }) => sum(lines), isCompared: true },
  { title: 'objects', of: ({ objects }) => sum(objects), isCompared: true },
  { title: 'closures, scopes', of: closuresIn, isCompared: false },
  { title: 'promises', of: ({ objects }) => objects.get('Promise') ?? 0, isCompared: false },
];

function summaryHead(workload: Workload, compared: readonly Checkout[]): string[] {
  const others = compared.slice(0, -1).map(({ name }) => `÷ ${name}`);
  return [workload.name, ...COLUMNS.flatMap(({ title, isCompared }) => [title, ...(isCompared ? others : [])])];
}

function summaryOf(rung: string, runs: readonly Measured[]): string[] {
  const ours = runs.at(-1)!.run;
  const others = runs.slice(0, -1);
  const cells = COLUMNS.flatMap(({ of, isCompared }) => [
    fixed(of(ours), 0),
    ...(isCompared ? others.map(({ run }) => fixed(of(ours) / of(run), 2)) : []),
  ]);
  return [rung, ...cells];
}

const inDetail = (runs: readonly Measured[]): string =>
  [partTable(runs, 2), partTable(runs), objectTable(runs)].join('\n\n');

function stagesOf(address: string, key: string, whole: Workload, stream: Workload): Record<string, Stage> {
  const get = (path: string) => (port: number) => httpBytes(port, path, key, null);
  const post =
    (path: string, model: string, { fields } = whole) =>
    (port: number) =>
      bytesOf(httpBytes(port, path, key, { model, ...fields }), 'own');
  const chat = '/v1/chat/completions';
  const policy = benchPolicy(address);
  return {
    '`GET /healthz`': { policy, requestsOf: get('/healthz') },
    '`GET /v1/models`': { policy, requestsOf: get('/v1/models') },
    '`POST /v1/route`': { policy, requestsOf: post('/v1/route', 'auto') },
    'chat, pinned': { policy, requestsOf: post(chat, 'bench-model-3') },
    'chat, PostgreSQL': { policy, isOnPostgres: true, requestsOf: post(chat, 'bench-model-3') },
    'chat, auto': { policy, requestsOf: post(chat, 'auto') },
    'chat, full': { policy: fullPolicy(address), requestsOf: post(chat, 'auto') },
    [`${stream.name}, pinned`]: { policy, requestsOf: post(chat, 'bench-model-3', stream) },
    [`${stream.name}, auto`]: { policy, requestsOf: post(chat, 'auto', stream) },
  };
}

/**
 * @param whole requests with an answer in one piece. @param stream requests with an answer that is a stream
 * @param only the text that the names of the measured rungs must contain; if only one rung is left, its parts, files and objects are also
 * printed
 * @param compared the checkouts that serve, the last of which is this one
 */
export async function way(
  whole: Workload,
  stream: Workload,
  only: string,
  compared: readonly Checkout[],
): Promise<string> {
  const upstream = await startUpstream();
  try {
    const key = newKey();
    const stages = Object.entries(stagesOf(`http://127.0.0.1:${upstream.port}/v1`, key, whole, stream));
    const rungs: [string, Measured[]][] = [];
    for (const [rung, stage] of stages.filter(([rung]) => rung.includes(only))) {
      const runs: Measured[] = [];
      for (const { name, root } of compared) runs.push({ name, run: await lengthOf(root, stage, key) });
      rungs.push([rung, runs]);
    }
    const summary = table([summaryHead(whole, compared), ...rungs.map(([rung, runs]) => summaryOf(rung, runs))]);
    return rungs.length === 1 ? `${summary}\n\n${inDetail(rungs[0]![1])}` : summary;
  } finally {
    await upstream.stop();
  }
}
