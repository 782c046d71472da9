import { QUARTER_MS, quarterOf } from '../../../accounting/window.ts';
import type { EndpointCharges, UsageFilter } from '../../books.ts';
import { type SqlReader, type Statement, sql } from '../../sql/statement.ts';
import { dimensionsOf } from './accounts.ts';
import type { Checkpoints } from './checkpoint.ts';
import type { Journal } from './journal.ts';
import type { AccountRow } from './tables.ts';

const COLUMNS = `a.key_id AS keyId, a.labels, a.selector, a.session, a.agent, a.team_id AS team, a.user_id AS "user", t.model,
      t.provider, sum(s.charges) AS charges, sum(s.microcredits) AS microcredits, sum(s.input_tokens) AS input,
      sum(s.output_tokens) AS output`;
const GROUPS = 'GROUP BY a.key_id, a.labels, a.selector, a.session, a.agent, a.team_id, a.user_id, t.model, t.provider';

/** Begins with the accounts of an owner, so that it costs what this one used and not what all did. */
const ofOwner = (column: string) =>
  sql(`SELECT ${COLUMNS}
    FROM accounts AS a CROSS JOIN spend AS s ON s.account = a.id LEFT JOIN tariffs AS t ON t.id = s.tariff
    WHERE s.quarter >= ?1 AND s.quarter < ?2 AND a.${column} = ?3 ${GROUPS}`);
const SELECT_OF_KEY = ofOwner('key_id');
const SELECT_OF_USER = ofOwner('user_id');
const SELECT_OF_TEAM = ofOwner('team_id');
const SELECT_OF_ALL = sql(`SELECT ${COLUMNS}
    FROM spend AS s CROSS JOIN accounts AS a ON a.id = s.account LEFT JOIN tariffs AS t ON t.id = s.tariff
    WHERE s.quarter >= ?1 AND s.quarter < ?2 ${GROUPS}`);

type UsageRow = Omit<EndpointCharges, 'dimensions'> &
  Pick<AccountRow, 'keyId' | 'labels' | 'selector' | 'session' | 'agent' | 'team' | 'user'>;

/** Reads the charges of a period: those in the store, and those that are not written yet. Groups may repeat. */
export async function readUsage(
  store: SqlReader,
  journal: Journal,
  checkpoints: Checkpoints,
  filter: UsageFilter,
): Promise<EndpointCharges[]> {
  const { from, to } = filter;
  const [first, end] = [quarterOf(from), quarterOf(to + QUARTER_MS - 1)];
  const [select, owner] = narrowest(filter);
  for (;;) {
    await checkpoints.settled();
    const { takes } = journal.sums;
    const rows = await store.query<UsageRow>(select, [first, end, ...owner]);
    // If sums were handed over during the query, its rows may or may not include them: read again.
    if (takes !== journal.sums.takes) continue;
    return [...rows.map(usageOf), ...unwritten(journal, first, end)].filter(isOf(filter));
  }
}

/** Whether charges are of the owners that a filter names. */
const isOf =
  ({ keyId, team = null, user = null }: UsageFilter) =>
  ({ dimensions }: EndpointCharges): boolean =>
    (keyId === null || dimensions.key === keyId) &&
    (team === null || dimensions.team === team) &&
    (user === null || dimensions.user === user);

/** The query of the owner with the fewest accounts. */
function narrowest({ keyId, team = null, user = null }: UsageFilter): readonly [Statement, readonly string[]] {
  if (keyId !== null) return [SELECT_OF_KEY, [keyId]];
  if (user !== null) return [SELECT_OF_USER, [user]];
  return team === null ? [SELECT_OF_ALL, []] : [SELECT_OF_TEAM, [team]];
}

const usageOf = ({ keyId, labels, selector, session, agent, team, user, ...row }: UsageRow): EndpointCharges => ({
  dimensions: dimensionsOf({ keyId, labels, selector, session, agent, team, user }),
  ...row,
});

function unwritten(journal: Journal, first: number, end: number): EndpointCharges[] {
  return [...journal.sums]
    .filter(({ quarter }) => quarter >= first && quarter < end)
    .map(({ dimensions, tariff, charges, microcredits, input, output }) => {
      const { model, provider } = journal.tariffOf(tariff) ?? { model: null, provider: null };
      return { dimensions, model, provider, charges, microcredits, input, output };
    });
}
