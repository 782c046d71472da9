import { EventEmitter } from 'node:events';
import { shipped } from '../../plugins/index.ts';
import { complaint } from '../../src/cli/context.ts';
import { parseCommand } from '../../src/cli/options.ts';
import { steady } from '../../src/core/time/clock.ts';
import type { Surface } from '../../src/dialects/surface.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import type { Sink } from '../../src/host/telemetry/sink.ts';
import type { Host } from '../../src/server/host.ts';
import { serve } from '../../src/server/serve.ts';
import { defaultPolicies } from '../../src/server/shipped-policies.ts';

const HOUR_MS = 3_600_000;

/** Returns the address in the log line of a server that listens. */
export const addressIn = (line: string): string | undefined =>
  /"message":"listening","address":"([^"]+)"/.exec(line)?.[1];

/** The parts of the server's process that a test can replace; all others are the usual parts. */
export interface HereOptions
  extends Partial<Pick<Host, 'version' | 'now' | 'clock' | 'timers' | 'openStore' | 'stalledS' | 'steps'>> {
  readonly surfaces?: readonly Surface[] | undefined;
}

/**
 * Runs a server inside the test process.
 * @param lines receives the lines of its log
 * @throws Error if it does not start, with the text that the command prints
 */
export async function serveHere(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  lines: string[],
  {
    surfaces = SURFACES,
    version = '0.0.0-test',
    now = Date.now,
    clock = () => performance.now(),
    timers = processTimers,
    openStore,
    stalledS,
    steps,
  }: HereOptions = {},
) {
  const command = parseCommand(args, env, defaultPolicies);
  if (command.name !== 'serve') throw new Error(`${args[0]} does not serve`);
  const events = new EventEmitter();
  const printed: string[] = [];
  const terminal = { write: (text: string) => void printed.push(text), isTerminal: false };
  let skippedMs = 0;
  const { promise: url, resolve: listens } = Promise.withResolvers<string>();
  const { promise: exited, resolve } = Promise.withResolvers<number>();
  const host: Host = {
    version,
    shipped,
    out: terminal,
    err: terminal,
    env: (name) => env[name],
    now: steady(now),
    clock: () => clock() + skippedMs,
    timers,
    openSink: () => sinkTo(lines, listens),
    ...(openStore && { openStore }),
    ...(stalledS !== undefined && { stalledS }),
    ...(steps && { steps }),
    // Uncaught errors belong to the test runner.
    on: (event, listener) => void events.on(event, listener),
    exit: resolve,
  };
  const before = new Set(process.listeners('beforeExit'));
  await serve(command.options, host, surfaces).catch((error: Error) => {
    throw new Error(`the server ended: ${[...printed, complaint(error.message)].join('')}`);
  });
  // Elysia registers this listener to stop its server. The listener would keep the whole server in memory until this process ends.
  for (const listener of process.listeners('beforeExit')) {
    if (!before.has(listener)) process.off('beforeExit', listener);
  }
  let isSignalled = false;
  const signal = (name: 'SIGHUP' | 'SIGINT' | 'SIGTERM'): void => {
    isSignalled ||= name !== 'SIGHUP';
    events.emit(name);
  };
  return {
    url: await url,
    exited,
    signal,
    async stop() {
      if (!isSignalled) signal('SIGTERM');
      // The server then no longer waits for requests in progress.
      skippedMs = HOUR_MS;
      await exited;
    },
  };
}

const sinkTo = (lines: string[], listens: (address: string) => void): Sink => ({
  write(text) {
    for (const line of text.trimEnd().split('\n')) {
      lines.push(line);
      const address = addressIn(line);
      if (address) listens(address);
    }
  },
  drain: () => Promise.resolve(),
  flushNow() {},
  lost: 0,
  onResume() {},
});
