import { type KeyBudget, type KeyLimits, limitsBody, SCOPES } from '../../core/people/caller.ts';
import { snakeCase } from '../../core/text/text.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import {
  KEY_TERMS,
  type KeyInfo,
  type KeyName,
  type KeyOrigin,
  type KeyRow,
  type KeyTable,
  type StoredKey,
  type UserKeyCounts,
} from '../keys.ts';
import { type SqlReader, type SqlWrite, sql, write } from './statement.ts';

/** Terms that have JSON columns of their own, and terms that a child key takes from the first key of its line. */
const JSON_TERMS = ['scopes', 'labels', 'models', 'notModels', 'limits', 'budgets', 'holders'] as const;
const OTHER_TERMS: readonly string[] = [...JSON_TERMS, 'team', 'user'];
const PLAIN_TERMS = KEY_TERMS.filter((term) => !OTHER_TERMS.includes(term));
const plainTerms = (form: (column: string, term: string) => string): string =>
  PLAIN_TERMS.map((term) => form(snakeCase(term), term)).join(', ');
const plainValues = (key: KeyInfo) => PLAIN_TERMS.map((term) => key[term] as string | number | null);

/** Selects the first key of a new child key's line, by its parent. */
const FIRST = 'SELECT coalesce(root, id) FROM keys WHERE id = ?';
/** The value of a new key's column. A child key takes the value that the first key of its line has at the time of the commit. */
const ofLine = (column: string): string =>
  `(SELECT CASE WHEN first.id IS NULL THEN ? ELSE first.${column} END
      FROM (SELECT 1 AS one) AS new LEFT JOIN keys AS first ON first.id = (${FIRST}))`;
const INSERT =
  sql(`INSERT INTO keys (id, hash, ${plainTerms((column) => column)}, scopes, labels, models, not_models, limits, budgets, wallets,
    wallet, created_at, imported_hash, parent, parent_hash, team, "user", maker, root) VALUES (?, ?, ${plainTerms(() => '?')}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
      ${ofLine('team')}, ${ofLine('"user"')},
      coalesce(?, (SELECT coalesce(first."user", first.maker) FROM keys AS first WHERE first.id = (${FIRST}))),
      (${FIRST}))`);
const CHANGE =
  sql(`UPDATE keys SET ${plainTerms((column) => `${column} = ?`)}, scopes = ?, labels = ?, models = ?, not_models = ?, limits = ?,
    budgets = ?, wallets = ?, suspended_at = ?, team = ?, "user" = ? WHERE id = ?`);
const REVOKE = sql('UPDATE keys SET revoked_at = ? WHERE id = ?');
const REVOKE_OF_WALLET = sql(
  'UPDATE keys SET revoked_at = ? WHERE wallet = ? AND revoked_at IS NULL AND id IS DISTINCT FROM ?',
);
const ROTATE = sql('UPDATE keys SET previous_hash = hash, previous_until = ?, hash = ?, rotated_at = ? WHERE id = ?');
const PUT_USES = sql(
  `UPDATE keys SET last_used = max(coalesce(last_used, 0), uses.time)
    FROM (SELECT key AS id, value AS time FROM json_each(?)) AS uses WHERE keys.id = uses.id`,
  {
    inPostgres: `UPDATE keys SET last_used = greatest(last_used, uses.value::bigint)
    FROM json_each_text(?::json) AS uses WHERE keys.id = uses.key`,
  },
);

const COLUMNS = `id, hash, ${plainTerms((column, term) => `${column} AS ${term}`)}, scopes, labels, models, not_models AS notModels, limits, budgets,
    wallets AS holders, wallet AS holder, created_at AS createdAt, revoked_at AS revokedAt, last_used AS lastUsedAt, rotated_at AS rotatedAt, previous_hash AS previousHash,
    previous_until AS overlapEndsAt, suspended_at AS suspendedAt, parent, team, "user", parent_hash AS parentHash, imported_hash AS importedHash, changed AS version`;
