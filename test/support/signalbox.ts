import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Timers } from '../../src/core/time/timers.ts';
import type { Surface } from '../../src/dialects/surface.ts';
import type { StepChoice } from '../../src/gateway/request/steps.ts';
import type { OpenStore } from '../../src/store/driver.ts';
import { isDeep } from '../deep/effort.ts';
import { layStore } from './empty-store.ts';
import { NO_DATA, runHere } from './run-here.ts';
import { addressIn, serveHere } from './serve-here.ts';

export const MAIN = join(import.meta.dir, '../../src/main.ts');
/**
 * The program that processes run. `npm run test:system` builds it first, because a start from the sources takes a second of CPU, mostly to
 * read them.
 */
export const PROGRAM = process.env.SIGNALBOX_TEST_PROGRAM ?? MAIN;
const BIN = join(import.meta.dir, '../../node_modules/.bin');
/** Replaces the path of the program, so that texts name the command as they do when it runs from the sources. */
const named = (text: string): string => (PROGRAM === MAIN ? text : text.replaceAll(PROGRAM, './signalbox'));

/** A strong key, made for a test. */
export function makeTestKey(id = 'test00000001'): string {
  const secret = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url');
  return `sb_live_${id}_${secret}`;
}

/**
 * The key of all servers of this process without a key of their own. Each further key would be one more secret to search for in every log
 * line.
 */
const OWN_KEY = makeTestKey();

export interface StartOptions {
  /** Policy files by name; absent: the shipped policy. */
  readonly policy?: Readonly<Record<string, string>> | string;
  /** A data folder that is kept between starts; by default a new folder that `stop` removes. */
  readonly data?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /**
   * Starts a separate process, which costs a second of CPU, in place of a server inside the test process. Tests of the server's exit,
   * memory or settings use a separate process.
   */
  readonly isProcess?: boolean;
  /** The dialects that callers may use, in place of the shipped ones; not for a process. */
  readonly surfaces?: readonly Surface[];
  /** The server's version; not for a process. */
  readonly version?: string;
  /** The server's clock, ms since 1970; not for a process. */
  readonly now?: () => number;
  /** The server's monotonic clock, ms; not for a process. */
  readonly clock?: () => number;
  /** The server's timers; not for a process. */
  readonly timers?: Timers;
  /** After this time, the server disconnects a client that reads nothing, seconds; not for a process. */
  readonly stalledS?: number;
  /** Steps that are added to the steps of requests; not for a process. */
  readonly steps?: StepChoice;
  /** Opens the server's store, in place of the database in the data folder; not for a process. */
  readonly openStore?: () => Promise<OpenStore>;
}

export interface Signalbox {
  readonly url: string;
  readonly key: string;
  readonly data: string;
  /** The ID of the process; only a process has it. */
  readonly pid: number;
  /** All lines that the server has printed. */
  readonly lines: string[];
  /** The server's standard error, once the process has ended; only a process has it. */
  readonly errors: Promise<string>;
  /** Sends a request with the key and a JSON body. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  get(path: string, init?: RequestInit): Promise<Response>;
  /** Runs a command on the same data, inside the test process. */
  run(...args: string[]): Promise<{ code: number; out: string; err: string }>;
  /** Creates a key with these flags. The key is valid when the promise resolves. */
  makeKey(...flags: string[]): Promise<string>;
  /** Sends a signal; `SIGKILL` only to a process. */
  signal(name: Signal): void;
  readonly exited: Promise<number>;
  /** Stops the server and removes its folders. */
  stop(): Promise<void>;
}

/** The header of a request with a key. */
export const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

type Signal = 'SIGHUP' | 'SIGINT' | 'SIGTERM' | 'SIGKILL';

/**
 * Most test processes end within seconds. The engine's optimizing compiler then costs more than it saves, and makes a start two thirds
 * longer. Code that runs ten times as often as usual is still compiled. `npm run test:deep` does not use these settings, because it
 * measures the program as it ships.
 */
const SHORT_LIVED: Readonly<Record<string, string>> = isDeep
  ? {}
  : {
      BUN_JSC_useFTLJIT: '0',
      BUN_JSC_useWarmUpMarkedBlocks: '0',
      BUN_JSC_thresholdForOptimizeAfterWarmUp: '10000',
      BUN_JSC_thresholdForOptimizeAfterLongWarmUp: '10000',
      BUN_JSC_thresholdForOptimizeSoon: '10000',
    };

/** The developer's own keys and settings must not reach a test. */
export function cleanEnvironment(extra: Readonly<Record<string, string>>): Record<string, string> {
  const { PATH = '', HOME = '', TMPDIR = '' } = process.env;
  // The first line of the program names its interpreter and flags, so `PATH` must contain the interpreter.
  return { PATH: `${BIN}:${PATH}`, HOME, ...(TMPDIR && { TMPDIR }), ...SHORT_LIVED, ...extra };
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'signalbox-test-'));
}

/** Runs a command of the program to its end as a process, for tests of its start, exit and streams. Other tests use `runHere`. */
export function runCommand(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return runToEnd([PROGRAM, ...args], { SIGNALBOX_DATA: NO_DATA, ...env });
}

