import type { Login, LoginRow, LoginTable } from '../logins.ts';
import { batchDeletion } from './delete-batches.ts';
import { first, type SqlTables, sql, write } from './statement.ts';

const COLUMNS = `id, hash, "user", key, key_hash AS keyHash, created_at AS createdAt, used_at AS usedAt, confirmed_at AS confirmedAt, expires_at AS expiresAt,
    ended_at AS endedAt, browser, address AS "from"`;
const SELECT_ONE = sql(`SELECT ${COLUMNS} FROM logins WHERE id = ?`);
const SELECT_CHANGED = sql(`SELECT ${COLUMNS}, changed FROM logins WHERE changed > ? ORDER BY created_at, id`);
const SELECT_TOKEN = sql('SELECT token FROM logins WHERE id = ?');
const INSERT =
  sql(`INSERT INTO logins (id, hash, "user", key, key_hash, created_at, used_at, confirmed_at, expires_at, ended_at, browser, address, token)
    VALUES ($id, $hash, $user, $key, $keyHash, $createdAt, $usedAt, $confirmedAt, $expiresAt, $endedAt, $browser, $from, $token)`);
// The end of a login deletes its refresh token, because an ended login is never used again.
const END = sql(
  'UPDATE logins SET ended_at = $time, expires_at = CASE WHEN expires_at < $time THEN expires_at ELSE $time END, token = NULL WHERE id = $id AND ended_at IS NULL',
  { mustChange: true },
);
const USE = sql('UPDATE logins SET used_at = $time WHERE id = $id AND used_at < $time');
const CLAIM = sql(
  `UPDATE logins SET renewing = $until
    WHERE id = $id AND ended_at IS NULL AND confirmed_at = $confirmedAt AND renewing <= $now`,
  { mustChange: true },
);
const CONFIRM = sql(
  'UPDATE logins SET confirmed_at = $time, token = $token, renewing = 0 WHERE id = $id AND ended_at IS NULL',
);
const deleteOld = batchDeletion({ table: 'logins', key: 'id', by: 'expires_at', comparison: '<=', batch: 1_000 });

type SqlLogin = Login & { readonly hash: Uint8Array };

const rowOf = ({ hash, ...login }: SqlLogin): LoginRow => ({ login, hash });

export const sqlLogins = (db: SqlTables): LoginTable => ({
  async find(id) {
    const row = await first<SqlLogin>(db, SELECT_ONE, id);
    return row && rowOf(row);
  },
  async changedAfter(number) {
    const rows = await db.query<SqlLogin & { readonly changed: number }>(SELECT_CHANGED, [number]);
    const through = rows.reduce((last, { changed }) => Math.max(last, changed), number);
    return { rows: rows.map(({ changed: _, ...row }) => rowOf(row)), through };
  },
  insert: ({ login, hash }, token) => write(INSERT, { ...login, hash, token }),
  end: (id, time) => write(END, { id, time }),
  use: (id, time) => write(USE, { id, time }),
  tokenOf: async (id) => (await first<{ token: Uint8Array | null }>(db, SELECT_TOKEN, id))?.token ?? null,
  claim: (renewal) => write(CLAIM, { ...renewal }),
  confirm: (id, time, token) => write(CONFIRM, { id, time, token }),
  prune: (until) => deleteOld(db, until),
});
