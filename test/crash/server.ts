import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, MAIN } from '../support/signalbox.ts';

const PRELOAD = join(import.meta.dir, 'crash-points.ts');

export interface ServerOptions {
  readonly data: string;
  readonly policies: string;
  readonly env: Readonly<Record<string, string>>;
  /** Further flags of `serve`. */
  readonly args?: readonly string[];
  /** A command that runs the server, such as a shell that sets a trap. */
  readonly wrap?: readonly string[];
}

export interface Server {
  readonly pid: number;
  /** Null if the server died before it listened. */
  readonly url: string | null;
  /** Everything that the server has logged, line by line. */
  readonly lines: readonly string[];
  /** Everything that the server has printed to stderr; complete once the server has ended. */
  errors(): string;
  /** The time from the start of the process to the line with these words, ms; null until there is one. */
  sawAfter(words: string): number | null;
  /** Resolves with the exit code. */
  readonly exited: Promise<number>;
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
}

/** The interpreter and its flags from the first line of the program, with an option to load another file first. */
function interpreter(): { command: string[]; env: Record<string, string> } {
  const [line = ''] = readFileSync(MAIN, 'utf8').split('\n');
  const words = line.replace('#!/usr/bin/env -S ', '').split(' ');
  const at = words.indexOf('bun');
  if (at < 0) throw new Error(`no interpreter in ${line}`);
  const env = Object.fromEntries(words.slice(0, at).map((word) => word.split('=') as [string, string]));
  return { command: ['bun', '--preload', PRELOAD, ...words.slice(at + 1)], env };
}

/** Starts the real program with the crash points loaded, and waits until it listens or has died. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { command, env } = interpreter();
  const args = ['serve', '--port', '0', '--data', options.data, '--policies', options.policies];
  const spawned = performance.now();
  const child = Bun.spawn([...(options.wrap ?? []), ...command, MAIN, ...args, ...(options.args ?? [])], {
    env: cleanEnvironment({ ...env, ...options.env }),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const lines: string[] = [];
  const times: number[] = [];
  let errors = '';
  const told = Promise.withResolvers<string>();
  const out = eachLine(child.stdout, (line) => {
    lines.push(line);
    times.push(performance.now() - spawned);
    const address = /"message":"listening","address":"([^"]+)"/.exec(line)?.[1];
    if (address) told.resolve(address);
  });
  const err = eachLine(child.stderr, (line) => {
    errors += `${line}\n`;
  });
  const exited = child.exited.then(async (code) => {
    await Promise.all([out, err]);
    return code;
  });
  return {
    pid: child.pid,
    url: await Promise.race([told.promise, exited.then(() => null)]),
    lines,
    errors: () => errors,
    sawAfter(words) {
      const at = lines.findIndex((line) => line.includes(words));
      return times[at] ?? null;
    },
    exited,
    signal: (name) => child.kill(name),
  };
}

async function eachLine(stream: ReadableStream<Uint8Array>, take: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) take(line);
  }
  if (rest !== '') take(rest);
}
