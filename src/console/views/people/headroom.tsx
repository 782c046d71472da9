import { useMemo } from 'preact/hooks';
import type { ReadOf } from '../../api/reads.ts';
import { RENEWAL_MS, useResource } from '../../api/resource.ts';
import { ShareBar } from '../../charts/bars.tsx';
import { Explained } from '../../design/explained.tsx';
import { dayTime, momentTime, usd } from '../../design/format.ts';
import { State, type Tone } from '../../design/tag.tsx';
import { creditsText, Money } from '../../design/written.tsx';
import { reachOfViewer } from '../../shell/session.ts';
import { budgetText, type FundFigures } from './words.ts';

type KeyStatus = ReadOf<`/admin/keys/${string}`>;

/** The use of one budget in its present window. */
export interface BudgetFigures {
  readonly label: string;
  readonly limitUsd: string;
  readonly limitCredits: number;
  readonly spentUsd: string;
  readonly spentCredits: number;
  /** Null where holds are not told. */
  readonly heldCredits: number | null;
  readonly heldUsd: string | null;
  readonly forecastCredits: number | null;
  readonly forecastUsd: string | null;
  readonly runsOutAt: string | null;
  readonly renewsAt: string | null;
}

const WINDOWS = { day: 'Day', week: 'Week', month: 'Month', total: 'In total' } as const;

type Budget = KeyStatus['budgets'][number];

/** The use of the budgets of a key, a person or a team, with what their funds in the books say more, where the viewer may see them. */
const usesOfBudgets = (budgets: readonly Budget[], funds: readonly FundFigures[] = []): readonly BudgetFigures[] =>
  budgets.map((budget) => {
    const fund = funds.find(({ name }) => name.endsWith(endOfName(budget)));
    return {
      label: labelOf(budget),
      limitUsd: String(Number(budget.spent_usd) + Number(budget.left_usd)),
      limitCredits: budget.limit_credits,
      ...{ spentUsd: budget.spent_usd, spentCredits: budget.spent_credits },
      ...{ heldUsd: fund?.held_usd ?? null, heldCredits: fund?.held_credits ?? null },
      ...{ forecastUsd: budget.forecast_usd, forecastCredits: budget.forecast_credits },
      ...{ runsOutAt: fund?.runs_out_at ?? null, renewsAt: budget.renews_at },
    };
  });

/** As the ledger names the budget of a holder, behind the word for its kind. */
function endOfName({ window, time_zone, on_exhausted }: BudgetTerms): string {
  const zone = time_zone === 'UTC' ? '' : `@${time_zone}`;
  return `-${window}${zone}${on_exhausted === 'reject' ? '' : `:${on_exhausted}`}`;
}

type BudgetTerms = Pick<Budget, 'window' | 'time_zone' | 'on_exhausted' | 'limit_credits'>;

const labelOf = ({ window, time_zone }: BudgetTerms): string =>
  [WINDOWS[window], time_zone === 'UTC' ? '' : time_zone].filter(Boolean).join(', ');

/** What was granted to a key, as one more of its budgets. */
function usesOfKey(key: KeyStatus, funds: readonly FundFigures[]): readonly BudgetFigures[] {
  const uses = usesOfBudgets(key.budgets, funds);
  const { balance } = key;
  if (!balance) return uses;
  const granted = {
    label: 'Balance',
    ...{ limitUsd: balance.granted_usd, limitCredits: balance.granted_credits },
    ...{ spentUsd: balance.spent_usd, spentCredits: balance.spent_credits },
    ...{ heldUsd: null, heldCredits: null, forecastUsd: null, forecastCredits: null, runsOutAt: null, renewsAt: null },
  };
  return [...uses, granted];
}

/** The funds in the books of teams, people or keys, by whose they are; none where the viewer may not read the books. */
export function useFunds(): (holder: string) => readonly FundFigures[] {
  const isWanted = reachOfViewer('ledger.read') !== null;
  const ledger = useResource('/admin/ledger', {}, { every: RENEWAL_MS, isWanted });
  const bySubject = useMemo(() => Map.groupBy(ledger.data?.funds ?? [], ({ subject }) => subject), [ledger.data]);
  return (holder) => bySubject.get(holder) ?? [];
}

