#!/usr/bin/env -S DO_NOT_TRACK=1 BUN_CONFIG_MAX_HTTP_REQUESTS=65336 bun --no-install --no-env-file --config=/dev/null --max-http-header-size=262144
import './cli/command-name.ts';
import { resolve } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { type DataArguments, type HealthArguments, type PolicyArguments, parseCommand } from './cli/options.ts';
import type { CommandResult } from './cli/result.ts';
import { steady } from './core/clock.ts';
import { messageOf } from './core/thrown.ts';
import { UsageError } from './core/usage-error.ts';
import { visibleLines } from './core/visible.ts';
import type { ServeOptions } from './operate/serve-options.ts';
import { pluginIn } from './plugin-host/owners.ts';
import { databaseOf, ledgerOnDisk, spoolOf } from './server/data.ts';
import type { Host } from './server/host.ts';
import { defaultPolicies, SHIPPED_POLICIES } from './server/shipped-policies.ts';
import { storeExists } from './store/open.ts';
import { scrub } from './telemetry/secrets.ts';
import { openSink } from './telemetry/sink.ts';
import { stackOf } from './telemetry/thrown.ts';

/** The commands. Each loads what it needs and no more: the server's parts take ten times as long to load as a key to make. */

const terminal = (stream: NodeJS.WriteStream) => ({
  write: (text: string): void => void stream.write(text),
  isTerminal: stream.isTTY === true,
});
/** The descriptor that log lines go to. */
const STDOUT = 1;
const out = terminal(process.stdout);
const now = steady(Date.now);

const send = process.stdout.write.bind(process.stdout);

/** Resolves once the text was taken, so that a slow reader is not outrun. A reader that closes the pipe ends the process. */
const write = (text: string): Promise<void> =>
  new Promise((done, failed) =>
    send(text, (error) => {
      if (!error) done();
      else if ('code' in error && error.code === 'EPIPE') endWith(0);
      else failed(error);
    }),
  );

/** Whether the result of the command was written. */
let isReported = false;

/** Writes the result of a command. */
async function report({ text, code }: CommandResult): Promise<void> {
  await write(text);
  isReported = true;
  process.exitCode = code || process.exitCode;
}

function endWith(code: number): never {
  isReported = true;
  process.exit(code);
}

/**
 * For commands that run a policy's own code. Its output goes to the standard error: the standard output is the command's.
 * If it ends the process, that must not look like a command without findings.
 */
function mindPlugins(): void {
  for (const name of ['log', 'info', 'debug']) Reflect.set(console, name, Reflect.get(console, 'error'));
  process.stdout.write = process.stderr.write.bind(process.stderr);
  process.on('exit', (code) => {
    if (isReported) return;
    process.stderr.write('signalbox: A plugin of the policy ended the process before the command was done.\n');
    if (code === 0) process.exitCode = 1;
  });
  mindDefects();
}

/** A promise that a plugin leaves rejected ends no command, as it ends no server; its code is no longer 0. */
function mindDefects(): void {
  const blamed = new Set<string | null>();
  process.on('unhandledRejection', (reason) => {
    const plugin = pluginIn(stackOf(reason));
    if (!blamed.has(plugin)) complain(faultOf(plugin, 'left a promise rejection unhandled', reason));
    blamed.add(plugin);
    process.exitCode ||= 1;
  });
  process.on('uncaughtException', (thrown) => {
    complain(faultOf(pluginIn(stackOf(thrown)), 'threw uncaught exception', thrown));
    endWith(1);
  });
}

/** In one line where a plugin is to blame; with the stack where it may be a defect of ours. */
function faultOf(plugin: string | null, deed: string, thrown: unknown): string {
  const stack = stackOf(thrown);
  if (plugin === null) return `A plugin, or Signalbox itself, ${deed}: ${stack}`;
  return `The plugin \`${plugin}\` ${deed}: ${stack.split('\n', 1)[0]}`;
}

function complain(text: string): void {
  process.stderr.write(`signalbox: ${visibleLines(scrub(text))}\n`);
}

/** Turns Ctrl-C, SIGTERM and the end of the terminal into the operator's wish that a command end. */
function ended() {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.once(signal, abort);
  return {
    signal: controller.signal,
    forget(): void {
      for (const signal of signals) process.off(signal, abort);
    },
  };
}

/** The plugins that come with Signalbox. */
const shippedPlugins = async () => (await import('../plugins/index.ts')).shipped;

const hostOf = async (): Promise<Host> => ({
  version: manifest.version,
  shipped: await shippedPlugins(),
  out,
  err: terminal(process.stderr),
  env: (name) => process.env[name],
  now,
  clock: () => performance.now(),
  openSink: () => openSink(STDOUT),
  on: (event, listener) => void process.on(event, listener),
  exit: process.exit,
});

async function serve(options: ServeOptions): Promise<void> {
  const [server, { openaiChat }] = await Promise.all([
    import('./server/serve.ts'),
    import('./surface/openai-chat/surface.ts'),
  ]);
  return server.serve(options, await hostOf(), [openaiChat]);
}

/** The tools that judge policies, which must fit the ledger in the data folder. */
async function judgeFor(data: string) {
  const { judgeTools } = await import('./server/policy.ts');
  return { ...judgeTools(await hostOf()), ledger: await ledgerOnDisk(data) };
}

