import { BUDGET_CREDITS_MAX } from '../access/terms.ts';
import * as f from '../core/define/fields.ts';
import { MICROCREDITS } from '../core/money/credits.ts';
import { type OperationHost, operationsOn } from './kit/operation.ts';

export const Amount = f.named('Amount', 'An amount in both units.', {
  object: f.always('amount'),
  credits: f.as('amount', f.credits('The amount, rounded down.', 20_000)),
  usd: f.as('amount', f.orNull(f.usd('The same as `credits`; null if the ledger never had a policy.', '20'))),
});

export const convertAmount = operationsOn<OperationHost>()({
  name: 'amount',
  command: false,
  http: 'GET /admin/amount',
  action: 'me.read',
  summary: 'Convert an amount',
  details:
    'Converts an amount between USD and Credits, with the same rounding as for budgets and grants. The console shows the result under a field while you type.',
  input: f.closed(
    'The amount.',
    f.allOptional({
      amount: f.amount('The amount, which may be negative; by default 1 Credit.', 20, {
        minimum: -BUDGET_CREDITS_MAX,
        maximum: BUDGET_CREDITS_MAX,
      }),
    }),
  ),
  output: Amount,
  answer: 'The amount in both units.',
  errorField: 'amount',
  run: async (_, __, { amount = MICROCREDITS }) => ({ amount }),
});
