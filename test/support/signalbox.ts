import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const MAIN = join(import.meta.dir, '../../src/main.ts');
const BIN = join(import.meta.dir, '../../node_modules/.bin');

/** A strong key, made for a test. */
export function makeTestKey(id = 'test00000001'): string {
  const secret = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url');
  return `sb_live_${id}_${secret}`;
}

export interface StartOptions {
  /** Policy files by name; absent: the shipped policy. */
  readonly policy?: Readonly<Record<string, string>> | string;
  /** Kept between starts when given; else a new folder that `stop` removes. */
  readonly data?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** The file of a program that serves in place of the shipped one. */
  readonly program?: string;
}

export interface Signalbox {
  readonly url: string;
  readonly key: string;
  readonly data: string;
  readonly pid: number;
  /** All that it has printed, line by line. */
  readonly lines: string[];
  /** What it has written to its standard error, once it has ended. */
  readonly errors: Promise<string>;
  /** A request with the key and a JSON body. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  get(path: string, init?: RequestInit): Promise<Response>;
  /** Runs a command of the same program on the same data. */
  run(...args: string[]): Promise<{ code: number; out: string; err: string }>;
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
  readonly exited: Promise<number>;
  /** Ends it and removes its folders. */
  stop(): Promise<void>;
}

/** Nothing of the developer's own keys or settings reaches a test. */
export function cleanEnvironment(extra: Readonly<Record<string, string>>): Record<string, string> {
  const { PATH = '', HOME = '', TMPDIR = '' } = process.env;
  // The program names its interpreter, and the flags for it, in its first line.
  return { PATH: `${BIN}:${PATH}`, HOME, ...(TMPDIR && { TMPDIR }), ...extra };
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'signalbox-test-'));
}

/** Runs a command of the program to its end. */
export function runCommand(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return runToEnd([MAIN, ...args], env);
}

/** Runs any command to its end, with nothing of the developer's own environment. */
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
  return { code, out, err };
}

export function writePolicy(policy: Readonly<Record<string, string>> | string): string {
  const folder = temporaryFolder();
  const files = typeof policy === 'string' ? { 'policy.yaml': policy } : policy;
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

const streams = new Set<Response>();

/**
 * Holds on to a stream that nobody reads: its connection would be closed when the garbage collector comes upon it,
 * which the server takes for a caller who leaves.
 */
async function kept(answer: Promise<Response>): Promise<Response> {
  const response = await answer;
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) streams.add(response);
  return response;
}

/** Starts the real server as a process, on a free port, and waits until it listens. */
export async function startSignalbox(options: StartOptions = {}): Promise<Signalbox> {
  const data = options.data ?? temporaryFolder();
  const policies = options.policy === undefined ? null : writePolicy(options.policy);
  const key = options.env?.SIGNALBOX_API_KEY ?? makeTestKey();
  const args = [
    'serve',
    '--port',
    '0',
    '--data',
    data,
    ...(policies ? ['--policies', policies] : []),
    ...(options.args ?? []),
  ];
  const { child, lines, errors, url } = await launch(
    args,
    { SIGNALBOX_API_KEY: key, ...options.env },
    undefined,
    options.program,
  );

  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return {
    url,
    key,
    data,
    pid: child.pid,
    lines,
    errors,
    exited: child.exited,
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
    run: (...command) => runCommand([...command, '--data', data]),
    signal: (name) => child.kill(name),
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
      if (!options.data) rmSync(data, { recursive: true, force: true });
      if (policies) rmSync(policies, { recursive: true, force: true });
    },
  };
}

/** Starts the program with just these arguments and this environment, and waits until it listens. */
export async function launch(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd?: string,
  program = MAIN,
) {
  const child = Bun.spawn([...(program === MAIN ? [] : ['bun']), program, ...args], {
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

/** Collects lines; resolves with the address once a line tells it. */
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
          const address = /"message":"listening","address":"([^"]+)"/.exec(line)?.[1];
          if (address) resolve(address);
        }
      }
    })();
  });
}
