import { hash } from 'node:crypto';
import type { Statement, Store } from '../store/store.ts';
import type { PendingSettlements } from './facilitator/facilitator.ts';

/** By then the authorization that a settlement was sent for has long expired. */
const KEPT_MS = 7 * 86_400_000;

const SELECT: Statement = { sql: 'SELECT value FROM pending_settlements WHERE key = ?' };
const PUT: Statement = {
  sql: `INSERT INTO pending_settlements (key, value, time) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET value = excluded.value, time = excluded.time`,
};
const DELETE: Statement = { sql: 'DELETE FROM pending_settlements WHERE key = ?' };
const PRUNE: Statement = { sql: 'DELETE FROM pending_settlements WHERE time < ?' };

/** Pending settlements in the store. Keys hold signatures, so that only their hashes are kept. */
export function storedSettlements(store: Store, now: () => number): PendingSettlements {
  return {
    async get(key) {
      return (await store.query<{ value: string }>(SELECT, [nameOf(key)]))[0]?.value;
    },
    set(key, value) {
      const time = now();
      const prune = { statement: PRUNE, params: [time - KEPT_MS] };
      return store.commit([prune, { statement: PUT, params: [nameOf(key), value, time] }]);
    },
    delete(key) {
      return store.commit([{ statement: DELETE, params: [nameOf(key)] }]);
    },
  };
}

const nameOf = (key: string): string => hash('sha256', key);
