import type { ReadOf } from '../../api/reads.ts';
import type { Resource } from '../../api/resource.ts';
import { LoadedCard } from '../../design/card.tsx';
import { asSum, clockTime, dayTime, isAddress, percent, usd } from '../../design/format.ts';
import { Empty } from '../../design/states.tsx';
import { Table, type TableColumn } from '../../design/table.tsx';
import { State, type Tone } from '../../design/tag.tsx';
import { type MoneyProps, moneyFigure } from '../../design/written.tsx';
import { hrefOf } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { fundName } from './fund-name.ts';

export type FundUsage = ReadOf<'/admin/ledger'>['funds'][number];

const FUNDS_SHOWN = 6;

/** Whether a fund refuses requests because too little of it is left, although it is not used up. */
export const isRefusing = ({ limit_credits: limit, spent_credits: spent, refuses_since }: FundUsage): boolean =>
  refuses_since !== null && spent < limit;

/** Whether the limit of a budget is too low for any usual request. */
const isTooSmall = ({ least_request_usd: least }: FundUsage): boolean => least !== null;

/** Why a budget fits no request, with what a short request needs from it. */
export const tooSmallText = ({ least_request_usd: least, limit_usd: limit }: FundUsage): string | null =>
  least === null
    ? null
    : `fits no usual request: a short one needs ${usd(least).short}, and the limit is ${usd(limit).short}`;

/**
 * When a fund is empty at the current rate of spending, in ms since 1970; null if that is after its window, or not known. A fund that
 * refuses requests or fits none counts as empty.
 */
export function emptyAt(fund: FundUsage, now: number): number | null {
  const { limit_credits: limit, spent_credits: spent, runs_out_at } = fund;
  if (spent >= limit || isRefusing(fund) || isTooSmall(fund)) return now;
  return runs_out_at === null ? null : Date.parse(runs_out_at);
}

/** A fund at the beginning of a sentence: `Budget “month of team search”`, `The balance of key app`. */
export const fundSubject = (fund: FundUsage): string =>
  fund.kind === 'balance' ? `The ${fundName(fund)}` : `Budget “${fundName(fund)}”`;

const SUBJECT_PAGES = { key: '/people/keys', team: '/people/teams', user: '/people/members' } as const;

/**
 * The page of a fund: a balance opens its wallet, a budget opens its key, team or member, and so does the share of one of them in a budget of the policy. The page is undefined if the viewer may not open
 * it.
 */
export function fundHref({ kind, name, subject, subject_name: called, subject_kind }: FundUsage): string | undefined {
  if (kind === 'balance') {
    return isAddress(name) && reachOfViewer('wallets.read') !== null
      ? hrefOf('/money', { tab: 'payments', wallet: name })
      : undefined;
  }
  // A report key gets the name instead of the ID.
  if (subject_kind === null || subject === called) return undefined;
  return reachOfViewer(subject_kind === 'key' ? 'keys.read' : 'people.read') === null
    ? undefined
    : hrefOf(`${SUBJECT_PAGES[subject_kind]}/${subject}`);
}

/** Writes `at 21:55` on the same day and within the next half day, otherwise `on 24 Nov`. */
const soonText = (at: number, now: number): string =>
  at - now < 43_200_000 || dayTime(at) === dayTime(now) ? `at ${clockTime(at)}` : `on ${dayTime(at)}`;

function stateOf(fund: FundUsage, now: number): readonly [Tone, string] {
  if (fund.spent_credits >= fund.limit_credits) return ['bad', 'Spent'];
  if (isTooSmall(fund)) return ['bad', 'No request fits'];
  if (isRefusing(fund)) return ['bad', 'Refuses requests'];
  const at = emptyAt(fund, now);
  if (at !== null) return ['warn', `Empty ${soonText(at, now)}`];
  if (fund.forecast_usd !== null) return ['good', 'Will last'];
  return ['quiet', fund.kind === 'balance' ? 'Balance' : 'No forecast yet'];
}

const usedOf = (fund: FundUsage): number => fund.spent_credits / Math.max(fund.limit_credits, 1e-6);

