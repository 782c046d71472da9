import type { CachedRow, CacheSizes, CacheTable } from '../cache.ts';
import { batchDeletion } from './delete-batches.ts';
import { type SqlTables, sql, write } from './statement.ts';

const findBy = (names: string) =>
  `SELECT name, key_id AS "keyId", user_id AS "userId", stored, expires, used, answer FROM cached_answers
    WHERE name IN (${names}) AND expires > ?2`;
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
const sizesWith = (sum: string) =>
  `SELECT count(*) AS answers, ${sum} AS bytes,
    (SELECT stored FROM cached_answers ORDER BY expires, stored LIMIT 1) AS "oldestAt" FROM cached_answers`;
const SIZES = sql(sizesWith('coalesce(sum(bytes), 0)'), { inPostgres: sizesWith('coalesce(sum(bytes), 0)::bigint') });
const EVICT = sql(
  `DELETE FROM cached_answers WHERE name IN (SELECT name FROM
    (SELECT name, sum(bytes) OVER (ORDER BY used DESC, name) AS total FROM cached_answers) AS sums WHERE total > ?)`,
);
/** The batch is small because each row can have 1 MiB. */
const deleteOld = batchDeletion({
  table: 'cached_answers',
  key: 'name',
  by: 'expires',
  comparison: '<=',
  batch: 100,
});

export const sqlCache = (db: SqlTables): CacheTable => ({
  find(names, now) {
    const [name] = names;
    if (name && names.length === 1) return db.query<CachedRow>(FIND_ONE, [name, now]);
    return db.query<CachedRow>(FIND, [JSON.stringify(names.map((one) => one.toHex())), now]);
  },
  keep: (row) => write(KEEP, { ...row, bytes: row.answer.length }),
  use: (name, at) => write(USE, name, at),
  async sizes() {
    const [sizes] = await db.query<CacheSizes>(SIZES);
    return sizes ?? { answers: 0, bytes: 0, oldestAt: null };
  },
  evict: (bytesMax) => db.commit([write(EVICT, bytesMax)]),
  prune: (until) => deleteOld(db, until),
});
