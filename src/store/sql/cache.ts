import { setImmediate } from 'node:timers/promises';
import { type CachedRow, type CacheSizes, type CacheTable, type FoundRow, ROW_BYTES, ROW_SHARE } from '../cache.ts';
import { batchDeletion } from './delete-batches.ts';
import { type SqlTables, sql, write } from './statement.ts';

const findBy = (names: string) =>
  `SELECT name, key_id AS "keyId", user_id AS "userId", stored, expires, used, bytes,
    CASE WHEN bytes <= ?3 THEN answer END AS answer FROM cached_answers WHERE name IN (${names}) AND expires > ?2`;
const FIND = sql(findBy('SELECT unhex(value) FROM json_each(?1)'), {
  inPostgres: findBy(`SELECT decode(value, 'hex') FROM json_array_elements_text(?1::json)`),
});
/** A search for one name, which is the usual case, is faster without a list. */
const FIND_ONE = sql(findBy('?1'));
const KEEP = sql(
  `INSERT INTO cached_answers (name, key_id, user_id, stored, expires, used, bytes, answer)
    SELECT $name, $keyId, $userId, $stored, $expires, $used, $bytes, $answer
    WHERE NOT EXISTS (WITH RECURSIVE line (parent, revoked_at) AS (
        SELECT parent, revoked_at FROM keys WHERE id = $keyId
        UNION SELECT above.parent, above.revoked_at FROM line JOIN keys AS above ON above.id = line.parent)
      SELECT 1 FROM line WHERE revoked_at IS NOT NULL)
    ON CONFLICT (name) DO UPDATE SET key_id = excluded.key_id, user_id = excluded.user_id, stored = excluded.stored,
    expires = excluded.expires, used = excluded.used, bytes = excluded.bytes, answer = excluded.answer`,
);
const USE = sql('UPDATE cached_answers SET used = ?2 WHERE name = ?1 AND used < ?2');
/** As `bytesOnDisk`. */
const ON_DISK = `bytes + bytes / ${ROW_SHARE} + ${ROW_BYTES}`;
const sizesWith = (sum: string) =>
  `SELECT count(*) AS answers, ${sum} AS bytes,
    (SELECT stored FROM cached_answers ORDER BY expires, stored LIMIT 1) AS "oldestAt" FROM cached_answers`;
const SUM = `coalesce(sum(${ON_DISK}), 0)`;
const SIZES = sql(sizesWith(SUM), { inPostgres: sizesWith(`${SUM}::bigint`) });
/** The next rows, the last used first. An index contains all columns. */
const NEXT_USED = sql(
  `SELECT used, name, ${ON_DISK} AS bytes FROM cached_answers WHERE (used, name) < (?1, ?2)
    ORDER BY used DESC, name DESC LIMIT ?3`,
);
/** How many rows are read together, which takes less than a millisecond. */
const PAGE = 500;
/** The batch is small because each row can have 1 MiB. */
const BATCH = { table: 'cached_answers', key: 'name', comparison: '<=', batch: 50 } as const;
const deleteExpired = batchDeletion({ ...BATCH, by: 'expires' });
const deleteUnused = batchDeletion({ ...BATCH, by: 'used' });

/** @returns when the first row was last used that does not fit into so many bytes, the last used first; null if all rows fit */
async function firstBeyond(db: SqlTables, bytesMax: number): Promise<number | null> {
  let left = bytesMax;
  let after: Pick<CachedRow, 'used' | 'name'> = { used: Number.MAX_SAFE_INTEGER, name: new Uint8Array() };
  for (;;) {
    const rows = await db.query<Pick<FoundRow, 'used' | 'name' | 'bytes'>>(NEXT_USED, [after.used, after.name, PAGE]);
    for (const { bytes, used } of rows) {
      left -= bytes;
      if (left < 0) return used;
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return null;
    after = last;
    await setImmediate();
  }
}

export const sqlCache = (db: SqlTables): CacheTable => ({
  find(names, now, answerBytesMax) {
    const [name] = names;
    if (name && names.length === 1) return db.query<FoundRow>(FIND_ONE, [name, now, answerBytesMax]);
    return db.query<FoundRow>(FIND, [JSON.stringify(names.map((one) => one.toHex())), now, answerBytesMax]);
  },
  keep: (row) => write(KEEP, { ...row, bytes: row.answer.length }),
  use: (name, at) => write(USE, name, at),
  async sizes() {
    const [sizes] = await db.query<CacheSizes>(SIZES);
    return sizes ?? { answers: 0, bytes: 0, oldestAt: null };
  },
  async evict(bytesMax) {
    const used = await firstBeyond(db, bytesMax);
    if (used !== null) await deleteUnused(db, used);
  },
  prune: (until) => deleteExpired(db, until),
});
