import { SignalboxError } from '../core/errors.ts';
import type { Gateway, InFlight } from './gateway.ts';

/** The interval of looks at the requests under way, ms. */
const LOOK_MS = 20;

/** Waits for the requests under way, at most `patienceMs`, then ends the rest with an error and settles them. */
export async function drain({ inFlight, clock, log }: Gateway, patienceMs: number): Promise<void> {
  const until = clock() + patienceMs;
  while (inFlight.size > 0 && clock() < until) await Bun.sleep(LOOK_MS);
  if (inFlight.size === 0) return;
  log.warn('requests were cut off by the shutdown', { requests: inFlight.size });
  const requests = [...inFlight];
  // The money that one gives back may let another begin, which must not run on into the exit.
  for (const request of requests) request.isCut = true;
  for (const { exchange } of requests) exchange?.abandon(cutOff());
}

/** Adds a request to those that a shutdown waits for, until `leave`. */
export function enter({ inFlight }: Gateway): { request: InFlight; leave: () => void } {
  const request: InFlight = { exchange: null, isCut: false };
  inFlight.add(request);
  const leave = () => {
    inFlight.delete(request);
    request.exchange = null;
  };
  return { request, leave };
}

/** Notes the exchange of a request under way. After the shutdown has cut it off, abandons the exchange. */
export function attachExchange(request: InFlight, exchange: NonNullable<InFlight['exchange']>): void {
  request.exchange = exchange;
  if (request.isCut) exchange.abandon(cutOff());
}

export function drainingError(): SignalboxError {
  return new SignalboxError('overloaded', 'This gateway is shutting down; try again.', { retryAfterMs: 1_000 });
}

/** What was made until then is charged, so nobody should repeat the request blindly. */
const cutOff = () =>
  new SignalboxError('overloaded', 'This gateway shut down before the answer ended.', { retry: false });
