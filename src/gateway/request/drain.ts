import { SignalboxError } from '../../core/errors.ts';
import { pause, type Timers } from '../../core/time/timers.ts';
import type { Gateway } from './gateway.ts';
import type { RequestContext } from './request-context.ts';

/** The interval at which the requests in flight are checked, ms. */
const LOOK_MS = 20;

/**
 * Waits for the requests in flight, for at most `patienceMs`. After that time, the requests still in flight end with an error and are
 * settled.
 */
export async function drain({ inFlight, clock, log }: Gateway, patienceMs: number, timers: Timers): Promise<void> {
  const until = clock() + patienceMs;
  while (inFlight.size > 0 && clock() < until) await pause(timers, LOOK_MS);
  if (inFlight.size === 0) return;
  log.warn('requests were cut off by the shutdown', { requests: inFlight.size });
  for (const request of inFlight.all()) request.cutOff(cutOffError());
}

/** The error for a request that arrives after the shutdown has begun. */
export const shuttingDown = (): SignalboxError =>
  new SignalboxError('overloaded', 'The server is shutting down; try again.', { retryAfterMs: 1_000 });

/**
 * Runs work that a shutdown waits for.
 * @throws SignalboxError `overloaded` once the shutdown has begun
 */
export async function inFlight<T>(
  gateway: Pick<Gateway, 'isDraining' | 'inFlight'>,
  context: RequestContext,
  work: () => Promise<T>,
): Promise<T> {
  if (gateway.isDraining) throw shuttingDown();
  context.enterFlight(gateway.inFlight);
  try {
    return await work();
  } finally {
    context.leaveFlight();
  }
}

/** The part of the answer that was written before the shutdown is charged, so the error tells clients not to repeat the request blindly. */
const cutOffError = () =>
  new SignalboxError('overloaded', 'The server shut down before the answer ended.', { retry: false });
