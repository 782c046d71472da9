import { useMemo } from 'preact/hooks';
import { budgetTermsText, timeZoneText } from '../../../core/money/budget-words.ts';
import type { ReadOf } from '../../api/reads.ts';
import { RENEWAL_MS, useResource } from '../../api/resource.ts';
import { ShareBar } from '../../charts/bars.tsx';
import { Explained } from '../../design/explained.tsx';
import { dayTime, momentTime, percent, usd, type WrittenFigure } from '../../design/format.ts';
import { State, type Tone } from '../../design/tag.tsx';
import { creditsText, Money } from '../../design/written.tsx';
import type { Column } from '../../kit/columns.tsx';
import { reachOfViewer } from '../../shell/session.ts';
import type { KeyMoney } from './words.ts';

type Fund = ReadOf<'/admin/ledger'>['funds'][number];
type Budget = KeyMoney['budgets'][number];
type BudgetTerms = Pick<Budget, 'window' | 'time_zone' | 'on_exhausted' | 'limit_credits' | 'limit_usd'>;

/** The use of a budget in its current window. A figure that the viewer may not see is null. */
type BudgetUse = Pick<Fund, 'limit_usd' | 'limit_credits' | 'spent_usd' | 'spent_credits'> & {
  readonly label: string;
} & {
  readonly [Member in
    | 'held_usd'
    | 'held_credits'
    | 'forecast_usd'
    | 'forecast_credits'
    | 'runs_out_at'
    | 'refuses_since'
    | 'least_request_usd'
    | 'renews_at']: Fund[Member] | null;
};

const UNTOLD = {
  held_usd: null,
  held_credits: null,
  forecast_usd: null,
  forecast_credits: null,
  runs_out_at: null,
  refuses_since: null,
  least_request_usd: null,
  renews_at: null,
};

const WINDOWS = { day: 'Day', week: 'Week', month: 'Month', total: 'In total', every: 'Period' } as const;

/** The use of a budget of a key, person or team. The ledger adds details if the viewer may read the ledger. */
function usageOf(budget: Budget, funds: readonly Fund[]): BudgetUse {
  const fund = funds.find(({ name }) => name.endsWith(endOfName(budget)));
  const { window, time_zone, until } = budget;
  return {
    ...UNTOLD,
    ...budget,
    ...(fund && {
      held_usd: fund.held_usd,
      held_credits: fund.held_credits,
      runs_out_at: fund.runs_out_at,
      refuses_since: fund.refuses_since,
      least_request_usd: fund.least_request_usd,
    }),
    label: [
      WINDOWS[window],
      time_zone === 'UTC' || window === 'total' ? '' : timeZoneText(time_zone),
      until === undefined ? '' : `until ${momentTime(Date.parse(until))}`,
    ]
      .filter(Boolean)
      .join(', '),
  };
}

/** The part of a fund's name that the ledger writes after the kind of its holder. */
function endOfName({ window, time_zone, on_exhausted }: BudgetTerms): string {
  const zone = time_zone === 'UTC' ? '' : `@${time_zone}`;
  return `-${window}${zone}${on_exhausted === 'reject' ? '' : `:${on_exhausted}`}`;
}

/** Returns the funds of a team, person or key; no funds if the viewer may not read the ledger. */
export function useFunds(): (holder: string) => readonly Fund[] {
  const isWanted = reachOfViewer('ledger.read') !== null;
  const ledger = useResource('/admin/ledger', {}, { every: RENEWAL_MS, isWanted });
  const bySubject = useMemo(() => Map.groupBy(ledger.data?.funds ?? [], ({ subject }) => subject), [ledger.data]);
  return (holder) => bySubject.get(holder) ?? [];
}

interface FullestFundProps {
  readonly budgets: readonly BudgetTerms[] | null;
  readonly funds: readonly Fund[];
}

/**
 * The column with the fullest fund of a holder whose row contains no usage. If no fund was used, the row shows the first budget as unused.
 */
export const fullestFundColumn = <Row extends object>(of: (row: Row) => FullestFundProps): Column<Row> => {
  const fullest = (row: Row) =>
    of(row)
      .funds.map((fund) => ({ ...fund, label: fund.title }))
      .toSorted((one, other) => shareOf(other) - shareOf(one))[0];
  return {
    head: 'Fullest budget',
    phone: 'second',
    isFigure: false,
    sort: true,
    figure(row) {
      const use = fullest(row);
      return percent(use ? shareOf(use) : null);
    },
    cell(row, share) {
      const use = fullest(row);
      if (use) return <FullestFund use={use} share={share} />;
      const [budget] = of(row).budgets ?? [];
      return <span class="dim">{budget ? budgetTermsText(budget) : 'No own budget'}</span>;
    },
  };
};

