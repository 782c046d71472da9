import type { PushEntry, PushedPolicy, PushedPolicyTable } from '../pushed-policies.ts';
import { first, type SqlReader, sql, write } from './statement.ts';

const ENTRY = 'id, base, revision, time, state, reason';
const COLUMNS = `${ENTRY}, source, plugins`;
const HEAD = `SELECT max(id) FROM pushed_policies WHERE state = 'accepted'`;
const FIND = sql(`SELECT ${COLUMNS} FROM pushed_policies WHERE id = ?`);
const FIND_HEAD = sql(`SELECT ${COLUMNS} FROM pushed_policies WHERE id = (${HEAD})`);
const FIND_OFFERED = sql(`SELECT ${COLUMNS} FROM pushed_policies WHERE state = 'offered'`);
const LIST = sql(`SELECT ${ENTRY} FROM pushed_policies WHERE id < ?1 ORDER BY id DESC LIMIT ?2`);
const OFFER = sql(
  `INSERT INTO pushed_policies (id, base, revision, source, plugins, time, state)
    SELECT $id, $base, $revision, $source, $plugins, $time, 'offered'
    WHERE $base = coalesce((${HEAD}), 0) AND $id = coalesce((SELECT max(id) FROM pushed_policies), 0) + 1
      AND NOT EXISTS (SELECT 1 FROM pushed_policies WHERE state = 'offered')`,
  { mustChange: true, takesTurns: true },
);
const ACCEPT = sql(`UPDATE pushed_policies SET state = 'accepted', revision = ?2 WHERE id = ?1 AND state = 'offered'`, {
  mustChange: true,
});
const REFUSE = sql(`UPDATE pushed_policies SET state = 'refused', reason = ?2 WHERE id = ?1 AND state = 'offered'`, {
  mustChange: true,
});
const EXPIRE = sql(`UPDATE pushed_policies SET state = 'refused', reason = ?2 WHERE time < ?1 AND state = 'offered'`);
const FORGET = sql(`DELETE FROM pushed_policies WHERE id <= ? AND id <> (${HEAD})`);

type PushRow = Omit<PushedPolicy, 'plugins'> & { readonly plugins: string };

/** The plugins are parsed without a check, because only `offer` writes them. */
const pushOf = (row: PushRow | null): PushedPolicy | null => row && { ...row, plugins: JSON.parse(row.plugins) };

export const sqlPushedPolicies = (db: SqlReader): PushedPolicyTable => ({
  find: async (id) => pushOf(await first<PushRow>(db, FIND, id)),
  head: async () => pushOf(await first<PushRow>(db, FIND_HEAD)),
  offered: async () => pushOf(await first<PushRow>(db, FIND_OFFERED)),
  list: (limit, before = Number.MAX_SAFE_INTEGER) => db.query<PushEntry>(LIST, [before, limit]),
  offer: ({ plugins, ...push }) => write(OFFER, { ...push, plugins: JSON.stringify(plugins) }),
  accept: (id, revision) => write(ACCEPT, id, revision),
  refuse: (id, reason) => write(REFUSE, id, reason),
  expire: (before, reason) => write(EXPIRE, before, reason),
  forget: (through) => write(FORGET, through),
});
