import { hash } from 'node:crypto';
import { DAY_MS } from '../core/time/clock.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';
import type { PendingSettlements } from './facilitator/facilitator.ts';

/** How long pending settlements are stored. After this time, their authorizations have long expired. */
const RETENTION_MS = 7 * DAY_MS;

/** Stores pending settlements. The keys of pending settlements contain signatures, so only hashes of the keys are stored. */
export function storedSettlements(
  store: Pick<Store, 'commit'> & Pick<Repositories, 'pendingSettlements'>,
  now: () => number,
): PendingSettlements {
  const table = store.pendingSettlements;
  return {
    get: async (key) => (await table.get(digestOf(key))) ?? undefined,
    set(key, value, also = []) {
      const time = now();
      return store.commit([table.deleteBefore(time - RETENTION_MS), table.put(digestOf(key), value, time), ...also]);
    },
    delete: (key) => store.commit([table.delete(digestOf(key))]),
  };
}

const digestOf = (key: string): string => hash('sha256', key);
