import { resolve } from 'node:path';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { type Timers, within } from '../core/time/timers.ts';
import type { Surface } from '../dialects/surface.ts';
import type { Log } from '../host/telemetry/log.ts';
import { isShared, placeOfStore } from '../store/open.ts';
import { announce, isSimulated, warnOfSetup, whoAnswers } from './announce.ts';
import { consoleHint } from './console.ts';
import { openDoors } from './doors.ts';
import { openEdge } from './edge.ts';
import { handOver, openFirstKey } from './first-key.ts';
import { startPolicy } from './first-policy.ts';
import { openGateway } from './gateway.ts';
import type { Host } from './host.ts';
import { ServerLife } from './life.ts';
import { openProcessParts } from './process-parts.ts';
import { openServerData } from './server-data.ts';
import { openShutdown } from './shutdown.ts';
import { onStopSignals } from './stop-signals.ts';
import { hasTerminal } from './terminal.ts';
import { keepTrail } from './trail-note.ts';
import { tellOfUnpriced } from './unpriced-notes.ts';
import { settle } from './upkeep.ts';

/** The server logs a start that takes longer than this, ms. With a nearby database, a start takes a fraction of this time. */
export const SLOW_START_MS = 5_000;

/** The longest time that a start waits for the first tokens of token sources, ms. */
const TOKENS_MS = 5_000;

/**
 * Starts a server and serves until the server is stopped.
 * @param surfaces the dialects that callers may use
 * @throws UsageError if the server cannot start; then it has served no request
 */
export async function serve(options: ServeOptions, around: Host, surfaces: readonly Surface[]): Promise<void> {
  const { out, timers, on } = around;
  const life = new ServerLife();
  // Without a handler, SIGHUP would end the process. Until there is a policy to reload, the handler of SIGHUP does nothing.
  let onHangup = () => {};
  on('SIGHUP', () => onHangup());
  const parts = await openProcessParts(options, around, life);
  const { log, host, sources, defects, written } = parts;
  const database = isShared(options.database) ? await placeOfStore(options.database) : null;
  using _told = tellOfWait(database, log, timers);
  const { first, tools, feed, rooms } = await startPolicy(options, host, parts);
  const { snapshot } = first.runtime;
  const { socketBytesMax } = snapshot.gateway;
  const data = await openServerData(options, { ...parts, life, folder: tools.folder });
  const { store, keys, people, note } = data;
  const resources = { store, keys, people, log, host, feed, life };
  const opened = await openGateway(first, tools, resources, options);
  const { gateway, reloader, reporter } = opened;
  data.followBudgets(opened.recount);
  // Calls without a token count as refused keys, which are not tried for a while.
  sources.onSuccess = () => tools.health.reloaded(reloader.lease().snapshot, reloader.lease().accountOf);
  const edge = await openEdge(opened, resources, options, { ...parts, surfaces, rooms, socketBytesMax });
  await note.keep(store, timers);
  await keepTrail(options.data, resources, reporter);
  // The server creates the first key before it opens the port, so that no request can find a server without a key.
  const firstKey = await openFirstKey(keys, options.home, !out.isTerminal);
  const keyPlace = await handOver(firstKey, out, log);
  await within(timers, TOKENS_MS, sources.tried(), undefined);
  const doors = await openDoors(edge.app, resources, options, { socketBytesMax, idleS: around.stalledS });
  const { address } = doors;

  // The server sets its signal handlers before it reports that it is ready, because a Ctrl-C may follow at once.
  edge.alerts.begin();
  life.closes.defer(() => edge.alerts.close());
  const shutdown = openShutdown({ ...options, ...opened, ...doors, store, host, life, written });
  defects.onException(shutdown.byException);
  onStopSignals(around, shutdown.bySignal);
  onHangup = () => void (out.isTerminal && !hasTerminal() ? shutdown.bySignal('SIGHUP') : reloader.reload('signal'));

  // The log lines must reach the terminal before the banner.
  await written();
  const console = consoleHint(snapshot, address, keyPlace);
  const reach = { address, console, database, policies: resolve(tools.folder), policiesFrom: options.policiesFrom };
  announce({ ...reach, simulated: isSimulated(gateway), ...(await whoAnswers(first, out)) }, firstKey, log, out);
  warnOfSetup(gateway, first, { ...host, address }, log);
  void settle(opened.rehearse(), gateway, host);
  // One of several processes is enough.
  if ((options.process ?? 1) === 1) life.stops.defer(tellOfUnpriced(first.runtime, log, timers));
  around.parent?.serving({ ...shutdown, address, metrics: edge.metrics, reload: () => onHangup() });
}

/** Logs once, if a start takes long, that the database is the reason: it is far away, or another server is upgrading its tables. */
function tellOfWait(database: string | null, log: Log, timers: Timers): Disposable {
  const tell = () => log.warn('the start waits for the database', { database });
  const timer = database === null ? null : timers.after(SLOW_START_MS, tell);
  return { [Symbol.dispose]: () => timer?.close() };
}