/** The fund that is fullest, of a row that states no use; where none is drawn on, the first budget is untouched. */
export function FullestFund({
  budgets,
  funds,
}: {
  readonly budgets: readonly BudgetTerms[] | null;
  readonly funds: readonly FundFigures[];
}) {
  const [first] = funds.toSorted((one, other) => usedOf(other) - usedOf(one));
  const [stated] = budgets ?? [];
  if (first) {
    return (
      <HeadroomCell
        use={{
          label: first.name,
          ...{ limitUsd: first.limit_usd, limitCredits: first.limit_credits },
          ...{ spentUsd: first.spent_usd, spentCredits: first.spent_credits },
          ...{ heldUsd: first.held_usd, heldCredits: first.held_credits },
          ...{ forecastUsd: first.forecast_usd, forecastCredits: first.forecast_credits },
          ...{ runsOutAt: first.runs_out_at, renewsAt: first.renews_at },
        }}
      />
    );
  }
  return stated ? <span class="dim">{budgetText(stated)}</span> : <span class="dim">No budget</span>;
}

const usedOf = ({ spent_credits, held_credits, limit_credits }: FundFigures): number =>
  (spent_credits + held_credits) / Math.max(limit_credits, 1e-6);

const shareOf = ({ spentCredits, heldCredits, limitCredits }: BudgetFigures): number =>
  limitCredits === 0 ? 1 : (spentCredits + (heldCredits ?? 0)) / limitCredits;

interface BudgetState {
  readonly tone: Tone;
  readonly text: string;
}

function stateOf(use: BudgetFigures): BudgetState {
  const { spentCredits, limitCredits, runsOutAt, forecastCredits, forecastUsd, renewsAt } = use;
  if (spentCredits >= limitCredits) return { tone: 'bad', text: 'Spent' };
  if (runsOutAt !== null) return { tone: 'warn', text: `Runs out ${soon(runsOutAt)}` };
  if (forecastCredits !== null && forecastCredits > limitCredits) return { tone: 'warn', text: 'Runs out early' };
  if (forecastUsd !== null) return { tone: 'good', text: `${usd(forecastUsd).short} by the end` };
  return { tone: 'quiet', text: renewsAt === null ? 'No end' : 'No forecast yet' };
}

const soon = (at: string): string => {
  const time = Date.parse(at);
  return Math.abs(time - Date.now()) < 43_200_000 ? momentTime(time) : dayTime(time);
};

const MARKS: Readonly<Record<Tone, string>> = {
  good: 'mark-accent',
  quiet: 'mark-accent',
  warn: 'people-warn',
  bad: 'people-bad',
};

/** A budget as one bar with a line below, for a table. */
function HeadroomCell({ use }: { readonly use: BudgetFigures }) {
  return (
    <div class="people-room">
      <span>
        <Money usd={use.spentUsd} credits={use.spentCredits} />
        <span class="dim">
          {' '}
          of <Money usd={use.limitUsd} credits={use.limitCredits} />
        </span>
      </span>
      <ShareBar className={MARKS[stateOf(use).tone]} share={shareOf(use)} />
    </div>
  );
}

/** Budgets with what is spent, held, left and expected. */
const Headroom = ({ uses, none }: { readonly uses: readonly BudgetFigures[]; readonly none: string }) =>
  uses.length === 0 ? (
    <p class="dim">{none}</p>
  ) : (
    <ul class="people-list">
      {uses.map((use) => {
        const { tone, text } = stateOf(use);
        const left = use.limitCredits - use.spentCredits - (use.heldCredits ?? 0);
        return (
          <li key={use.label} class="stack-tight">
            <div class="row row-apart">
              <strong>{use.label}</strong>
              <State tone={tone}>{text}</State>
            </div>
            <HeadroomCell use={use} />
            <p class="small dim">
              {use.heldCredits !== null && use.heldCredits > 0 && (
                <>
                  <Explained term="held">{usd(use.heldUsd).short} held</Explained>
                  {' · '}
                </>
              )}
              {[
                left >= 0 ? `${creditsText(left)} left` : `${creditsText(-left)} above the limit`,
                use.renewsAt !== null && `renews ${momentTime(Date.parse(use.renewsAt))}`,
              ]
                .filter((part) => part !== false)
                .join(' · ')}
            </p>
          </li>
        );
      })}
    </ul>
  );

/** The budgets of a team or a person. */
export function Budgets({
  of,
  holder,
  none,
}: {
  readonly of: readonly Budget[];
  readonly holder: string;
  readonly none: string;
}) {
  const fundsOf = useFunds();
  return <Headroom uses={usesOfBudgets(of, fundsOf(holder))} none={none} />;
}

/** The budgets of a key, and its balance. */
export function KeyBudgets({ of }: { readonly of: KeyStatus }) {
  const fundsOf = useFunds();
  return (
    <Headroom
      uses={usesOfKey(of, fundsOf(of.id))}
      none="None of its own. Those of the policy, its team and its member apply."
    />
  );
}