/** Sorts funds: the fund that is empty first comes first, then the fullest fund. */
export function sortedFunds(funds: readonly FundUsage[], now: number): readonly FundUsage[] {
  const rank = (fund: FundUsage) => emptyAt(fund, now) ?? Number.MAX_VALUE;
  return funds.toSorted((one, other) => rank(one) - rank(other) || usedOf(other) - usedOf(one));
}

export const fundKey = ({ kind, name, subject }: FundUsage): string => `${kind} ${name} ${subject}`;

/** All amounts of a table of budgets have the same number of decimals, so that they can be compared. */
export const BUDGET_FORMAT = 'budgets';

const budgetSum = (money: (fund: FundUsage) => MoneyProps): Pick<TableColumn<FundUsage>, 'figure' | 'formatWith'> => ({
  figure: (fund) => asSum(moneyFigure(money(fund))),
  formatWith: BUDGET_FORMAT,
});

/** The columns with the most important facts of a fund. */
export const fundColumns = (now: number): readonly TableColumn<FundUsage>[] => [
  {
    id: 'name',
    head: 'Budget',
    cell: (fund) => (
      <span class="table-name" title={fund.subject === '' ? fund.name : `${fund.name}, ${fund.subject}`}>
        {fundName(fund)}
      </span>
    ),
    sort: fundName,
  },
  {
    id: 'spent',
    head: 'Spent',
    phone: 'more',
    sort: true,
    ...budgetSum((fund) => ({ usd: fund.spent_usd, credits: fund.spent_credits })),
  },
  {
    id: 'limit',
    head: 'Limit',
    phone: 'more',
    sort: true,
    ...budgetSum((fund) => ({ usd: fund.limit_usd, credits: fund.limit_credits })),
  },
  { id: 'share', head: 'Used', phone: 'more', figure: (fund) => percent(usedOf(fund)), sort: true },
  {
    id: 'state',
    head: 'Forecast',
    phone: 'more',
    cell: (fund) => {
      const [tone, text] = stateOf(fund, now);
      return <State tone={tone}>{text}</State>;
    },
  },
];

/** Budgets and balances. The fund that is empty first comes first. */
export function Budgets({ ledger }: { readonly ledger: Resource<ReadOf<'/admin/ledger'>> }) {
  const now = Date.now();
  return (
    <LoadedCard
      id="budgets"
      what="Budgets"
      of={ledger}
      heading={({ funds }) => budgetsSentence(sortedFunds(funds, now), now)}
      aside={({ funds_total }) =>
        funds_total > FUNDS_SHOWN && <a href={hrefOf('/money', { tab: 'budgets' })}>All {funds_total}</a>
      }
    >
      {({ funds }) =>
        funds.length === 0 ? (
          <NoBudgets />
        ) : (
          <Table
            label="Budgets"
            rows={sortedFunds(funds, now).slice(0, FUNDS_SHOWN)}
            keyOf={fundKey}
            hrefOf={fundHref}
            columns={fundColumns(now).map(({ sort: _, ...column }) => column)}
          />
        )
      }
    </LoadedCard>
  );
}

export const NoBudgets = () => (
  <Empty title="No budget is set">
    Set one under <code>budgets</code> in the policy, or give a key a limit.
  </Empty>
);

/**
 * Says which budget is empty first, and when.
 * @param sorted in the order of `sortedFunds`
 */
export function budgetsSentence(sorted: readonly FundUsage[], now: number): string {
  const [first] = sorted;
  if (!first) return 'Budgets';
  const at = emptyAt(first, now);
  const tooSmall = tooSmallText(first);
  if (tooSmall !== null) return `${fundSubject(first)} ${tooSmall}.`;
  if (isRefusing(first)) return `${fundSubject(first)} refuses requests, because too little of it is left.`;
  if (at !== null && at <= now) return `${fundSubject(first)} is empty.`;
  if (at !== null) return `${fundSubject(first)} will be empty first, ${soonText(at, now)}, at this rate.`;
  const isAll = sorted.every(({ kind }) => kind === 'balance');
  return isAll ? 'No balance is empty.' : 'At this rate, no budget will be empty before it renews.';
}
