import { DAY_MS } from '../../core/time/clock.ts';
import type { PeopleTable, Team, User, VersionedRow } from '../people.ts';
import { type SqlReader, sql, write } from './statement.ts';

const SELECT_NUMBER = sql('SELECT people FROM news');
const SELECT_TEAMS =
  sql(`SELECT id, name, origin, terms, member_defaults AS memberDefaults, created_at AS createdAt, removed_at AS removedAt,
    changed FROM teams WHERE changed > ? ORDER BY id`);
const SELECT_USERS =
  sql(`SELECT id, issuer, sub, name, email, team, role, terms, created_at AS createdAt, suspended_at AS suspendedAt,
    removed_at AS removedAt, changed FROM users WHERE changed > ? ORDER BY id`);

/** Each write of a team or user states its conditions, which unique indexes enforce in addition. */
const CONDITIONAL = { mustChange: true, takesTurns: true };
const NAME_IS_FREE = 'NOT EXISTS (SELECT 1 FROM teams WHERE name = $name AND removed_at IS NULL AND id <> $id)';
/** The name of a removed team may be in use by another team, because the removed team no longer owns its name. */
const NAME_CAN_STAY = `(CAST($removedAt AS BIGINT) IS NOT NULL OR ${NAME_IS_FREE})`;
const TEAM_IS_EMPTY = `(CAST($removedAt AS BIGINT) IS NULL OR NOT EXISTS (SELECT 1 FROM users WHERE team = $id AND removed_at IS NULL)
      AND NOT EXISTS (SELECT 1 FROM keys WHERE team = $id AND parent IS NULL AND revoked_at IS NULL))`;
const PERSON_IS_FREE = `NOT EXISTS (SELECT 1 FROM users WHERE issuer = $issuer AND sub = $sub AND removed_at IS NULL AND id <> $id)
    AND (CAST($team AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM teams WHERE id = $team AND removed_at IS NULL))`;
const USER_IS_EMPTY = `(CAST($removedAt AS BIGINT) IS NULL OR NOT EXISTS (SELECT 1 FROM keys WHERE "user" = $id AND parent IS NULL AND revoked_at IS NULL))`;

const INSERT_TEAM = sql(
  `INSERT INTO teams (id, name, origin, terms, member_defaults, created_at, removed_at)
    SELECT $id, $name, $origin, $terms, $memberDefaults, $createdAt, $removedAt WHERE ${NAME_IS_FREE}`,
  CONDITIONAL,
);
const UPDATE_TEAM = sql(
  `UPDATE teams SET name = $name, origin = $origin, terms = $terms, member_defaults = $memberDefaults, removed_at = $removedAt
    WHERE id = $id AND changed = $version AND ${NAME_CAN_STAY} AND ${TEAM_IS_EMPTY}`,
  CONDITIONAL,
);
const MADE = 'SELECT count(*) FROM users WHERE maker = $maker AND created_at > $since';
const COUNT_OF_MAKER = sql('SELECT count(*) AS users FROM users WHERE maker = ? AND created_at > ?');
const INSERT_USER = sql(
  `INSERT INTO users (id, issuer, sub, name, email, team, role, terms, created_at, suspended_at, removed_at, maker)
    SELECT $id, $issuer, $sub, $name, $email, $team, $role, $terms, $createdAt, $suspendedAt, $removedAt, $maker
      WHERE ${PERSON_IS_FREE} AND (CAST($maker AS TEXT) IS NULL OR (${MADE}) < $aDay)`,
  CONDITIONAL,
);
const UPDATE_USER = sql(
  `UPDATE users SET issuer = $issuer, sub = $sub, name = $name, email = $email, team = $team, role = $role, terms = $terms,
      suspended_at = $suspendedAt, removed_at = $removedAt
    WHERE id = $id AND changed = $version AND ${PERSON_IS_FREE} AND ${USER_IS_EMPTY}`,
  CONDITIONAL,
);
const MEMBERSHIP = sql(
  `SELECT 1 WHERE (CAST($team AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM teams WHERE id = $team AND removed_at IS NULL))
    AND (CAST($user AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM users WHERE id = $user AND removed_at IS NULL AND team IS NOT DISTINCT FROM $team))`,
  CONDITIONAL,
);

/** A row of a team that the database returns. */
type TeamRow = Pick<Team, 'id' | 'name' | 'origin' | 'createdAt' | 'removedAt'> & {
  readonly terms: string;
  readonly memberDefaults: string;
  readonly changed: number;
};
type UserRow = Omit<User, 'terms'> & { readonly terms: string; readonly changed: number };

export const sqlPeople = (db: SqlReader): PeopleTable => ({
  async changedAfter(number) {
    // The number of the news is read before the rows, so a row of a later commit may be read twice, but no row is missed.
    const [news] = await db.query<{ readonly people: number }>(SELECT_NUMBER);
    const teams = await db.query<TeamRow>(SELECT_TEAMS, [number]);
    const users = await db.query<UserRow>(SELECT_USERS, [number]);
    return { teams: teams.map(teamOf), users: users.map(userOf), through: Math.max(number, news?.people ?? 0) };
  },
  putTeam: ({ memberDefaults, models, limits, budgets, formerNames, ...team }, version) => {
    const values = {
      ...team,
      terms: JSON.stringify({ models, limits, budgets, formerNames }),
      memberDefaults: JSON.stringify(memberDefaults),
    };
    if (version !== null) return write(UPDATE_TEAM, { ...values, version });
    return write(INSERT_TEAM, values);
  },
  putUser: ({ terms, ...user }, version, by = null) => {
    const values = { ...user, terms: JSON.stringify(terms) };
    if (version !== null) return write(UPDATE_USER, { ...values, version });
    const { maker = null, aDay = 0 } = by ?? {};
    return write(INSERT_USER, { ...values, maker, aDay, since: user.createdAt - DAY_MS });
  },
  async countOfMaker(maker, time) {
    const [count] = await db.query<{ readonly users: number }>(COUNT_OF_MAKER, [maker, time - DAY_MS]);
    return count?.users ?? 0;
  },
  requireMembership: ({ team, user }) => ({ ...write(MEMBERSHIP, { team, user }), *follow() {} }),
});

function teamOf({ terms, memberDefaults, changed, ...row }: TeamRow): VersionedRow<Team> {
  return {
    row: { ...row, ...JSON.parse(terms), memberDefaults: JSON.parse(memberDefaults) },
    version: changed,
  };
}

const userOf = ({ terms, changed, ...row }: UserRow): VersionedRow<User> => ({
  row: { ...row, terms: JSON.parse(terms) },
  version: changed,
});