const FullestFund = ({ use, share }: { readonly use: BudgetUse; readonly share: WrittenFigure }) => (
  <span class="people-fullest" title={`${usd(use.spent_usd).short} of ${usd(use.limit_usd).short}`}>
    <span class="figure">{share.short}</span>
    <ShareBar mark={MARKS[stateOf(use)[0]]} share={shareOf(use)} />
  </span>
);

const shareOf = ({ spent_credits, held_credits, limit_credits }: BudgetUse): number =>
  limit_credits === 0 ? 1 : (spent_credits + (held_credits ?? 0)) / limit_credits;

function stateOf(use: BudgetUse): readonly [tone: Tone, text: string] {
  if (use.spent_credits >= use.limit_credits) return ['bad', 'Spent'];
  if (use.least_request_usd !== null)
    return ['bad', `No request fits: a short one needs ${usd(use.least_request_usd).short}`];
  if (use.refuses_since !== null) return ['bad', 'Refuses requests'];
  if (use.runs_out_at !== null) return ['warn', `Runs out ${soon(use.runs_out_at)}`];
  if ((use.forecast_credits ?? 0) > use.limit_credits) return ['warn', 'Empty too early'];
  if (use.forecast_usd !== null) return ['good', `${usd(use.forecast_usd).short} by the end`];
  return ['quiet', use.renews_at === null ? 'No end' : 'No forecast yet'];
}

const soon = (at: string): string => {
  const time = Date.parse(at);
  return Math.abs(time - Date.now()) < 43_200_000 ? momentTime(time) : dayTime(time);
};

const MARKS: Readonly<Record<Tone, string>> = { good: 'accent', quiet: 'accent', warn: 'warn', bad: 'bad' };

/** A budget as a line of text and a bar. */
const HeadroomCell = ({ use }: { readonly use: BudgetUse }) => (
  <div class="people-room">
    <span>
      <Money usd={use.spent_usd} credits={use.spent_credits} />
      <span class="dim">
        {' '}
        of <Money usd={use.limit_usd} credits={use.limit_credits} />
      </span>
    </span>
    <ShareBar mark={MARKS[stateOf(use)[0]]} share={shareOf(use)} />
  </div>
);

/** Shows a budget with its spent, held, remaining and expected Credits. */
function Headroom({ use }: { readonly use: BudgetUse }) {
  const [tone, text] = stateOf(use);
  const left = use.limit_credits - use.spent_credits - (use.held_credits ?? 0);
  return (
    <li class="stack-tight">
      <div class="row row-apart">
        <strong>{use.label}</strong>
        <State tone={tone}>{text}</State>
      </div>
      <HeadroomCell use={use} />
      <p class="small dim">
        {use.held_credits !== null && use.held_credits > 0 && (
          <>
            <Explained term="held">{usd(use.held_usd).short} held</Explained>
            {' · '}
          </>
        )}
        {left >= 0 ? `${creditsText(left)} left` : `${creditsText(-left)} above the limit`}
        {use.renews_at !== null && ` · renews ${momentTime(Date.parse(use.renews_at))}`}
      </p>
    </li>
  );
}

interface BudgetsProps {
  readonly of: readonly Budget[];
  readonly holder: string;
  /** The granted balance of a key, which is shown as one more budget. */
  readonly balance?: KeyMoney['balance'];
  readonly none: string;
}

/** The budgets of a team, person or key. Budgets that the policy gives to each of them are listed once they are used. */
export function Budgets({ of, holder, balance, none }: BudgetsProps) {
  const funds = useFunds()(holder);
  const uses: readonly BudgetUse[] = [
    ...of.map((budget) => usageOf(budget, funds)),
    ...funds
      .filter(({ kind, name }) => kind === 'budget' && !of.some((budget) => name.endsWith(endOfName(budget))))
      .map((fund) => ({ ...fund, label: `${fund.name}, of the policy` })),
    ...(balance
      ? [
          {
            ...UNTOLD,
            ...balance,
            label: 'Balance',
            limit_usd: balance.granted_usd,
            limit_credits: balance.granted_credits,
          },
        ]
      : []),
  ];
  if (uses.length === 0) return <p class="dim">{none}</p>;
  return (
    <ul class="related">
      {uses.map((use) => (
        <Headroom key={use.label} use={use} />
      ))}
    </ul>
  );
}
