import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const BIN = join(import.meta.dir, '../node_modules/.bin');

const running = new Set<Bun.Subprocess>();

/** Ends all programs that this process started, however this process ends. */
function endTogether(): void {
  process.on('exit', () => {
    for (const child of running) child.kill('SIGKILL');
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
}
let isBound = false;

export interface Program {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts a program and waits for the line that contains its port. */
export async function startProgram(
  args: readonly string[],
  portIn: RegExp,
  env: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const child = spawn(args, env);
  const port = await new Promise<number>((resolve, reject) => {
    void (async () => {
      let text = '';
      // The output is read to its end, because a full pipe would block the program.
      for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
        if (text === '\0') continue;
        text += chunk;
        const found = portIn.exec(text)?.[1];
        if (!found) continue;
        resolve(Number(found));
        text = '\0';
      }
      reject(new Error(`${args.join(' ')} ended: ${text}`));
    })();
  });
  return programOf(child, port);
}

/** The maximum time for the start of a server, in ms. */
const START_MS = 60_000;

/** Starts a server that does not print its port. The server gets a port, and the function waits until the server answers at `path`. */
export async function startSilent(
  args: (port: number) => readonly string[],
  env: Readonly<Record<string, string>> = {},
  path = '/healthz',
): Promise<Program> {
  const probe = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const port = probe.port ?? 0;
  await probe.stop(true);
  const child = spawn(args(port), env);
  void child.stdout.pipeTo(new WritableStream());
  const until = Date.now() + START_MS;
  while (!(await answers(port, path))) {
    if (Date.now() > until) throw new Error(`${args(port).join(' ')} does not answer`);
    await Bun.sleep(50);
  }
  return programOf(child, port);
}

const answers = (port: number, path: string): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}${path}`).then(
    ({ ok }) => ok,
    () => false,
  );

function spawn(args: readonly string[], env: Readonly<Record<string, string>>) {
  if (!isBound) endTogether();
  isBound = true;
  const child = Bun.spawn([...args], {
    stdout: 'pipe',
    stderr: 'inherit',
    env: { ...process.env, PATH: `${BIN}:${process.env.PATH}`, ...env },
  });
  running.add(child);
  return child;
}

const programOf = (child: Bun.Subprocess, port: number): Program => ({
  pid: child.pid,
  port,
  async stop() {
    child.kill();
    await child.exited;
    running.delete(child);
  },
});

interface Thread {
  readonly name: string;
  /** The CPU time so far in µs, as counted by the scheduler. */
  readonly micros: number;
}

/** Returns the text of a kernel file; '' if its process or thread has ended. */
function kernelText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function threadIds(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function threadsOf(pid: number): Map<string, Thread> {
  const threads = new Map<string, Thread>();
  for (const id of threadIds(pid)) {
    const read = (file: string) => kernelText(`/proc/${pid}/task/${id}/${file}`);
    const [name, schedule] = [read('comm'), read('schedstat')];
    if (name && schedule) threads.set(id, { name: name.trim(), micros: Number(schedule.split(' ')[0]) / 1_000 });
  }
  return threads;
}

/** Returns the CPU time of all threads of a process so far, in µs. The sum leaves out threads that have ended. */
export const cpuMicros = (pid: number): number =>
  threadsOf(pid)
    .values()
    .reduce((sum, { micros }) => sum + micros, 0);

/** CPU time by the kind of thread, in µs. */
export interface ThreadCpu {
  readonly all: number;
  /** The thread that runs JavaScript and synchronous native calls. */
  readonly main: number;
  /** The thread of the `fetch` client. */
  readonly http: number;
  /** Helper threads that collect garbage and compile. */
  readonly engine: number;
}

const ENGINE = /JIT|Heap|ollector|JSC|scavenger/;

/** Measures the CPU time of a process from now on. Each call of the returned function returns the time since then. */
export function cpuMeter(pid: number): () => ThreadCpu {
  const before = threadsOf(pid);
  return () => {
    const spent = { all: 0, main: 0, http: 0, engine: 0 };
    for (const [id, { name, micros }] of threadsOf(pid)) {
      const more = micros - (before.get(id)?.micros ?? 0);
      spent.all += more;
      if (id === String(pid)) spent.main += more;
      else if (name.startsWith('HTTP')) spent.http += more;
      else if (ENGINE.test(name)) spent.engine += more;
    }
    return spent;
  };
}

/** Returns a process and all its descendants. */
export function treeOf(pid: number): number[] {
  const children = threadIds(pid).flatMap((thread) =>
    kernelText(`/proc/${pid}/task/${thread}/children`).trim().split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(treeOf)];
}

/** Returns the processes and all their descendants, each once. */
const treesOf = (pids: readonly number[]): number[] => [...new Set(pids.flatMap(treeOf))];

const MICROS_A_TICK = 10_000;

/** Returns the CPU time of the ended children of a process in µs, in steps of 10 ms. */
function endedMicros(pid: number): number {
  const stat = kernelText(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) * MICROS_A_TICK;
}

/**
 * Measures the CPU time of processes and all their descendants from now on. Each call of the returned function returns the µs since then.
 * The measurement includes processes that begin or end during it.
 */
export function treeMeter(pids: readonly number[]): () => number {
  const before = new Map(
    treesOf(pids).map((pid) => [pid, { spent: cpuMeter(pid), micros: cpuMicros(pid), ended: endedMicros(pid) }]),
  );
  return () => {
    const gone = new Map(before);
    let live = 0;
    let ended = 0;
    for (const pid of treesOf(pids)) {
      gone.delete(pid);
      const then = before.get(pid);
      live += then ? then.spent().all : cpuMicros(pid);
      ended += endedMicros(pid) - (then?.ended ?? 0);
    }
    // The parents of ended processes count the whole lifetime of those processes.
    for (const { micros } of gone.values()) ended -= micros;
    return live + Math.max(0, ended);
  };
}

/** Returns the memory of processes and their descendants without their program files, in MiB. Shared memory counts once. */
export function treeMiB(pids: readonly number[]): number {
  const kib = (status: string, field: string) => Number(new RegExp(`^${field}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? 0);
  const statuses = treesOf(pids).map((pid) => kernelText(`/proc/${pid}/status`));
  const own = statuses.reduce((sum, status) => sum + kib(status, 'RssAnon'), 0);
  const shared = Math.max(...statuses.map((status) => kib(status, 'RssShmem')));
  return (own + shared) / 1_024;
}

/** Returns the memory in use, in MiB. */
export function residentMiB(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
  return (pages * 4096) / 1_048_576;
}
