import type { ReadOf } from '../../api/reads.ts';
import { RENEWAL_MS, useResource } from '../../api/resource.ts';
import { figure, usd } from '../../design/format.ts';
import { Below, Loaded, Partial } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { creditsText } from '../../design/written.tsx';
import { columnsOf } from '../../kit/columns.tsx';
import { Figures, type ViewFigure } from '../../kit/figures.tsx';
import { reachOfViewer } from '../../shell/session.ts';
import {
  BUDGET_FORMAT,
  budgetsSentence,
  emptyAt,
  type FundUsage,
  fundColumns,
  fundHref,
  fundKey,
  NoBudgets,
  sortedFunds,
} from '../overview/budgets.tsx';
import { Books } from './books.tsx';

const FIGURES: readonly ViewFigure<ReadOf<'/admin/ledger'>>[] = [
  {
    label: 'Charged',
    value: (books) => usd(books.charged_usd),
    notes: (books) => [creditsText(books.charged_credits), 'since the first request, minus refunds'],
  },
  {
    label: 'Held now',
    term: 'held',
    value: (books) => usd(books.held_usd),
    notes: (books) => [creditsText(books.held_credits), runningText(books.open_reservations)],
  },
  { label: 'Budgets and balances', value: (books) => figure(books.funds_total) },
  {
    label: 'Empty or soon empty',
    value: ({ funds }) => figure(funds.filter((fund) => emptyAt(fund, Date.now()) !== null).length),
    notes: () => ['before they renew, if spending continues at this rate'],
  },
];

/** All budgets and balances, with the Credits that running requests hold. */
export function Funds() {
  const ledger = useResource('/admin/ledger', {}, { every: RENEWAL_MS });
  return (
    <>
      <Figures of={ledger} figures={FIGURES} />
      <section class="card" aria-labelledby="funds">
        <Loaded what="Budgets" of={ledger}>
          {({ funds, funds_total }) => <FundTable funds={funds} total={funds_total} />}
        </Loaded>
      </section>
      {reachOfViewer('ledger.audit') !== null && (
        <Below of={[ledger]}>
          <Books />
        </Below>
      )}
    </>
  );
}

const runningText = (requests: number): string =>
  requests === 0 ? 'no request is running' : `for ${figure(requests).short} running requests`;

function FundTable({ funds, total }: { readonly funds: readonly FundUsage[]; readonly total: number }) {
  const now = Date.now();
  const sorted = sortedFunds(funds, now);
  return (
    <>
      <div class="card-head">
        <h2 id="funds">{budgetsSentence(sorted, now)}</h2>
      </div>
      {sorted.length < total && (
        <Partial>
          The {figure(sorted.length).short} fullest of {figure(total).short} are shown.
        </Partial>
      )}
      {sorted.length === 0 ? (
        <NoBudgets />
      ) : (
        <Table
          label="Budgets and balances"
          rows={sorted}
          keyOf={fundKey}
          hrefOf={fundHref}
          columns={[
            ...fundColumns(now),
            ...columnsOf<FundUsage>([
              {
                head: 'By the end',
                formatWith: BUDGET_FORMAT,
                sum: ({ forecast_usd, forecast_credits }) => ({ usd: forecast_usd, credits: forecast_credits }),
              },
              {
                head: 'Held',
                term: 'held',
                formatWith: BUDGET_FORMAT,
                sum: (fund) => ({ usd: fund.held_usd, credits: fund.held_credits }),
              },
              {
                head: 'Left',
                formatWith: BUDGET_FORMAT,
                sum: (fund) => ({ usd: fund.left_usd, credits: fund.left_credits }),
              },
              { of: 'renews_at', none: 'never', isFigure: true },
            ]),
          ]}
        />
      )}
    </>
  );
}
