import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from './answers.ts';
import { UPSTREAM_ENV } from './policies.ts';
import { type Signalbox, type StartOptions, startSignalbox, temporaryFolder } from './signalbox.ts';

/** The body of `GET /admin/policy`. */
export interface PolicyAnswer {
  readonly revision: string;
  readonly since: string;
  readonly files: readonly string[];
  readonly models: number;
  readonly warnings: readonly { readonly code: string }[];
  readonly outdated_plugins: readonly string[];
  readonly last_reload: ReloadAnswer;
  readonly previous: { readonly revision: string; readonly changes: ReloadAnswer['changes'] } | null;
}

export interface ReloadAnswer {
  readonly time: string;
  readonly took_ms: number;
  readonly cause: string;
  readonly result: 'applied' | 'unchanged' | 'refused';
  readonly revision: string;
  readonly message: string;
  readonly diagnostics: readonly {
    readonly code: string;
    readonly file: string;
    readonly line: number;
    readonly message: string;
  }[];
  readonly changes: readonly {
    readonly change: string;
    readonly section: string;
    readonly name: string | null;
    readonly keys?: readonly { readonly key: string; readonly from?: unknown; readonly to?: unknown }[];
  }[];
}

/** A server whose policy folder the test writes to. */
export interface LivePolicy {
  readonly box: Signalbox;
  /** The policy folder, inside a folder of its own. */
  readonly folder: string;
  readonly file: (name: string) => string;
  write(name: string, text: string): void;
  /** Writes a new file and renames it over the old one, as editors do. */
  replace(name: string, text: string): void;
  status(): Promise<PolicyAnswer>;
  reload(headers?: Record<string, string>): Promise<Response>;
  /** Waits until the active revision differs from `revision`, at most as long as an edit may take. */
  changedFrom(revision: string, ms?: number): Promise<PolicyAnswer>;
  /** Waits until the server has refused the latest edit. */
  refused(ms?: number): Promise<PolicyAnswer>;
  metrics(): Promise<Map<string, number>>;
  stop(): Promise<void>;
}

/** The time limit for activating an edit, ms. Signalbox promises one second; busy test machines get ten. */
export const IN_FORCE_MS = 10_000;

export interface LiveOptions extends Pick<StartOptions, 'clock' | 'data' | 'now'> {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly isProcess?: boolean;
  /** Writes the policy folder; by default `files` are written into it. */
  readonly layOut?: (folder: string) => void;
}

export async function startLivePolicy(
  files: Readonly<Record<string, string>>,
  options: LiveOptions = {},
): Promise<LivePolicy> {
  const home = temporaryFolder();
  const folder = join(home, 'policies');
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  options.layOut?.(folder);
  const args = ['--policies', folder, ...(options.args ?? [])];
  const { clock, data, now } = options;
  const box = await startSignalbox({
    ...(clock && { clock }),
    ...(now && { now }),
    ...(data && { data }),
    env: { ...UPSTREAM_ENV, ...options.env },
    args,
    isProcess: options.isProcess ?? false,
  });
  const file = (name: string) => join(folder, name);
  const status = async () => (await (await box.get('/admin/policy')).json()) as PolicyAnswer;
  const once = (isSo: (answer: PolicyAnswer) => boolean, ms: number) =>
    waitFor(async () => {
      const answer = await status();
      return isSo(answer) ? answer : null;
    }, ms);
  return {
    box,
    folder,
    file,
    status,
    write: (name, text) => writeFileSync(file(name), text),
    replace(name, text) {
      writeFileSync(file(`.${name}.tmp`), text);
      renameSync(file(`.${name}.tmp`), file(name));
    },
    reload: (headers = {}) =>
      fetch(`${box.url}/admin/policy/reload`, {
        method: 'POST',
        headers: { authorization: `Bearer ${box.key}`, ...headers },
      }),
    changedFrom: (revision, ms = IN_FORCE_MS) => once((answer) => answer.revision !== revision, ms),
    refused: (ms = IN_FORCE_MS) => once(({ last_reload: last }) => last.result === 'refused', ms),
    async metrics() {
      const text = await (await fetch(`${box.url}/metrics`)).text();
      const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
      return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
    },
    async stop() {
      await box.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