const SELECT_ALL = sql(`SELECT ${COLUMNS} FROM keys ORDER BY created_at, id`);
const SELECT_ONE = sql(`SELECT ${COLUMNS} FROM keys WHERE id = ?`);
const SELECT_WITH_HASHES = sql(
  `SELECT ${COLUMNS} FROM keys WHERE hash IN (SELECT unhex(value) FROM json_each(?1))
      OR imported_hash IN (SELECT unhex(value) FROM json_each(?1))`,
  {
    inPostgres: `SELECT ${COLUMNS} FROM keys WHERE hash IN (SELECT decode(value, 'hex') FROM json_array_elements_text(?1::json))
      OR imported_hash IN (SELECT decode(value, 'hex') FROM json_array_elements_text(?1::json))`,
  },
);
const SELECT_OF_WALLET = sql(`SELECT ${COLUMNS} FROM keys WHERE wallet = ? ORDER BY created_at, id`);
/** Without the lists of models of a revoked key, which can be long: copies in memory drop them. */
const COLUMNS_OF_CHANGE = COLUMNS.replace(
  ' models, not_models AS notModels,',
  ' CASE WHEN revoked_at IS NULL THEN models END AS models, CASE WHEN revoked_at IS NULL THEN not_models END AS notModels,',
);
/** The `+` keeps SQLite from reading the whole table in the order of an index, because only few keys have changed. */
const SELECT_CHANGED = sql(`SELECT ${COLUMNS_OF_CHANGE} FROM keys WHERE changed > ? ORDER BY +created_at, id`);
/**
 * The keys that are not revoked. Child keys that have ended are left out, because child keys are never deleted and most of them have ended.
 */
const IS_OPEN = `revoked_at IS NULL AND (parent IS NULL
      OR NOT EXISTS (SELECT 1 FROM keys AS above WHERE above.id IN (keys.parent, keys.root) AND above.revoked_at IS NOT NULL)
        AND (expires_at IS NULL OR expires_at >= ?
          OR EXISTS (SELECT 1 FROM keys AS below WHERE below.parent = keys.id AND below.revoked_at IS NULL)))`;
const SELECT_OPEN = sql(`SELECT ${COLUMNS} FROM keys WHERE ${IS_OPEN} ORDER BY created_at, id`);
const SELECT_ENDED = sql(
  `SELECT ${COLUMNS_OF_CHANGE} FROM keys
    WHERE id IN (SELECT id FROM keys WHERE NOT (${IS_OPEN}) ORDER BY changed DESC LIMIT ?)
    ORDER BY created_at, id`,
);
const SELECT_LAST_CHANGE = sql('SELECT coalesce(max(changed), -1) AS changed FROM keys');
const SELECT_NAMES = sql(
  'SELECT id, name, labels, parent, team, "user" FROM keys WHERE id IN (SELECT value FROM json_each(?))',
  {
    inPostgres:
      'SELECT id, name, labels, parent, team, "user" FROM keys WHERE id IN (SELECT json_array_elements_text(?::json))',
  },
);
const SELECT_OF_OWNER = sql('SELECT id FROM keys WHERE team = ? OR "user" = ?');
const SELECT_OF_NAME = sql('SELECT id FROM keys WHERE name = ?');
const SELECT_BELOW = sql(`WITH RECURSIVE line (id, depth) AS (
      SELECT id, 1 FROM keys WHERE parent = ?1
      UNION ALL SELECT keys.id, depth + 1 FROM line JOIN keys ON keys.parent = line.id WHERE depth < 16)
    SELECT id FROM line LIMIT ?2`);

/** Each selection of keys is a separate statement, so that the database uses an index for the selection. */
const pages = Object.fromEntries(
  (['all', 'team', 'user', 'parent'] as const).map((member) => {
    const owned = member === 'all' ? '' : `"${member}" = ? AND `;
    const page = (state: string) =>
      sql(
        `SELECT ${COLUMNS} FROM keys WHERE ${owned}${state}(created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?`,
      );
    return [member, { any: page(''), unrevoked: page('revoked_at IS NULL AND ') }];
  }),
);

