import { pause, type Timers } from '../core/timers.ts';
import type { Gateway } from '../request/gateway.ts';
import { passOverConnections } from './listening-sockets.ts';

/** The interval of looks at the clock, ms. */
const LOOK_MS = 20;
/** Time for callers with open connections to be answered and come anew, ms. */
const MOVE_MS = 1_000;
/** Time for connections that have begun to be complete and accepted, ms. */
const ACCEPT_MS = 200;

/** The least time that it takes, ms. */
export const LEAVE_MS = MOVE_MS + ACCEPT_MS + MOVE_MS;

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
export async function leave({ gateway, port, drainMs, timers, stopListening }: LeavingServer): Promise<void> {
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
