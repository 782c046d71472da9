import type { Dimensions } from '../../core/accounting/entry.ts';
import { QUARTER_MS, quarterOf } from '../../core/accounting/window.ts';
import type { EntryOwner } from '../../core/money/budget.ts';
import { type AccountRow, dimensionsOf } from '../account-row.ts';
import type { EndpointCharges, UsageFilter } from '../books.ts';

/** A search for charges that both databases understand. The parameters of the search are `?1`, `?2` and `?3`. */
export interface UsageSearch {
  readonly text: string;
  readonly first: number;
  /** The end of the period, exclusive. */
  readonly end: number;
  /** The owner whose charges are read; absent: all owners. */
  readonly owner: readonly string[];
}

/** A row that a search returns. */
export type UsageRow = Omit<AccountRow, 'payer'> & Omit<EndpointCharges, 'dimensions'>;

/** Returns the condition that selects the fewest accounts, and the values that it compares with. */
function narrowest({ keyId, keyIds = null, team = null, user = null }: UsageFilter): readonly [string, string?] {
  if (keyId !== null) return ['a.key_id = ?3', keyId];
  if (user !== null) return ['a.user_id = ?3', user];
  if (keyIds !== null) return ['a.key_id IN (SELECT value FROM json_each(?3))', JSON.stringify([...keyIds])];
  return team === null ? [''] : ['a.team_id = ?3', team];
}

/** The members of an owner, with the columns of `accounts` and the dimensions that they select. */
const OWNER_FORMS = [
  ['keyId', 'key_id', 'key'],
  ['team', 'team_id', 'team'],
  ['user', 'user_id', 'user'],
] as const;

/** A selection of the accounts of some owners. */
export interface OwnersSearch {
  /** The column of `accounts` that names the owners; null to select all accounts. */
  readonly column: string | null;
  readonly ids: readonly string[];
  selects(dimensions: Dimensions): boolean;
}

/** @param owners all in the same form */
export function ownersSearch(owners: readonly EntryOwner[]): OwnersSearch {
  for (const [member, column, dimension] of OWNER_FORMS) {
    const ids = new Set(owners.flatMap((owner) => owner[member] ?? []));
    if (ids.size > 0) return { column, ids: [...ids], selects: (of) => ids.has(of[dimension] ?? '') };
  }
  return { column: null, ids: [], selects: () => true };
}

const SUMS = ['charges', 'microcredits', 'input', 'output', 'stated', 'matched']
  .map((name) => `sum(s.${name}) AS ${name}`)
  .join(', ');
const OWNERS = 'a.key_id AS "keyId", a.labels, a.team_id AS team, a.user_id AS "user"';
/** Grouping without selectors, sessions and agents is much faster, because there are far more runs of agents than keys. */
const FORMS = {
  withRuns: [
    `${OWNERS}, a.selector, a.session, a.agent, s.charges, s.microcredits, s.input, s.output, s.stated, s.matched`,
    '',
  ],
  plain: [
    `${OWNERS}, '' AS selector, NULL AS session, NULL AS agent, ${SUMS}`,
    'GROUP BY a.key_id, a.labels, a.team_id, a.user_id, t.model, t.provider',
  ],
} as const;

/**
 * Makes a search that sums by account and tariff first. Accounts and tariffs are numbers, and sorting millions of rows by texts would take
 * five times as long. The search begins with the accounts of the owner, so its cost depends on the usage of this owner, not on the usage of
 * all owners.
 * @param table a table or subquery with all charges that the database knows
 */
export function usageSearch(table: string, filter: UsageFilter): UsageSearch {
  const [condition, owner] = narrowest(filter);
  const [columns, groups] = FORMS[filter.hasRuns === false ? 'plain' : 'withRuns'];
  const isOfAll = condition === '';
  const tables = isOfAll ? `${table} AS s` : `accounts AS a CROSS JOIN ${table} AS s`;
  const owned = isOfAll ? '' : ` AND s.account = a.id AND ${condition}`;
  const text = `SELECT ${columns}, t.model, t.provider FROM (
      SELECT s.account, s.tariff, sum(s.charges) AS charges, sum(s.microcredits) AS microcredits, sum(s.input_tokens) AS input,
          sum(s.output_tokens) AS output, sum(s.stated) AS stated, sum(s.matched) AS matched
        FROM ${tables} WHERE s.quarter >= ?1 AND s.quarter < ?2${owned} GROUP BY s.account, s.tariff
    ) AS s CROSS JOIN accounts AS a LEFT JOIN tariffs AS t ON t.id = s.tariff WHERE a.id = s.account ${groups}`;
  const [first, end] = [quarterOf(filter.from), quarterOf(filter.to + QUARTER_MS - 1)];
  return { text, first, end, owner: owner === undefined ? [] : [owner] };
}

const chargesOf = ({ keyId, labels, selector, session, agent, team, user, ...row }: UsageRow): EndpointCharges => ({
  dimensions: dimensionsOf({ keyId, labels, selector, session, agent, team, user }),
  ...row,
});

/** Returns the charges that match a filter. @param unwritten charges that are not in the database yet */
export function usageIn(
  { keyId, keyIds = null, team = null, user = null }: UsageFilter,
  rows: readonly UsageRow[],
  unwritten: readonly EndpointCharges[] = [],
): EndpointCharges[] {
  const isWanted = ({ dimensions }: EndpointCharges) =>
    (keyId === null || dimensions.key === keyId) &&
    (keyIds === null || keyIds.has(dimensions.key ?? '')) &&
    (team === null || dimensions.team === team) &&
    (user === null || dimensions.user === user);
  return [...rows.map(chargesOf), ...unwritten].filter(isWanted);
}
