import { SignalboxError } from '../core/errors.ts';
import type { Exchange } from './exchange.ts';
import type { Gateway, Seat } from './gateway.ts';

/** How often to look whether the last exchange has ended, ms. */
const LOOK_MS = 20;

/** Waits for the exchanges under way, at most `patienceMs`, then ends the rest with an error and settles them. */
export async function drain({ exchanges, clock, log }: Gateway, patienceMs: number): Promise<void> {
  const until = clock() + patienceMs;
  while (exchanges.size > 0 && clock() < until) await Bun.sleep(LOOK_MS);
  if (exchanges.size === 0) return;
  log.warn('requests were cut off by the shutdown', { requests: exchanges.size });
  const seats = [...exchanges];
  // What one gives back may let another begin, which must not run on into the exit.
  for (const seat of seats) seat.isCut = true;
  for (const { exchange } of seats) exchange?.abandon(cutOff());
}

/** Takes a seat among what a shutdown waits for, until `leave`. */
export function enter({ exchanges }: Gateway): { seat: Seat; leave: () => void } {
  const seat: Seat = { exchange: null, isCut: false };
  exchanges.add(seat);
  const leave = () => {
    exchanges.delete(seat);
    seat.exchange = null;
  };
  return { seat, leave };
}

/** Puts an exchange on its seat; one that comes too late is cut off like the others. */
export function sit(seat: Seat, exchange: Exchange): void {
  seat.exchange = exchange;
  if (seat.isCut) exchange.abandon(cutOff());
}

export function drainingError(): SignalboxError {
  return new SignalboxError('overloaded', 'This gateway is shutting down; try again.', { retryAfterMs: 1_000 });
}

/** What was made until then is charged, so nobody should repeat the request blindly. */
const cutOff = () =>
  new SignalboxError('overloaded', 'This gateway shut down before the answer ended.', { retry: false });
