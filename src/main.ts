#!/usr/bin/env -S DO_NOT_TRACK=1 BUN_CONFIG_MAX_HTTP_REQUESTS=65336 BUN_JSC_heapGrowthFunctionThresholdInMB=1000000 MIMALLOC_PURGE_DELAY=1000 bun --no-install --no-env-file --config=/dev/null --max-http-header-size=262144
import './cli/command-name.ts';
import manifest from '../package.json' with { type: 'json' };
import type { ServeOptions } from './admin/use-cases/serve-options.ts';
import type { CommandHost } from './cli/command.ts';
import { runCommand } from './cli/commands.ts';
import { complaint } from './cli/context.ts';
import { parseCommand } from './cli/options.ts';
import { messageOf } from './core/thrown.ts';
import { steady } from './core/time/clock.ts';
import { pluginIn } from './host/plugins/owners.ts';
import { PROGRAM_FORM } from './host/program.ts';
import { processTimers } from './host/telemetry/process-timers.ts';
import { openSink } from './host/telemetry/sink.ts';
import { stackOf } from './host/telemetry/thrown.ts';
import type { Host } from './server/host.ts';
import type { ParentChannel } from './server/processes/child.ts';
import { defaultPolicies } from './server/shipped-policies.ts';
import { withCommit } from './server/version.ts';

/** This file connects `serve` and the commands to the process: its terminal, signals, files and exit code. */

const terminal = (stream: NodeJS.WriteStream) => ({
  write: (text: string): void => void stream.write(text),
  isTerminal: stream.isTTY === true,
});
/** The file descriptor that log lines are written to. */
const STDOUT = 1;
const out = terminal(process.stdout);
const now = steady(Date.now);
const version = withCommit(manifest.version);
const env = (name: string): string | undefined => process.env[name];

const send = process.stdout.write.bind(process.stdout);

/**
 * Resolves once the text was written, so that the process never writes faster than a slow reader reads. If the reader closes the pipe, the
 * process ends.
 */
const write = (text: string | Uint8Array): Promise<void> =>
  new Promise((done, failed) =>
    send(text, (error) => {
      if (!error) done();
      else if ('code' in error && error.code === 'EPIPE') endWith(0);
      else failed(error);
    }),
  );

/** Whether the result of the command was written. State: command result. */
const result = { isReported: false };

function endWith(code: number): never {
  result.isReported = true;
  process.exit(code);
}

/**
 * Commands call this before they run a plugin of the policy. It redirects the plugin's output to the standard error, because the standard
 * output belongs to the command. If the plugin ends the process, the exit code must not look like a command that found nothing.
 */
function mindPlugins(): void {
  for (const name of ['log', 'info', 'debug']) Reflect.set(console, name, Reflect.get(console, 'error'));
  process.stdout.write = process.stderr.write.bind(process.stderr);
  process.on('exit', (code) => {
    if (result.isReported) return;
    process.stderr.write(
      'signalbox: A plugin of the policy ended the process before the command was done. Remove the call that exits from the plugin.\n',
    );
    if (code === 0) process.exitCode = 1;
  });
  mindDefects();
}

/** A promise that a plugin leaves rejected does not end the command, as it does not end a server, but the exit code is then not 0. */
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

/** @returns one line where a plugin is to blame; the message with its stack where Signalbox itself may have the defect */
function faultOf(plugin: string | null, deed: string, thrown: unknown): string {
  const stack = stackOf(thrown);
  if (plugin === null) return `A plugin, or Signalbox itself, ${deed}: ${stack}`;
  return `The plugin \`${plugin}\` ${deed}: ${stack.split('\n', 1)[0]}`;
}

const warn = (text: string): void => void process.stderr.write(text);
const complain = (text: string): void => warn(complaint(text));

/** Aborts the running command on Ctrl-C, on SIGTERM and when the terminal closes. */
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

/** The channel to the parent process, if this process is one of several (`--processes`). */
const channel: ParentChannel = {
  send: (message) => void process.send?.(message),
  onMessage: (listener) => void process.on('message', listener),
  onEnd: (listener) => void process.on('disconnect', listener),
};

const parent = async () => (await import('./server/processes/child.ts')).parentOver(channel, () => process.exit(1));

const hostOf = async (isChild = false): Promise<Host> => ({
  version,
  shipped: await shippedPlugins(),
  // A child process writes to a pipe: only its parent may treat the terminal as its own.
  out: { ...out, isTerminal: out.isTerminal && !isChild },
  ...(isChild && { parent: await parent() }),
  err: terminal(process.stderr),
  env,
  now,
  clock: () => performance.now(),
  timers: processTimers,
  openSink: () => openSink(STDOUT),
  shrink: () => Bun.shrink(),
  on: (event, listener) => void process.on(event, listener),
  exit: process.exit,
});

async function serve(options: ServeOptions): Promise<void> {
  const [server, { SURFACES }, host] = await Promise.all([
    import('./server/serve.ts'),
    import('./dialects/surfaces.ts'),
    hostOf(options.process !== null),
  ]);
  return server.serve(options, host, SURFACES);
}

/** The command line that starts another process of this program. */
const program =
  PROGRAM_FORM === 'binary' ? [process.execPath] : [process.execPath, ...process.execArgv, import.meta.path];

async function serveBy(processes: number, options: ServeOptions): Promise<void> {
  const [{ serveProcesses }, host] = await Promise.all([import('./server/processes/serve.ts'), hostOf()]);
  return serveProcesses({ ...options, processes }, host, program);
}

const commandHost: CommandHost = {
  version,
  shipped: shippedPlugins,
  terminal: out.isTerminal,
  env,
  now,
  write,
  warn,
  input: () => Bun.stdin.text(),
  ended,
  mindPlugins,
};

/**
 * The same settings as in this file's first line. Bun reads that line at its start; the standalone program has no such line. Without
 * `heapGrowthFunctionThresholdInMB`, on a machine with much memory the engine lets garbage grow to twice the live heap before it collects.
 * With it, garbage grows to once the live heap, on every machine. Freed memory returns to the system after a second (ms): most of it is
 * used again sooner, and returning it at once costs 5 % of a request's time.
 */
const SETTINGS = {
  DO_NOT_TRACK: '1',
  BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
  BUN_JSC_heapGrowthFunctionThresholdInMB: '1000000',
  MIMALLOC_PURGE_DELAY: '1000',
};

/** Restarts the standalone program with its settings, as the same process. */
function useSettings(): void {
  if (PROGRAM_FORM !== 'binary' || Object.entries(SETTINGS).every(([name, value]) => process.env[name] === value))
    return;
  process.execve?.(process.execPath, [process.execPath, ...process.argv.slice(2)], { ...process.env, ...SETTINGS });
}

async function main(): Promise<void> {
  const command = parseCommand(process.argv.slice(2), process.env, defaultPolicies);
  if (command.name === 'serve') {
    useSettings();
    const { options } = command;
    return options.processes === null ? serve(options) : serveBy(options.processes, options);
  }
  const code = await runCommand(command, commandHost);
  result.isReported = true;
  process.exitCode = code || process.exitCode;
}

main().catch((error: unknown) => {
  complain(messageOf(error));
  endWith(1);
});
