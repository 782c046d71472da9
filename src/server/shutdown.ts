import type { Idempotency } from '../access/idempotency/idempotency.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { pause, type Timers, within } from '../core/time/timers.ts';
import { drain } from '../gateway/request/drain.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import type { X402Gateway } from '../http/x402/services.ts';
import { isShared } from '../store/open.ts';
import { passOverConnections } from './listening-sockets.ts';
import type { ServerResources } from './resources.ts';

/** The time for the last error events of streams to reach their readers, ms. */
const FAREWELL_MS = 1_000;
/** The time that a server has to release its slot at the database if it ends at once, ms. */
const RELEASE_MS = 500;

/** What a server ends with. */
interface ServerParts
  extends Pick<ServeOptions, 'database' | 'drainMs'>,
    Pick<ServerResources, 'store' | 'host' | 'life'> {
  readonly gateway: X402Gateway;
  readonly idempotency: Idempotency;
  /** The address that the server listens at. */
  readonly address: string;
  /** Stops accepting connections. Resolves once the last connection is closed. */
  stopListening(): Promise<unknown> | undefined;
  /** Resolves once all log lines are written. */
  written(): Promise<void>;
}

/** Ends the server in a fixed order, once. State: shutdown. */
export function openShutdown(parts: ServerParts) {
  const { gateway, host, written } = parts;
  const { log } = gateway;
  let code: 0 | 1 = 0;
  let [hasBegun, isSignalled] = [false, false];
  const begin = (cause: { readonly signal?: string; readonly cause?: string }): void => {
    if (hasBegun) return;
    hasBegun = true;
    log.info('draining', { ...cause, requests: gateway.inFlight.size });
    // A service manager does not stop a server with Ctrl-C, so after a Ctrl-C no load balancer must learn of the end first.
    const isByHand = cause.signal === 'SIGINT' && gateway.inFlight.size === 0;
    void closeAll(parts, isByHand)
      .then(
        () => {
          code ||= parts.life.exitCode;
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
  // Without the release, the server's slot at the database and its holds would stay taken until the server's lease runs out.
  const end = () =>
    void within(host.timers, RELEASE_MS, parts.store.instance.release(), undefined).then(() => host.exit(1));
  return {
    /** Makes clients move to another process on the port, then drains, and ends the process with exit code 0. */
    leave: () => void leave({ ...parts, timers: host.timers }).then(stop),
    /** Drains, and ends the process with exit code 0. */
    stop,
    /** Ends the process with exit code 1. */
    end,
    /**
     * A signal drains the server and ends the process with exit code 0. Without a parent, a second signal ends the process at once with 1.
     * With a parent, the process ignores further signals, because a signal to the process group reaches the parent as well.
     */
    bySignal(signal: string) {
      if (isSignalled && !host.parent) return end();
      isSignalled = true;
      begin({ signal });
    },
    /** Drains, and ends the process with exit code 1. Further exceptions during the drain do not cut off the requests in progress. */
    byException(): void {
      code = 1;
      begin({ cause: 'uncaught exception' });
    },
  };
}

async function closeAll(parts: ServerParts, isByHand: boolean): Promise<void> {
  const { database, drainMs, host, gateway, idempotency, life } = parts;
  const { clock } = gateway;
  const until = clock() + drainMs;
  // Clients need time to find the other servers that share the database. The server does not wait for its clients to leave if they have
  // already moved to another process at this port, or if the drain is shorter than that wait.
  if (!isByHand && isShared(database) && !gateway.isLeaving && drainMs >= LEAVE_MS) {
    gateway.isEnding = true;
    await leave({ ...parts, drainMs: 0, timers: host.timers });
  }
  life.stops.dispose();
  const stopped = parts.stopListening();
  await drain(gateway, until - clock(), host.timers);
  // The next start of the server closes the requests whose payments are not settled by now.
  gateway.payments.close();
  await Promise.race([Promise.all([stopped, idempotency.idle()]), pause(host.timers, FAREWELL_MS)]);
  await life.closes.disposeAsync();
}

/** The interval at which the clock is read, ms. */
const LOOK_MS = 20;
/** The time for clients with open connections to be answered and to connect again, ms. */
const MOVE_MS = 1_000;
/** The time for connections that have begun to be completed and accepted, ms. */
const ACCEPT_MS = 200;

/** The least time that `leave` takes, ms. */
const LEAVE_MS = MOVE_MS + ACCEPT_MS + MOVE_MS;

interface LeavingServer {
  readonly gateway: Pick<Gateway, 'isLeaving' | 'inFlight' | 'clock'>;
  readonly address: string;
  readonly drainMs: number;
  readonly timers: Timers;
  stopListening(): unknown;
}

/**
 * Makes clients move to another process on the port, without an error for any client: answers close their connections, then the server
 * accepts no new connections. Resolves once this process handles no request, or after `drainMs`.
 */
async function leave({ gateway, address, drainMs, timers, stopListening }: LeavingServer): Promise<void> {
  const { clock } = gateway;
  const until = clock() + drainMs;
  const pass = async (ms: number) => {
    for (const end = clock() + ms; clock() < end; ) await pause(timers, LOOK_MS);
  };
  gateway.isLeaving = true;
  await pass(MOVE_MS);
  passOverConnections(Number(new URL(address).port));
  await pass(ACCEPT_MS);
  stopListening();
  // The headers of a stream that began earlier did not announce that the connection closes, so its client may send one more request.
  do await pass(MOVE_MS);
  while (gateway.inFlight.size > 0 && clock() < until);
}
