import type { ReadOf } from '../../api/reads.ts';
import type { Resource } from '../../api/resource.ts';
import { clockTime, dayTime, percent, usd } from '../../design/format.ts';
import { Empty, Loaded } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { State, type Tone } from '../../design/tag.tsx';
import { Money, Written } from '../../design/written.tsx';
import { hrefOf } from '../../shell/router.ts';

type Fund = ReadOf<'/admin/ledger'>['funds'][number];

const FUNDS_SHOWN = 6;

/** When a fund is empty at the rate so far, ms since 1970; null where that is after its window, or nothing is known. */
export function emptyAt(
  { limit_credits: limit, spent_credits: spent, starts, renews_at, forecast_credits }: Fund,
  now: number,
): number | null {
  if (spent >= limit) return now;
  if (starts === null || renews_at === null || forecast_credits === null || forecast_credits <= limit) return null;
  const begun = Date.parse(starts);
  return begun + ((now - begun) * limit) / spent;
}

export const fundName = ({ name, subject }: Fund): string => (subject === '' ? name : `${name}, ${subject}`);

/** `at 21:55` within half a day, else `on 24 Nov`. */
const soonText = (at: number, now: number): string =>
  at - now < 43_200_000 ? `at ${clockTime(at)}` : `on ${dayTime(at)}`;

interface FundState {
  readonly tone: Tone;
  readonly text: string;
}

function stateOf(fund: Fund, now: number): FundState {
  if (fund.spent_credits >= fund.limit_credits) return { tone: 'bad', text: 'Spent' };
  const at = emptyAt(fund, now);
  if (at !== null) return { tone: 'warn', text: `Runs out ${soonText(at, now)}` };
  if (fund.forecast_usd !== null) return { tone: 'good', text: `${usd(fund.forecast_usd).short} by the end` };
  return { tone: 'quiet', text: fund.kind === 'balance' ? 'Balance' : 'No forecast yet' };
}

/** Budgets and balances: the first to run out comes first. */
export function Budgets({ ledger }: { readonly ledger: Resource<ReadOf<'/admin/ledger'>> }) {
  return (
    <section class="card" aria-labelledby="budgets">
      <Loaded what="Budgets" of={ledger}>
        {({ funds, funds_total }) => {
          const now = Date.now();
          const rank = (fund: Fund) => emptyAt(fund, now) ?? Number.POSITIVE_INFINITY;
          const full = (fund: Fund) => fund.spent_credits / fund.limit_credits;
          const sorted = funds.toSorted((one, other) => rank(one) - rank(other) || full(other) - full(one));
          const [first] = sorted;
          const at = first ? emptyAt(first, now) : null;
          return (
            <>
              <div class="card-head">
                <h2 id="budgets">{headingOf(first, at, now)}</h2>
                {funds_total > FUNDS_SHOWN && <a href={hrefOf('/money')}>All {funds_total}</a>}
              </div>
              {first ? (
                <Table
                  label="Budgets"
                  rows={sorted.slice(0, FUNDS_SHOWN)}
                  keyOf={(fund) => `${fund.kind} ${fund.name} ${fund.subject}`}
                  columns={[
                    {
                      id: 'name',
                      head: 'Budget',
                      cell: (fund) => (
                        <span class="table-name" title={fundName(fund)}>
                          {fundName(fund)}
                        </span>
                      ),
                    },
                    {
                      id: 'spent',
                      head: 'Spent of limit',
                      isFigure: true,
                      phone: 'fact',
                      cell: (fund) => (
                        <>
                          <Money usd={fund.spent_usd} credits={fund.spent_credits} />
                          <span class="dim">
                            {' '}
                            of <Money usd={fund.limit_usd} credits={fund.limit_credits} />
                          </span>
                        </>
                      ),
                    },
                    {
                      id: 'share',
                      head: 'Used',
                      isFigure: true,
                      cell: (fund) => <Written value={percent(Math.round(full(fund) * 1_000) / 1_000)} />,
                    },
                    {
                      id: 'state',
                      head: 'Forecast',
                      phone: 'second',
                      cell: (fund) => {
                        const { tone, text } = stateOf(fund, now);
                        return <State tone={tone}>{text}</State>;
                      },
                    },
                  ]}
                />
              ) : (
                <Empty title="No budget is in use">
                  Set one under <code>budgets</code> in the policy, or give a key a limit.
                </Empty>
              )}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

function headingOf(first: Fund | undefined, at: number | null, now: number): string {
  if (!first) return 'Budgets';
  if (at === null) return 'No budget runs out before it renews.';
  return at <= now
    ? `Budget ${fundName(first)} is spent.`
    : `Budget ${fundName(first)} runs out first, ${soonText(at, now)}.`;
}