/** The number of unrevoked keys of a user. A key without a user counts for its creator. */
export const unrevokedOf = (user: string): string =>
  `((SELECT count(*) FROM keys WHERE "user" = ${user} AND parent IS NULL AND revoked_at IS NULL)
      + (SELECT count(*) FROM keys WHERE maker = ${user} AND "user" IS NULL AND parent IS NULL AND revoked_at IS NULL))`;
/** The number of keys that a user has created since a time, without child keys. */
export const madeBy = (user: string, time: string): string =>
  `(SELECT count(*) FROM keys WHERE maker = ${user} AND parent IS NULL AND created_at > ${time})`;
/** The number of child keys created since a time in all lines of a user. */
export const childrenOf = (user: string, time: string): string =>
  `(SELECT count(*) FROM keys WHERE maker = ${user} AND parent IS NOT NULL AND created_at > ${time})`;
const COUNT_OF_USER = sql(`SELECT ${unrevokedOf('?1')} AS unrevoked, ${madeBy('?2', '?3')} AS "aDay"`);

type SqlKeyName = Omit<KeyName, 'labels'> & Readonly<Record<'labels', string>>;

/** A row of a key that the database returns. Lists are JSON. */
type SqlKeyRow = Omit<KeyInfo, (typeof JSON_TERMS)[number]> &
  Pick<StoredKey, 'hash' | 'previousHash' | 'parentHash' | 'importedHash'> &
  Pick<KeyRow, 'version'> &
  Readonly<Record<'scopes' | 'labels' | 'budgets', string>> &
  Readonly<Record<'models' | 'notModels' | 'limits' | 'holders', string | null>>;

export function sqlKeys(db: SqlReader): KeyTable {
  const rowOf = (row: SqlKeyRow): KeyRow => ({ key: keyOf(row), lastUsedAt: row.lastUsedAt, version: row.version });
  return {
    all: async () => (await db.query<SqlKeyRow>(SELECT_ALL)).map(rowOf),
    find: async (id) => (await db.query<SqlKeyRow>(SELECT_ONE, [id])).map(rowOf)[0] ?? null,
    async withHashes(hashes) {
      const texts = JSON.stringify(hashes.map((hash) => Buffer.from(hash).toString('hex')));
      return (await db.query<SqlKeyRow>(SELECT_WITH_HASHES, [texts])).map(rowOf);
    },
    ofHolder: async (holder) => (await db.query<SqlKeyRow>(SELECT_OF_WALLET, [holder])).map(rowOf),
    async page({ after, limit, of, isUnrevoked }) {
      const page = pages[of?.member ?? 'all']!;
      const params = [...(of ? [of.id] : []), after?.createdAt ?? -1, after?.id ?? '', limit];
      return (await db.query<SqlKeyRow>(isUnrevoked ? page.unrevoked : page.any, params)).map(rowOf);
    },
    async names(ids) {
      const rows = await db.query<SqlKeyName>(SELECT_NAMES, [JSON.stringify(ids)]);
      return rows.map((row) => ({ ...row, labels: row.parent === null ? JSON.parse(row.labels) : null }));
    },
    async idsOf(of) {
      const rows = await ('name' in of
        ? db.query<Pick<KeyInfo, 'id'>>(SELECT_OF_NAME, [of.name])
        : db.query<Pick<KeyInfo, 'id'>>(SELECT_OF_OWNER, [of.team, of.user]));
      return rows.map(({ id }) => id);
    },
    idsBelow: async (id, limit) =>
      (await db.query<Pick<KeyInfo, 'id'>>(SELECT_BELOW, [id, limit])).map((row) => row.id),
    async changedAfter(number, endedBefore = 0) {
      // The number of the news is read before the rows, because the rows may be newer, and revoked keys have numbers, too.
      const [last] = number < 0 ? await db.query<{ changed: number }>(SELECT_LAST_CHANGE) : [];
      const rows = await (number < 0
        ? db.query<SqlKeyRow>(SELECT_OPEN, [endedBefore])
        : db.query<SqlKeyRow>(SELECT_CHANGED, [number]));
      // Commits that raise a subject run one after the other, so no row with a smaller number can appear later.
      const through = rows.reduce((most, { version }) => Math.max(most, version), last?.changed ?? number);
      return { rows: rows.map(rowOf), through };
    },
    ended: async (limit, endedBefore) => (await db.query<SqlKeyRow>(SELECT_ENDED, [endedBefore, limit])).map(rowOf),
    insert: insertKey,
    async countOfUser({ owner, maker }, time) {
      const [counts] = await db.query<UserKeyCounts>(COUNT_OF_USER, [owner, maker, time - DAY_MS]);
      return counts ?? { unrevoked: 0, aDay: 0 };
    },
    rotate: (id, hash, time, overlapEndsAt) => write(ROTATE, overlapEndsAt, hash, time, id),
    change: changeKey,
    revoke: (id, time) => write(REVOKE, time, id),
    revokeOfHolder: (holder, exceptId, time) => write(REVOKE_OF_WALLET, time, holder, exceptId),
    putUses: (uses) => write(PUT_USES, JSON.stringify(uses)),
  };
}