async function policy({ args, folder, data }: PolicyArguments): Promise<void> {
  const { runPolicy } = await import('./cli/policy/policy.ts');
  mindPlugins();
  const result = await runPolicy(args, {
    judge: await judgeFor(data),
    folder,
    shippedFolder: defaultPolicies(data),
    database: databaseOf(data),
    terminal: out.isTerminal,
    input: () => Bun.stdin.text(),
    write,
    ended,
  });
  await report(result);
}

async function plugin(args: readonly string[]): Promise<void> {
  const { runPlugin } = await import('./cli/plugin/plugin.ts');
  await report(await runPlugin(args, { shipped: await shippedPlugins(), terminal: out.isTerminal }));
}

async function importFrom(args: readonly string[]): Promise<void> {
  const { runImport } = await import('./cli/import/import.ts');
  await report(await runImport(args, { shippedPolicies: SHIPPED_POLICIES, shipped: await shippedPlugins(), now }));
}

async function learn({ args, folder, data }: PolicyArguments): Promise<void> {
  const { runLearn } = await import('./cli/learn/learn.ts');
  const file = await existing(data);
  mindDefects();
  await runLearn(args, { judge: await judgeFor(data), folder, file, terminal: out.isTerminal, now, write });
}

async function decisions({ args, data }: DataArguments): Promise<void> {
  const file = await existing(data);
  const { runDecisions } = await import('./cli/decisions/decisions.ts');
  await write(await runDecisions(args, file));
}

async function ledger({ args, data }: DataArguments): Promise<void> {
  const file = await existing(data);
  const [{ runLedger }, { otherLedgerIn }] = await Promise.all([
    import('./cli/ledger/ledger.ts'),
    import('./server/ledger-note.ts'),
  ]);
  const warn = (text: string) => void process.stderr.write(text);
  // Books of another database, or of an older copy, are not this server's, though nothing in them is wrong.
  const fault = await otherLedgerIn(data);
  if (fault !== null) warn(`signalbox: ${fault}.\n`);
  const code = await runLedger(args, { file, spool: spoolOf(data), now, write, warn });
  process.exitCode = fault === null ? code : 2;
}

async function keysOrWallets(name: 'keys' | 'wallets', { args, data }: DataArguments): Promise<void> {
  const file = await existing(data);
  const [{ isStoreLocked, openStore, readStore }, { openKeys }, note, run] = await Promise.all([
    import('./store/open.ts'),
    import('./access/stored-keys.ts'),
    import('./server/trail-note.ts'),
    name === 'keys'
      ? import('./cli/keys/keys.ts').then(({ runKeys }) => runKeys)
      : import('./cli/wallets.ts').then(({ runWallets }) => runWallets),
  ]);
  // They read the ledger, too: a newer version is refused before anything is written.
  (await readStore(file, ['ledger'])).close();
  const store = await openStore(file, { mode: 'beside', rooms: ['access', 'payments'] });
  const keys = await openKeys({ store, now });
  try {
    const before = await note.lastChange(store);
    // Printed before the wait: a key is shown this once, and a wait can be interrupted.
    out.write(await run(args, { keys, store, file, now }));
    const change = await note.lastChange(store);
    if (change > before && !(await note.servedChange(data, change, () => isStoreLocked(file)))) {
      complain(`The change is saved. ${note.NOT_SERVED}`);
    }
  } finally {
    keys.close();
    await store.close();
  }
}

/** Returns the database in a data folder. Throws UsageError where there is none. */
async function existing(data: string): Promise<string> {
  const file = databaseOf(data);
  if (await storeExists(file)) return file;
  throw new UsageError(
    `There is no database in ${resolve(data)}; start the server once, or name its folder with --data.`,
  );
}

async function askHealth({ args, port }: HealthArguments): Promise<void> {
  const { runHealth } = await import('./cli/health.ts');
  await report(await runHealth(args, port));
}

/** The settings of this file's first line. Bun reads it as it starts; a standalone program has no such line. */
const SETTINGS = { DO_NOT_TRACK: '1', BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' };

/** Restarts the standalone program with its settings, as the same process. */
function useSettings(): void {
  if (!Bun.isStandaloneExecutable || Object.entries(SETTINGS).every(([name, value]) => process.env[name] === value))
    return;
  process.execve?.(process.execPath, [process.execPath, ...process.argv.slice(2)], { ...process.env, ...SETTINGS });
}

async function main(): Promise<void> {
  const command = parseCommand(process.argv.slice(2), process.env, defaultPolicies);
  switch (command.name) {
    case 'help':
      return out.write(command.text);
    case 'version':
      return out.write(`${manifest.version}\n`);
    case 'health':
      return askHealth(command);
    case 'serve':
      useSettings();
      return serve(command.options);
    case 'policy':
      return policy(command);
    case 'plugin':
      return plugin(command.args);
    case 'import':
      return importFrom(command.args);
    case 'learn':
      return learn(command);
    case 'decisions':
      return decisions(command);
    case 'ledger':
      return ledger(command);
    case 'keys':
    case 'wallets':
      return keysOrWallets(command.name, command);
  }
}

main().catch((error: unknown) => {
  complain(messageOf(error));
  endWith(1);
});
