import { currentAddOns } from '../../core/accounting/former.ts';
import type { ThreadRow, ThreadTable } from '../threads.ts';
import { batchDeletion } from './delete-batches.ts';
import { first, type SqlTables, sql, write } from './statement.ts';

type SqlThreadRow = Omit<ThreadRow, 'addOns'> & { readonly addOns: string | null };

const SELECT = sql(`SELECT key_id AS keyId, answer, model, provider, origin, tokens, add_ons AS addOns, time
    FROM threads WHERE key_id = ? AND answer = ?`);
const VALUES = `INTO threads (key_id, answer, model, provider, origin, tokens, add_ons, time)
    SELECT $keyId, $answer, $model, $provider, $origin, $tokens, $addOns, $time
    WHERE NOT EXISTS (SELECT 1 FROM keys WHERE id = $keyId AND revoked_at IS NOT NULL)`;
/** When a thread's row is stored again, the row becomes the newest row of its key. */
const PUT = sql(`INSERT OR REPLACE ${VALUES}`, {
  inPostgres: `INSERT ${VALUES} ON CONFLICT (key_id, answer) DO UPDATE SET id = excluded.id, model = excluded.model,
    provider = excluded.provider, origin = excluded.origin, tokens = excluded.tokens, add_ons = excluded.add_ons, time = excluded.time`,
});
const TRIM = sql(`DELETE FROM threads WHERE key_id = ?1 AND id <=
    (SELECT id FROM threads WHERE key_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`);
const deleteOld = batchDeletion({ table: 'threads', key: 'id', by: 'time', comparison: '<=', batch: 1_000 });

export const sqlThreads = (db: SqlTables): ThreadTable => ({
  async find(keyId, answer) {
    const row = await first<SqlThreadRow>(db, SELECT, keyId, answer);
    return row && { ...row, addOns: row.addOns === null ? null : currentAddOns(JSON.parse(row.addOns)) };
  },
  put: (row, most) => [
    write(PUT, { ...row, addOns: row.addOns && JSON.stringify(row.addOns) }),
    write(TRIM, row.keyId, most),
  ],
  prune: (until) => deleteOld(db, until),
});