/** Returns the terms that are stored as JSON. */
function textsOf({ scopes, labels, models, notModels, limits, budgets, holders }: KeyInfo): (string | null)[] {
  const values = [scopes, labels, models, notModels, limits && limitsBody(limits), budgets.map(budgetRow), holders];
  return values.map((value) => value && JSON.stringify(value));
}

function insertKey(key: KeyInfo, hash: Uint8Array, origin: KeyOrigin = {}): SqlWrite {
  const { parentHash = null, maker = null, isImported = false } = origin;
  const { id, holder, createdAt, parent, team, user } = key;
  const place = [parent, parentHash, team, parent, user, parent, maker, parent, parent];
  const own = [...plainValues(key), ...textsOf(key), holder, createdAt, isImported ? hash : null];
  return write(INSERT, id, hash, ...own, ...place);
}

function changeKey(key: KeyInfo): SqlWrite {
  const { id, suspendedAt, team, user } = key;
  return write(CHANGE, ...plainValues(key), ...textsOf(key), suspendedAt, team, user, id);
}

/** Parses a row of a key. The function drops a scope that this version does not know, so that the scope permits nothing. */
function keyOf(row: SqlKeyRow): StoredKey {
  const { hash, previousHash, parentHash, importedHash, lastUsedAt: _, version: __, ...more } = row;
  const { scopes, labels, models, notModels, limits, budgets, holders, ...rest } = more;
  const granted: unknown[] = JSON.parse(scopes);
  const info = {
    ...rest,
    scopes: SCOPES.filter((scope) => granted.includes(scope)),
    labels: JSON.parse(labels),
    models: models === null ? null : JSON.parse(models),
    notModels: notModels === null ? null : JSON.parse(notModels),
    limits: limits === null ? null : limitsOf(JSON.parse(limits)),
    budgets: JSON.parse(budgets).map(budgetOf),
    holders: holders === null ? null : JSON.parse(holders),
  };
  return { info, hash, previousHash, parentHash, importedHash };
}

const limitsOf = (stored: ReturnType<typeof limitsBody>): KeyLimits => ({
  requestsPerMinute: stored.requests_per_minute,
  tokensPerMinute: stored.tokens_per_minute,
  concurrentStreams: stored.concurrent_streams,
});

/** The stored limit is in microcredits, because only programs read it. */
const budgetRow = ({ limit, window, every, timeZone, onExhausted, until, opening }: KeyBudget) => ({
  limit,
  window,
  time_zone: timeZone,
  on_exhausted: onExhausted,
  ...(every && { every }),
  ...(until !== undefined && { until }),
  ...(opening && { opening }),
});

const budgetOf = ({ time_zone, on_exhausted, ...more }: ReturnType<typeof budgetRow>): KeyBudget => ({
  ...more,
  timeZone: time_zone,
  onExhausted: on_exhausted,
});
