import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RUN_MIN } from '../../src/core/text/runs.ts';
import { waitFor } from '../support/answers.ts';
import { cleanEnvironment, PROGRAM } from '../support/signalbox.ts';

/** A random text. Because the text is random, any piece of it that appears somewhere comes from this text. */
export const makeCanary = (bytes = 30): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('base64url');

/** The first three characters of a piece in 16 bits. Most positions in a text fail this quick check. */
const startOf = (text: string, at: number): number =>
  (text.charCodeAt(at) ^ (text.charCodeAt(at + 1) << 5) ^ (text.charCodeAt(at + 2) << 10)) & 0xff_ff;

/** Searches texts for pieces of canaries. A piece has eight characters. */
export class Nets {
  readonly #pieces = new Map<string, string>();
  readonly #starts = new Uint8Array(0x1_00_00);
  /** How many characters were searched. */
  searched = 0;

  /** Adds a canary. `name` says whose piece was found. */
  add(name: string, canary: string): string {
    for (let at = 0; at + RUN_MIN <= canary.length; at++) {
      this.#pieces.set(canary.slice(at, at + RUN_MIN), name);
      this.#starts[startOf(canary, at)] = 1;
    }
    return canary;
  }

  /** Returns the found pieces with the text around them; `except` lists canaries that may appear. */
  find(where: string, text: string, except: readonly string[] = []): string[] {
    this.searched += text.length;
    const found: string[] = [];
    for (let at = 0; at + RUN_MIN <= text.length; at++) {
      if (this.#starts[startOf(text, at)] === 0) continue;
      const name = this.#pieces.get(text.slice(at, at + RUN_MIN));
      if (name === undefined || except.includes(name)) continue;
      found.push(`${where}: ${name} in ${JSON.stringify(text.slice(Math.max(0, at - 60), at + 20))}`);
      at += RUN_MIN * 8;
    }
    return found;
  }
}

/** A response as its receiver sees it: status, headers and body. */
export async function wholeOf(response: Response): Promise<string> {
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`);
  return `${response.status}\n${headers.join('\n')}\n\n${await response.text()}`;
}

/** All files of a data folder as bytes, except for the socket. */
export function filesOf(folder: string): { name: string; text: string }[] {
  const names = readdirSync(folder).filter((name) => !name.endsWith('.sock'));
  return names.map((name) => ({ name, text: readFileSync(join(folder, name)).toString('latin1') }));
}

export interface Watched {
  readonly url: string;
  readonly pid: number;
  /** Everything that the server has printed to both outputs. */
  printed(): string;
  readonly exited: Promise<number>;
  kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** Starts the real server and keeps both of its outputs, either JSON for a pipe or formatted for a terminal. */
export async function watch(
  form: 'json' | 'pretty',
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Watched> {
  let text = '';
  const decoder = new TextDecoder();
  const take = (bytes: Uint8Array) => {
    text += decoder.decode(bytes, { stream: true });
  };
  const command = [PROGRAM, 'serve', '--port', '0', ...args];
  const child =
    form === 'pretty'
      ? Bun.spawn(command, { env: cleanEnvironment(env), terminal: { cols: 200, data: (_, bytes) => take(bytes) } })
      : Bun.spawn(command, { env: cleanEnvironment(env), stdout: 'pipe', stderr: 'pipe' });
  const reading = [child.stdout, child.stderr].map(async (stream) => {
    if (stream instanceof ReadableStream) for await (const bytes of stream) take(bytes);
  });
  const address = () => /"address":"(http[^"]+)"|ready at (http:\/\/[\d.:]+)/.exec(text)?.slice(1).find(Boolean);
  const url = await waitFor(() => address() ?? (child.exitCode === null ? null : 'dead'));
  if (url === 'dead') throw new Error(`the server ended: ${text}`);
  return {
    url,
    pid: child.pid,
    printed: () => text,
    exited: child.exited,
    async kill(signal) {
      child.kill(signal);
      await child.exited;
      await Promise.all(reading);
      if (form === 'pretty') child.terminal?.close();
    },
  };
}
