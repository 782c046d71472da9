import { hash } from 'node:crypto';
import type { Statement, Store } from '../store/store.ts';
import type { PendingSettlements } from './facilitator/facilitator.ts';

/** By then the authorization has long expired. */
const RETENTION_MS = 7 * 86_400_000;

const SELECT: Statement = { sql: 'SELECT value FROM pending_settlements WHERE key = ?' };
const PUT: Statement = {
  sql: `INSERT INTO pending_settlements (key, value, time) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET value = excluded.value, time = excluded.time`,
};
const DELETE: Statement = { sql: 'DELETE FROM pending_settlements WHERE key = ?' };
const PRUNE: Statement = { sql: 'DELETE FROM pending_settlements WHERE time < ?' };

/** Keeps pending settlements in the store. Keys contain signatures, so only their hashes are stored. */
export function storedSettlements(store: Store, now: () => number): PendingSettlements {
  return {
    async get(key) {
      return (await store.query<{ value: string }>(SELECT, [digestOf(key)]))[0]?.value;
    },
    set(key, value) {
      const time = now();
      const prune = { statement: PRUNE, params: [time - RETENTION_MS] };
      return store.commit([prune, { statement: PUT, params: [digestOf(key), value, time] }]);
    },
    delete(key) {
      return store.commit([{ statement: DELETE, params: [digestOf(key)] }]);
    },
  };
}

const digestOf = (key: string): string => hash('sha256', key);