/** Runs any command to its end, without the developer's environment. */
export async function runToEnd(command: readonly string[], env: Readonly<Record<string, string>>, cwd?: string) {
  const child = Bun.spawn([...command], {
    cwd,
    env: cleanEnvironment(env),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, out: named(out), err: named(err) };
}

export function writePolicy(policy: Readonly<Record<string, string>> | string): string {
  const folder = temporaryFolder();
  const files = typeof policy === 'string' ? { 'policy.yaml': policy } : policy;
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

const streams = new Set<Response>();

/**
 * Keeps a reference to a stream that no test reads. Without the reference, the garbage collector closes the stream's connection, which the
 * server takes for a client that disconnects.
 */
async function kept(answer: Promise<Response>): Promise<Response> {
  const response = await answer;
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) streams.add(response);
  return response;
}

/** Starts the real server on a free port, and waits until it listens. */
export async function startSignalbox(options: StartOptions = {}): Promise<Signalbox> {
  const start = startOf(options);
  if (options.isProcess) return startProcess(start);
  const { SIGNALBOX_STORE: store } = process.env;
  const isElsewhere = store !== undefined && options.data === undefined && options.openStore === undefined;
  // This module is loaded only when needed, because it starts servers as well.
  return isElsewhere ? (await import('./elsewhere.ts')).startElsewhere(store, options) : startHere(start, options);
}

async function startHere(start: Start, options: StartOptions): Promise<Signalbox> {
  const lines: string[] = [];
  const isOnFile = options.openStore === undefined && options.env?.DATABASE_URL === undefined;
  if (options.data === undefined && isOnFile) await layStore(join(start.data, 'signalbox.db'));
  const { url, stop, signal, exited } = await serveHere(start.args, start.env, lines, options);
  const noProcess = (): never => {
    throw new Error('this server runs in the process of the test; ask for `isProcess`');
  };
  return Object.defineProperties(
    {
      ...callerOf(start, url, lines, stop),
      pid: 0,
      errors: Promise.resolve(''),
      signal: (name: Signal) => (name === 'SIGKILL' ? noProcess() : signal(name)),
      exited,
    },
    { pid: { get: noProcess }, errors: { get: noProcess } },
  );
}

async function startProcess(start: Start): Promise<Signalbox> {
  const { child, lines, errors, url } = await launch(start.args, start.env);
  const stop = async () => {
    child.kill('SIGKILL');
    await child.exited;
  };
  const { pid, exited } = child;
  return { ...callerOf(start, url, lines, stop), pid, errors, signal: (name) => child.kill(name), exited };
}

type Start = ReturnType<typeof startOf>;

function startOf(options: StartOptions) {
  const data = options.data ?? temporaryFolder();
  const policies = options.policy === undefined ? null : writePolicy(options.policy);
  const key = options.env?.SIGNALBOX_API_KEY ?? OWN_KEY;
  const folder = policies ? ['--policies', policies] : [];
  return {
    data,
    key,
    args: ['serve', '--port', '0', '--data', data, ...folder, ...(options.args ?? [])],
    env: { SIGNALBOX_API_KEY: key, ...options.env },
    /** Removes the folders that were created for the server. */
    clear() {
      if (!options.data) rmSync(data, { recursive: true, force: true });
      if (policies) rmSync(policies, { recursive: true, force: true });
    },
  };
}

function callerOf(
  { data, key, env, clear }: ReturnType<typeof startOf>,
  url: string,
  lines: string[],
  end: () => Promise<void>,
): Omit<Signalbox, 'pid' | 'errors' | 'signal' | 'exited'> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const place = Object.fromEntries(Object.entries(env).filter(([name]) => name === 'DATABASE_URL'));
  return {
    url,
    key,
    data,
    lines,
    post: (path, body, init = {}) =>
      kept(
        fetch(url + path, {
          method: 'POST',
          body: JSON.stringify(body),
          ...init,
          headers: { ...headers, ...init.headers },
        }),
      ),
    get: (path, init = {}) => fetch(url + path, { ...init, headers: { ...headers, ...init.headers } }),
    run: (...command) => runHere([...command, '--data', data], place),
    async makeKey(...flags) {
      const { code, out, err } = await runHere(['keys', 'create', ...flags, '--data', data], place);
      if (code !== 0) throw new Error(err);
      // The command waits five seconds for the server and then warns. A server reads its keys before it lists them, so a request for the
      // list makes a new key known.
      if (err !== '') await fetch(`${url}/admin/keys`, { headers });
      return out.split('\n')[0] ?? '';
    },
    async stop() {
      await end();
      clear();
    },
  };
}

/** Starts the program with exactly these arguments and this environment, and waits until it listens. */
export async function launch(args: readonly string[], env: Readonly<Record<string, string>>, cwd?: string) {
  const child = Bun.spawn([PROGRAM, ...args], {
    env: cleanEnvironment(env),
    cwd,
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const lines: string[] = [];
  const listening = readLines(child.stdout, lines);
  const errors = new Response(child.stderr).text();
  const url = await Promise.race([listening, child.exited.then(() => null)]);
  if (url === null) throw new Error(`the server ended: ${await errors}\n${lines.join('\n')}`);
  return { child, lines, errors, url };
}

/** Collects lines; resolves with the address once a line contains it. */
function readLines(stream: ReadableStream<Uint8Array>, lines: string[]): Promise<string> {
  return new Promise((resolve) => {
    void (async () => {
      const decoder = new TextDecoder();
      let rest = '';
      for await (const chunk of stream) {
        const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
        rest = parts.pop() ?? '';
        for (const line of parts) {
          lines.push(line);
          const address = addressIn(line);
          if (address) resolve(address);
        }
      }
    })();
  });
}
