import type { AnswerHead, AnswerRow, IdempotencyTable } from '../idempotency.ts';
import type { InstanceName } from '../instance.ts';
import { batchDeletion } from './delete-batches.ts';
import { ownerOf, type StoredOwner, storedOwner } from './owner.ts';
import { first, type SqlTables, sql, write } from './statement.ts';

const COLUMNS = 'name, state, decision, earlier, losses, time, salt, verifier, body, answer, slot, epoch';
const SELECT_ROW = sql(`SELECT ${COLUMNS} FROM idempotency WHERE name = ?`);
/** Only a running row has an owner. The owner of another row is not read, because the database must read past the long answer to reach it. */
const SELECT_HEAD = sql(
  `SELECT name, state, decision, earlier, losses, time, salt, verifier, body, coalesce(length(answer), 0) AS "answerBytes",
    CASE WHEN state = 'running' THEN slot END AS slot, CASE WHEN state = 'running' THEN epoch END AS epoch
    FROM idempotency WHERE name = ?`,
);
const VALUES = '$name, $state, $decision, $earlier, $losses, $time, $salt, $verifier, $body, $answer, $slot, $epoch';
/** Whether the stored row is the same claim. If the stored row is the same claim, the repeated claim succeeds. */
const IS_OWN = `(idempotency.state = 'running' AND idempotency.salt = $salt)`;
const CLAIM_NEW = sql(
  `INSERT INTO idempotency (${COLUMNS}) VALUES (${VALUES}) ON CONFLICT (name) DO UPDATE SET time = idempotency.time WHERE ${IS_OWN}`,
  { mustChange: true },
);
const SET = `SET state = $state, decision = $decision, earlier = $earlier, losses = $losses, time = $time, salt = $salt,
    verifier = $verifier, body = $body, answer = $answer, slot = $slot, epoch = $epoch WHERE name = $name`;
const IS_SEEN = '(state = $seenState AND salt = $seenSalt)';
const CLAIM_SEEN = sql(`UPDATE idempotency ${SET} AND (${IS_SEEN} OR ${IS_OWN})`, { mustChange: true });
const REPLACE = sql(`UPDATE idempotency ${SET} AND ${IS_SEEN}`);
const DELETE = sql('DELETE FROM idempotency WHERE name = ? AND state = ? AND salt = ?');
const SELECT_OWNERS = sql(
  `SELECT DISTINCT slot, epoch FROM idempotency WHERE state = 'running' AND slot IS NOT NULL ORDER BY slot, epoch`,
);
const DISOWN = sql(
  `UPDATE idempotency SET slot = NULL, epoch = NULL WHERE state = 'running' AND slot IS NOT NULL AND slot = ? AND epoch = ?`,
);
/** The batch of deleted rows is small because each row can have 1 MiB. */
const deleteOld = batchDeletion({
  table: 'idempotency',
  key: 'id',
  by: 'time',
  comparison: '<=',
  // `state` is compared first, because the database must read past the long answer to reach the owner.
  only: `(state <> 'running' OR slot IS NULL)`,
  batch: 100,
});

type Stored<Row> = Omit<Row, 'owner'> & StoredOwner;

const withOwner = <Row extends StoredOwner>({ slot, epoch, ...row }: Row) => ({
  ...row,
  owner: ownerOf({ slot, epoch }),
});
const storedOf = ({ owner, ...row }: AnswerRow) => ({ ...row, ...storedOwner(owner) });

export function sqlIdempotency(db: SqlTables): IdempotencyTable {
  return {
    async find(name) {
      const row = await first<Stored<AnswerRow>>(db, SELECT_ROW, name);
      return row && withOwner(row);
    },
    async head(name) {
      const row = await first<Stored<AnswerHead>>(db, SELECT_HEAD, name);
      return row && withOwner(row);
    },
    claim: (row, seen) =>
      seen === null
        ? write(CLAIM_NEW, storedOf(row))
        : write(CLAIM_SEEN, { ...storedOf(row), seenState: seen.state, seenSalt: seen.salt }),
    replace: (from, row) =>
      row === null
        ? write(DELETE, from.name, from.state, from.salt)
        : write(REPLACE, { ...storedOf(row), seenState: from.state, seenSalt: from.salt }),
    owners: () => db.query<InstanceName>(SELECT_OWNERS),
    disown: ({ slot, epoch }) => write(DISOWN, slot, epoch),
    prune: (until) => deleteOld(db, until),
  };
}
