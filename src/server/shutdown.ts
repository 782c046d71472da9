import type { Idempotency } from '../access/idempotency/idempotency.ts';
import type { Alerts } from '../admin/alerts/alerts.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { pause, type Timers, within } from '../core/timers.ts';
import { drain } from '../gateway/request/drain.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import type { Tracer } from '../host/telemetry/tracing/start.ts';
import type { X402Gateway } from '../http/x402/services.ts';
import type { StoreLock } from '../store/driver.ts';
import { isShared } from '../store/open.ts';
import type { GatewayResources } from './gateway.ts';
import type { LedgerNote } from './ledger-note.ts';
import { passOverConnections } from './listening-sockets.ts';
import { closeStore } from './store.ts';

/** Time for the last error events to reach their readers. */
const FAREWELL_MS = 1_000;
/** Time for a server that ends at once to give its place at the database back. */
const RELEASE_MS = 500;

/** The parts of a server that are closed at its end. */
interface ServerParts extends Pick<ServeOptions, 'data' | 'database' | 'drainMs'>, Omit<GatewayResources, 'log'> {
  readonly gateway: X402Gateway;
  readonly idempotency: Idempotency;
  readonly note: LedgerNote;
  readonly lock: StoreLock;
  readonly tracer: Tracer | null;
  readonly alerts: Pick<Alerts, 'close'>;
  /** Stops following the changes of commands. */
  stopTrail(): Promise<void>;
  /** Notes the head of the trail a last time. */
  stopHead(): Promise<void>;
  /** Ends the gateway's timers, and makes it refuse requests. */
  stop(): void;
  /** At which it listens. */
  readonly port: number;
  /** Stops taking connections. Resolves once the last one is closed. */
  stopListening(): Promise<unknown> | undefined;
  /** Resolves once the log is written. */
  written(): Promise<void>;
}

/** Ends the server in order, once. State: shutdown. */
export function openShutdown(parts: ServerParts) {
  const { gateway, host, written } = parts;
  const { log } = gateway;
  let code: 0 | 1 = 0;
  let [hasBegun, isSignalled] = [false, false];
  const begin = (cause: { readonly signal?: string; readonly cause?: string }): void => {
    if (hasBegun) return;
    hasBegun = true;
    log.info('draining', { ...cause, requests: gateway.inFlight.size });
    // Ctrl-C is not how a service manager replaces a server: no balancer is to learn of it first.
    const isByHand = cause.signal === 'SIGINT' && gateway.inFlight.size === 0;
    void closeAll(parts, isByHand)
      .then(
        (closed) => {
          code ||= closed;
          log.info('stopped');
        },
        (error: unknown) => {
          code = 1;
          log.error('the server did not stop cleanly', { error: String(error) });
        },
      )
      .then(written)
      .finally(() => host.exit(code));
  };
  const stop = () => begin({ cause: 'the parent' });
  // Else its place, and what it holds, would stay taken until its lease runs out.
  const end = () =>
    void within(host.timers, RELEASE_MS, parts.store.instance.release(), undefined).then(() => host.exit(1));
  return {
    /** Has callers find another process at the port, then drains, and ends the process with 0. */
    leave: () => void leave({ ...parts, timers: host.timers }).then(stop),
    /** Drains, and ends the process with 0. */
    stop,
    /** Ends the process with 1. */
    end,
    /** Drains, and ends the process with 0. With a parent, which a signal to the group reaches, too, that is all; else the second signal ends it at once, with 1. */
    bySignal(signal: string) {
      if (isSignalled && !host.parent) return end();
      isSignalled = true;
      begin({ signal });
    },
    /** Drains, and ends the process with 1. Whatever is thrown meanwhile does not cut the requests under way. */
    byException(): void {
      code = 1;
      begin({ cause: 'uncaught exception' });
    },
  };
}

/** Resolves with 1 where a settlement is lost, else with 0. */
async function closeAll(parts: ServerParts, isByHand: boolean): Promise<0 | 1> {
  const { database, drainMs, host, gateway, idempotency, keys, store, note, lock, tracer } = parts;
  const { log, clock } = gateway;
  const until = clock() + drainMs;
  const orWarn = (message: string) => (error: unknown) => log.warn(message, { error: String(error) });
  // Callers find other servers at the database; those of another process at this port have left. A shorter drain has no time for it.
  if (!isByHand && isShared(database) && !gateway.isLeaving && drainMs >= LEAVE_MS) {
    gateway.isEnding = true;
    await leave({ ...parts, drainMs: 0, timers: host.timers });
  }
  parts.stop();
  const stopped = parts.stopListening();
  await drain(gateway, until - clock(), host.timers);
  // The next start closes requests that are not settled by now.
  gateway.payments.close();
  await Promise.race([Promise.all([stopped, idempotency.idle()]), pause(host.timers, FAREWELL_MS)]);
  await parts.alerts.close();
  await parts.stopTrail();
  await parts.stopHead();
  keys.close();
  await gateway.questionLengths.close().catch(orWarn('the lengths of questions could not be stored'));
  // After a failure of the disk, the next start sums up the rest.
  await gateway.ledger.close().catch(orWarn('the ledger checkpoint could not be written'));
  await note.close();
  const code = await closeStore(parts, store, log);
  lock.release();
  await tracer?.close();
  return code;
}

/** The interval of looks at the clock, ms. */
const LOOK_MS = 20;
/** Time for callers with open connections to be answered and come anew, ms. */
const MOVE_MS = 1_000;
/** Time for connections that have begun to be complete and accepted, ms. */
const ACCEPT_MS = 200;

/** The least time that it takes, ms. */
const LEAVE_MS = MOVE_MS + ACCEPT_MS + MOVE_MS;

interface LeavingServer {
  readonly gateway: Pick<Gateway, 'isLeaving' | 'inFlight' | 'clock'>;
  readonly port: number;
  readonly drainMs: number;
  readonly timers: Timers;
  stopListening(): unknown;
}

/**
 * Has callers find another process at the port, without an error for any of them: answers close their connections, then no new
 * ones are taken. Resolves once all is quiet here, or after `drainMs`.
 */
async function leave({ gateway, port, drainMs, timers, stopListening }: LeavingServer): Promise<void> {
  const { clock } = gateway;
  const until = clock() + drainMs;
  const pass = async (ms: number) => {
    for (const end = clock() + ms; clock() < end; ) await pause(timers, LOOK_MS);
  };
  gateway.isLeaving = true;
  await pass(MOVE_MS);
  passOverConnections(port);
  await pass(ACCEPT_MS);
  stopListening();
  // The last answer of a stream that began before said nothing of closing: its caller may send once more.
  do await pass(MOVE_MS);
  while (gateway.inFlight.size > 0 && clock() < until);
}
