import type { ReadOf } from '../../api/reads.ts';
import { ShareBar } from '../../charts/bars.tsx';
import { dayTime, momentTime, usd } from '../../design/format.ts';
import { State, type Tone } from '../../design/tag.tsx';
import { creditsText, Money } from '../../design/written.tsx';
import type { FundFigures } from './words.ts';

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

const WINDOWS: Readonly<Record<string, string>> = { day: 'Day', week: 'Week', month: 'Month', total: 'In total' };

/** The window of a budget's name: `team-month@Europe/Berlin:cap` is "Month, Europe/Berlin". */
function labelOf(name: string): string {
  const [, window = name, , zone] = /^[a-z]+-([a-z]+)(@([^:]+))?/.exec(name) ?? [];
  return [WINDOWS[window] ?? window, zone].filter(Boolean).join(', ');
}

export const usesOfFunds = (funds: readonly FundFigures[]): readonly BudgetFigures[] =>
  funds.map((fund) => ({
    label: labelOf(fund.name),
    ...{ limitUsd: fund.limit_usd, limitCredits: fund.limit_credits },
    ...{ spentUsd: fund.spent_usd, spentCredits: fund.spent_credits },
    ...{ heldUsd: fund.held_usd, heldCredits: fund.held_credits },
    ...{ forecastUsd: fund.forecast_usd, forecastCredits: fund.forecast_credits },
    ...{ runsOutAt: fund.runs_out_at, renewsAt: fund.renews_at },
  }));

/** The budgets of a key, and what was granted to it. */
export function usesOfKey({ budgets, balance }: KeyStatus): readonly BudgetFigures[] {
  const plain = { heldUsd: null, heldCredits: null, runsOutAt: null };
  const uses = budgets.map((budget) => ({
    ...plain,
    label: [WINDOWS[budget.window], budget.time_zone === 'UTC' ? '' : budget.time_zone].filter(Boolean).join(', '),
    limitUsd: String(Number(budget.spent_usd) + Number(budget.left_usd)),
    limitCredits: budget.limit_credits,
    ...{ spentUsd: budget.spent_usd, spentCredits: budget.spent_credits },
    ...{ forecastUsd: budget.forecast_usd, forecastCredits: budget.forecast_credits, renewsAt: budget.renews_at },
  }));
  if (!balance) return uses;
  const granted = {
    ...plain,
    label: 'Balance',
    ...{ limitUsd: balance.granted_usd, limitCredits: balance.granted_credits },
    ...{ spentUsd: balance.spent_usd, spentCredits: balance.spent_credits },
    ...{ forecastUsd: null, forecastCredits: null, renewsAt: null },
  };
  return [...uses, granted];
}

const shareOf = ({ spentCredits, heldCredits, limitCredits }: BudgetFigures): number =>
  limitCredits === 0 ? 1 : (spentCredits + (heldCredits ?? 0)) / limitCredits;

/** The fullest first. */
export const fullest = (uses: readonly BudgetFigures[]): BudgetFigures | null =>
  uses.toSorted((one, other) => shareOf(other) - shareOf(one))[0] ?? null;

interface BudgetState {
  readonly tone: Tone;
  readonly text: string;
}

export function stateOf(use: BudgetFigures): BudgetState {
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
export function HeadroomCell({ use }: { readonly use: BudgetFigures | null }) {
  if (use === null) return <span class="dim">No budget</span>;
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
export const Headroom = ({ uses, none }: { readonly uses: readonly BudgetFigures[]; readonly none: string }) =>
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
              {[
                use.heldCredits !== null && use.heldCredits > 0 && `${usd(use.heldUsd).short} held`,
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
