import { type Instance, isSameInstance, nameOf } from '../store/instance.ts';
import type { TakenNonce } from '../store/payments.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';
import type { GasNonces, GasQueue } from './facilitator/facilitator.ts';

/** How long a server may take from claiming a nonce to sending its transaction, ms. After that, another server may use the nonce. */
const LEASE_MS = 30_000;

interface NonceParts {
  readonly store: Pick<Store, 'append'> & Pick<Repositories, 'gasNonces'>;
  readonly instance: Pick<Instance, 'slot' | 'epoch'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The nonces of gas keys in the store, and the queues of this server. State: gas keys. */
export function storedNonces({ store, instance, now }: NonceParts): GasNonces {
  const table = store.gasNonces;
  const queues = new Map<string, GasQueue>();
  return {
    queueOf: (key) => queues.getOrInsertComputed(key, () => ({ tail: Promise.resolve(), last: null })),
    last: (key) => table.find(key),
    isHeld: ({ owner, time }: TakenNonce) => !isSameInstance(owner, instance) && now() - time < LEASE_MS,
    claim(key, nonce, seen) {
      const taken: TakenNonce = { nonce, time: now(), owner: nameOf(instance) };
      return {
        write: table.take(key, taken, seen),
        release: () => store.append([table.release(key, taken)]),
      };
    },
  };
}
