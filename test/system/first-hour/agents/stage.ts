import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { listOf, objectOf, parseJson, textOf } from '../../../../plugins/providers/json.ts';
import { waitFor } from '../../../support/answers.ts';
import { temporaryFolder } from '../../../support/signalbox.ts';
import type { Served } from '../stage.ts';
import type { Agent } from './agents.ts';
import { BEFORE, FILE } from './script.ts';

const CLIENTS = join(import.meta.dir, '../../../../docs/clients');
const INSTALL_MS = 300_000;
const RUN_MS = 180_000;
const ENTER_AGAIN_MS = 20_000;
/** How many older versions to try if npm cannot install the package by its name. */
const OLDER_MAX = 5;

/** Returns a `PATH` with the Node of npm's package `node` before the system's Node. */
export const pathOf = (node: string): string => `${node}/node_modules/.bin:${process.env.PATH}`;

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function runHere(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
  ms: number,
) {
  const child = Bun.spawn([...command], { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', timeout: ms });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, out, err } satisfies Outcome;
}

/** Runs npm with the machine's settings, such as its registry and its certificates. */
const npm = (folder: string, path: string, ...args: readonly string[]): Promise<Outcome> =>
  runHere(['npm', ...args, '--prefix', folder], folder, { ...process.env, PATH: path }, INSTALL_MS);

const install = (folder: string, path: string, ...args: readonly string[]) =>
  npm(folder, path, 'install', ...args, '--no-audit', '--no-fund', '--loglevel=error');

/** Installs a major version of Node into its own folder. @returns the folder */
export async function installedNode(major: number): Promise<string> {
  const folder = temporaryFolder();
  const { code, err } = await install(folder, process.env.PATH ?? '', `node@${major}`);
  if (code !== 0) throw new Error(err);
  return folder;
}

export interface InstalledAgent {
  readonly folder: string;
  readonly package: string;
  readonly version: string;
  /** Why npm could not install the package by its name, if an older version was installed instead. */
  readonly nameFails?: string;
}

/** Installs an agent as its page says, with the Node in a path. npm chooses the version. */
export async function installedAgent(agent: Agent, path: string): Promise<InstalledAgent> {
  const folder = temporaryFolder();
  const name = packageOf(agent);
  const installed = () => ({ folder, package: name, version: versionIn(folder, name) });
  const byName = await install(folder, path, '-g', name);
  if (byName.code === 0) return installed();
  const { out } = await npm(folder, path, 'view', name, 'versions', '--json');
  const older = listOf(parseJson(out))
    .map(textOf)
    .filter((version) => !version.includes('-'));
  for (const version of older.slice(-OLDER_MAX - 1, -1).reverse()) {
    const { code } = await install(folder, path, '-g', `${name}@${version}`);
    if (code === 0) return { ...installed(), nameFails: reasonIn(byName.err) };
  }
  throw new Error(`no version of ${name} can be installed: ${byName.err}`);
}

/** Returns the line with the reason in npm's error; the whole error if there is no such line. */
const reasonIn = (err: string): string => /No matching version found for \S+(?=\.\n)/.exec(err)?.[0] ?? err.trim();

function versionIn(folder: string, name: string): string {
  const file = join(folder, 'lib/node_modules', name, 'package.json');
  return textOf(objectOf(parseJson(readFileSync(file, 'utf8'))).version);
}

/** Returns the code blocks of an agent's page, by language. */
function codeIn({ page: [file, heading] }: Agent): ReadonlyMap<string, string> {
  const text = readFileSync(join(CLIENTS, file), 'utf8');
  const part = heading === undefined ? text : text.split(/^## /m).find((one) => one.startsWith(`${heading}\n`))!;
  const blocks = part.matchAll(/^```(\w+)\n(.*?)^```/gms);
  return new Map([...blocks].reverse().map(([, language, code]) => [language!, code!]));
}

/** Returns the package that an agent's page installs. @throws Error if the page has no such command */
function packageOf(agent: Agent): string {
  const [, name] = /^npm install -g (\S+)$/m.exec(codeIn(agent).get('sh') ?? '') ?? [];
  if (name === undefined) throw new Error(`docs/clients/${agent.page[0]} does not install ${agent.name}`);
  return name;
}

/** An agent that is set up in its own home folder as its page says, with a folder to work in. */
export class AgentSetup {
  readonly folder: string;
  readonly #agent: Agent;
  readonly #program: string;
  readonly #env: Record<string, string>;

  constructor(agent: Agent, { folder }: InstalledAgent, path: string, { url, key }: Served, home: string) {
    this.#agent = agent;
    this.#program = join(folder, 'bin', agent.program);
    this.folder = join(home, 'work');
    const filled = (code: string) => code.replaceAll('http://127.0.0.1:8787', url).replaceAll('sb_live_…', key);
    const code = new Map([...codeIn(agent)].map(([language, text]) => [language, filled(text)]));
    const exported = (code.get('sh') ?? '').matchAll(/^export (\w+)=(\S+)/gm);
    // The agent can reach only the gateway.
    const nowhere = { HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1' };
    this.#env = { PATH: path, HOME: home, ...(agent.ignoresNoProxy ? {} : nowhere) };
    for (const [, name, value] of exported) this.#env[name!] = value!;
    const files = { [join(this.folder, FILE)]: BEFORE, ...this.#config(code, home) };
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    this.commands = [...(code.get('sh') ?? '').matchAll(new RegExp(`^${agent.program} (.+)$`, 'gm'))].map(([, args]) =>
      args!.split(' ').filter(Boolean),
    );
  }

  /** The arguments of the page's commands that set up the agent. */
  readonly commands: readonly (readonly string[])[];

  #config(code: ReadonlyMap<string, string>, home: string): Record<string, string> {
    const { config } = this.#agent;
    if (config === undefined) return {};
    return { [join(home, config)]: code.get('json') ?? code.get('toml')! };
  }

  /** Runs the agent to its end. @returns its output @throws Error for an exit code other than 0 */
  async run(args: readonly string[]): Promise<string> {
    const { code, out, err } = await runHere([this.#program, ...args], this.folder, this.#env, RUN_MS);
    if (code !== 0) throw new Error(`${this.#agent.name} ${args.join(' ')}: ${code}\n${out}\n${err}`);
    return out;
  }

  /** Continues the latest session. @param answer the end of the model's answer @returns the agent's output */
  async resume(prompt: string, answer: string): Promise<string> {
    const { resume, terminal } = this.#agent;
    if (resume) return this.run(resume(prompt));
    if (!terminal) throw new Error(`${this.#agent.name} cannot go on with a session`);
    const [last] = listOf(parseJson(await this.run(terminal.sessions)));
    return this.#type(terminal.open(textOf(objectOf(last).sessionId)), terminal.ready, prompt, answer);
  }

  /** Types a prompt into the agent's terminal and waits for the answer. */
  async #type(args: readonly string[], ready: string, prompt: string, answer: string): Promise<string> {
    let drawn = '';
    const decoder = new TextDecoder();
    const child = Bun.spawn([this.#program, ...args], {
      cwd: this.folder,
      env: { ...this.#env, TERM: 'xterm-256color' },
      terminal: {
        cols: 120,
        rows: 40,
        data: (_, bytes) => {
          drawn += decoder.decode(bytes, { stream: true });
        },
      },
    });
    const shown = (): string => Bun.stripANSI(drawn);
    try {
      await waitFor(() => shown().includes(ready), RUN_MS);
      child.terminal!.write(prompt);
      await waitFor(() => shown().includes(prompt), RUN_MS);
      let entered = Number.NEGATIVE_INFINITY;
      await waitFor(() => {
        // An agent that is busy can lose a key. Without text, another Enter does nothing.
        if (performance.now() - entered > ENTER_AGAIN_MS) {
          child.terminal!.write('\r');
          entered = performance.now();
        }
        return shown().includes(answer);
      }, RUN_MS);
      return shown();
    } catch (cause) {
      throw new Error(`${this.#agent.name} has not shown the answer: ${shown().slice(-2_000)}`, { cause });
    } finally {
      child.kill();
      await child.exited;
    }
  }

  get file(): string {
    return readFileSync(join(this.folder, FILE), 'utf8');
  }
}

/** Ends processes that an agent leaves running after its commands, such as cline's hub. */
export async function endProcesses({ folder }: InstalledAgent): Promise<void> {
  const { out } = await runHere(['ps', '-eo', 'pid=,args='], folder, { PATH: process.env.PATH }, RUN_MS);
  for (const line of out.split('\n')) {
    const [pid, program = ''] = line.trim().split(/\s+/);
    if (program.startsWith(`${folder}/`)) process.kill(Number(pid), 'SIGKILL');
  }
}
