import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { processArguments, processFolder, type ServeOptions } from '../../admin/use-cases/serve-options.ts';
import { within } from '../../core/time/timers.ts';
import type { Sink } from '../../host/telemetry/sink.ts';
import { isOfFunds } from '../../ledger/metrics.ts';
import { dataFolders, settlementsIn } from '../../store/open.ts';
import { makeDataFolder, processFolders, spoolOf } from '../data.ts';
import type { Host } from '../host.ts';
import { listenError, takePort, urlOf } from '../listen.ts';
import { openServerLog } from '../log.ts';
import { unpackPolicies } from '../shipped-policies.ts';
import { onStopSignals } from '../stop-signals.ts';
import { hasTerminal } from '../terminal.ts';
import { openDoor } from './control.ts';
import { Fleet } from './fleet.ts';
import type { StartProcess } from './member.ts';
import { mergedPage } from './metrics-page.ts';

/**
 * Serves with several processes that share one port, and restarts processes that end, until the server is stopped.
 * @throws UsageError if the processes cannot start
 */
export async function serveProcesses(
  options: ServeOptions & { readonly processes: number },
  host: Host,
  program: readonly string[],
): Promise<void> {
  const sink = host.openSink();
  const { log, written } = openServerLog(options, { ...host, openSink: () => sink });
  const { home, processes, drainMs } = options;
  // Processes that share a port would not notice another server on it.
  const port = await takePort(options.host, options.port);
  makeDataFolder(join(home, 'processes'));
  const { isFolderLocked, lockFolder } = await dataFolders();
  const lock = lockFolder(home);
  const shared = {
    ...options,
    policies: unpackPolicies(options.policies, home) ?? options.policies,
    port,
    // The log lines of the processes go through a pipe. The processes format their log lines for people, without colours.
    log: options.log === 'auto' && host.out.isTerminal ? ('pretty' as const) : options.log,
  };
  const start = processStarter((number) => [...program, ...processArguments(shared, number)], sink, host);
  const { clock, timers } = host;
  const waiting = () => unbookedIn(options);
  // If an earlier parent was killed, its child processes may still be ending.
  const isTaken = (number: number) => isFolderLocked(processFolder(home, number));
  const fleet = new Fleet({ count: processes, drainMs, start, waiting, isTaken, clock, timers, log });
  const metrics = options.metrics ? await serveMetrics(options, fleet) : null;
  let closeDoor = () => {};
  const stop = async (signal: string) => {
    log.info('draining', { signal });
    closeDoor();
    void metrics?.stop(true);
    const code = await fleet.stop();
    lock.release();
    log.info('stopped');
    await written();
    host.exit(code);
  };
  onStopSignals(host, stop);
  host.on('SIGHUP', () => (host.out.isTerminal && !hasTerminal() ? void stop('SIGHUP') : fleet.reload()));

  if (!(await fleet.start())) return;
  closeDoor = await openDoor(home, (left) => fleet.restart(left));
  await fleet.allServe;
  const address = urlOf(options.host, shared.port);
  log.info('all processes serve', { address, processes, metrics: metrics && urlOf(options.host, metrics.port ?? 0) });
}

/** The most characters of a line of the standard error that are kept. */
const PROBLEM_MAX = 1_000;
/**
 * How long to wait for the last line of a process's standard error, ms. A program that a plugin started may keep the standard error open.
 */
const LAST_LINE_MS = 1_000;

/**
 * Starts processes and copies their log lines to the log of this process as complete lines. If they shared one pipe, their lines could mix.
 * The parent copies the standard error of each process in the same way.
 */
const processStarter =
  (
    commandOf: (number: number) => string[],
    sink: Pick<Sink, 'write'>,
    { err, timers }: Pick<Host, 'err' | 'timers'>,
  ): StartProcess =>
  (number, onMessage) => {
    const child = Bun.spawn(commandOf(number), { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', ipc: onMessage });
    let problem: string | null = null;
    void passLines(child.stdout, (lines) => sink.write(lines));
    const errors = passLines(child.stderr, (lines) => {
      err.write(lines);
      problem = lastLine(lines) ?? problem;
    });
    return {
      pid: child.pid,
      exited: child.exited.then((code) => within(timers, LAST_LINE_MS, errors, undefined).then(() => code)),
      problem: () => problem,
      send: (message) => void child.send(message),
      kill: () => child.kill('SIGKILL'),
    };
  };

async function passLines(from: AsyncIterable<Uint8Array>, write: (lines: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of from) {
    rest += decoder.decode(chunk, { stream: true });
    const end = rest.lastIndexOf('\n') + 1;
    if (end > 0) write(rest.slice(0, end));
    rest = rest.slice(end);
  }
  if (rest !== '') write(`${rest}\n`);
}

/** Returns the last line that is not blank, without the name of the program; null if there is none. */
function lastLine(lines: string): string | null {
  const line = lines
    .trimEnd()
    .split('\n')
    .at(-1)
    ?.trim()
    .replace(/^signalbox: /, '');
  return line ? line.slice(0, PROBLEM_MAX) : null;
}

/**
 * Returns the numbers of the processes whose data folders have settlements that the database lacks, because the process was killed before
 * it booked the settlements.
 */
async function unbookedIn({ home, database }: ServeOptions): Promise<number[]> {
  const found = processFolders(home).map(async ([number, data]) => {
    const spool = spoolOf(data);
    return existsSync(spool) && (await settlementsIn(database, spool)) !== 0 ? [number] : [];
  });
  return (await Promise.all(found)).flat();
}

async function serveMetrics({ host: hostname, metricsPort: port }: ServeOptions, fleet: Fleet) {
  try {
    return Bun.serve({
      hostname,
      port,
      async fetch({ url, method }) {
        const at = URL.parse(url);
        // The server answers 421 if the Host header is not a valid host.
        if (!at) return new Response(null, { status: 421 });
        if (at.pathname !== '/metrics') return new Response(null, { status: 404 });
        if (method !== 'GET') return new Response(null, { status: 405, headers: { allow: 'GET' } });
        const page = mergedPage(await fleet.pages(), isOfFunds);
        return new Response(page, { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } });
      },
    });
  } catch (cause) {
    throw await listenError(hostname, port, cause, '--metrics-port');
  }
}
