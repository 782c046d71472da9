import { QUARTER_MS, quarterOf } from '../../../accounting/window.ts';
import { type AccountRow, dimensionsOf } from '../../account-row.ts';
import type { EndpointCharges, UsageFilter } from '../../books.ts';
import { type SqlReader, sql } from '../../sql/statement.ts';
import type { Checkpoints } from './checkpoint.ts';
import type { Journal } from './journal.ts';

/** First by account and tariff, which are numbers: sorting millions of rows by texts takes five times as long. */
const summed = (tables: string, condition: string) => `SELECT s.account, s.tariff, sum(s.charges) AS charges,
      sum(s.microcredits) AS microcredits, sum(s.input_tokens) AS input, sum(s.output_tokens) AS output
    FROM ${tables} WHERE s.quarter >= ?1 AND s.quarter < ?2${condition} GROUP BY s.account, s.tariff`;
const fromSums = (sums: string) =>
  `FROM (${sums}) AS s CROSS JOIN accounts AS a ON a.id = s.account LEFT JOIN tariffs AS t ON t.id = s.tariff`;
const OWNERS = 'a.key_id AS keyId, a.labels, a.team_id AS team, a.user_id AS "user", t.model, t.provider';
/** Runs are many times as many as keys. */
const FORMS = {
  withRuns: (sums: string) =>
    sql(`SELECT ${OWNERS}, a.selector, a.session, a.agent, charges, microcredits, input, output ${fromSums(sums)}`),
  plain: (sums: string) =>
    sql(`SELECT ${OWNERS}, '' AS selector, NULL AS session, NULL AS agent, sum(charges) AS charges,
      sum(microcredits) AS microcredits, sum(input) AS input, sum(output) AS output ${fromSums(sums)}
      GROUP BY a.key_id, a.labels, a.team_id, a.user_id, t.model, t.provider`),
} as const;

const inBothForms = (sums: string) => ({ withRuns: FORMS.withRuns(sums), plain: FORMS.plain(sums) });
/** Begins with the accounts of an owner, so that it costs what this one used and not what all did. */
const ofOwner = (condition: string) =>
  inBothForms(summed('accounts AS a CROSS JOIN spend AS s ON s.account = a.id', ` AND ${condition}`));
const OF_KEY = ofOwner('a.key_id = ?3');
const OF_KEYS = ofOwner('a.key_id IN (SELECT value FROM json_each(?3))');
const OF_USER = ofOwner('a.user_id = ?3');
const OF_TEAM = ofOwner('a.team_id = ?3');
const OF_ALL = inBothForms(summed('spend AS s', ''));

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
  const [statements, owner] = narrowest(filter);
  for (;;) {
    await checkpoints.settled();
    const { takes } = journal.sums;
    const rows = await store.query<UsageRow>(statements[filter.hasRuns === false ? 'plain' : 'withRuns'], [
      first,
      end,
      ...owner,
    ]);
    // If sums were handed over during the query, its rows may or may not include them: read again.
    if (takes !== journal.sums.takes) continue;
    return [...rows.map(usageOf), ...unwritten(journal, first, end)].filter(isOf(filter));
  }
}

/** Whether charges are of the owners that a filter names. */
const isOf =
  ({ keyId, keyIds = null, team = null, user = null }: UsageFilter) =>
  ({ dimensions }: EndpointCharges): boolean =>
    (keyId === null || dimensions.key === keyId) &&
    (keyIds === null || keyIds.has(dimensions.key ?? '')) &&
    (team === null || dimensions.team === team) &&
    (user === null || dimensions.user === user);

/** The query of the owner with the fewest accounts. */
function narrowest(filter: UsageFilter): readonly [typeof OF_ALL, readonly string[]] {
  const { keyId, keyIds = null, team = null, user = null } = filter;
  if (keyId !== null) return [OF_KEY, [keyId]];
  if (user !== null) return [OF_USER, [user]];
  if (keyIds !== null) return [OF_KEYS, [JSON.stringify([...keyIds])]];
  return team === null ? [OF_ALL, []] : [OF_TEAM, [team]];
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
