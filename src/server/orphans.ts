import { Idempotency } from '../access/idempotency/idempotency.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Payments } from '../payments/service.ts';
import type { Lead } from '../store/leaders.ts';
import { logRecovered } from './events.ts';
import type { ServerResources } from './resources.ts';
import { Sweep } from './sweep.ts';

/** Opens the answers to requests with an `Idempotency-Key`. */
export function openIdempotency({ store, host: { timers }, life }: ServerResources, ledger: Ledger): Idempotency {
  const idempotency = new Idempotency({
    ...{ store, now: store.instance.now, instance: store.instance, timers },
    isOpen: ledger.isOpen.bind(ledger),
    giveBack: ledger.giveBack.bind(ledger),
  });
  life.stops.defer(() => idempotency.stopWaiting());
  return idempotency;
}

/** The parts of a server that a dead instance can leave with unfinished work. */
interface SweptParts {
  readonly ledger: Ledger;
  readonly payments: Payments;
  readonly idempotency: Idempotency;
}

/** Resolves the unfinished work of dead instances, one part after the other, at the start and then regularly. */
export async function openSweep(
  { ledger, payments, idempotency }: SweptParts,
  { store: { instance }, log, host: { clock, timers }, life }: ServerResources,
  lead: Lead,
): Promise<void> {
  const onError = (part: string, error: unknown) =>
    log.warn('unfinished work of stopped servers could not be completed', { part, error: String(error) });
  const sweep = new Sweep({ graceMs: ledger.graceMs, instance, clock, timers, onError, lead });
  sweep.add('holds', async () => logRecovered(log, await ledger.sweep()));
  // The sweep resolves payments after holds, because the money of a payment belongs to a hold that must be closed first.
  sweep.add('payments', payments.sweep);
  sweep.add('names', () => idempotency.sweep());
  await sweep.begin();
  life.stops.defer(() => void sweep.stop());
}
