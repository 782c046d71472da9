import { BILL_ITEMS } from '../core/accounting/bill.ts';
import * as parts from '../core/api/parts.ts';
import { HOLD_ENTRIES } from '../store/journal-reader.ts';
import * as f from './kit/fields.ts';

const unknownWorth = 'null where the worth of a Credit is unknown.';
const exactUsd = (description: string, example: string) =>
  parts.textOrNull(`${description} In USD, an exact decimal; ${unknownWorth}`, example);

/** An amount in Credits and in USD. */
const amount = (of: string, credits: number, usd: string) => ({
  credits: f.as('amount', f.credits(of, credits)),
  usd: f.as('amount', f.orNull(f.usd('The same.', usd), `The same. In USD, an exact decimal; ${unknownWorth}`)),
});
const sum = (description: string, credits: number, usd: string) =>
  f.shape(description, amount('The sum.', credits, usd));

const Line = f.shape('A line of a bill.', {
  item: f.word(
    BILL_ITEMS,
    '`hour_cache`: what an hour in the cache adds to a write. `tool`: uses of a tool that the provider runs. `request`: the fee of a request.',
    'input',
  ),
  name: f.orNull(f.text('The tool; null for anything else.'), undefined, null),
  units: f.count('Tokens, uses or requests.', 1_204),
  per: f.count('Units that the rate is for: a million tokens, one use, or one request.', 1_000_000),
  rate_usd: exactUsd('The price of so many units.', '0.25'),
  credits: parts.figure('The cost, not rounded: a charge is rounded up once. In Credits.', 0.0301),
  usd: exactUsd('The same.', '0.000301'),
});

const Entry = f.shape('An entry.', {
  kind: f.word(
    HOLD_ENTRIES,
    '`reserve`: the first hold. `raise`: a tranche more. `post`: the charge of a failed attempt. `settle`: the last charge, which releases the rest. `expire`: the end of a hold that was never settled. `overrun`: what a provider billed beyond the hold, charged to nobody.',
    'settle',
  ),
  time: f.moment('When it was made.'),
  ...amount('The amount.', 0.0455, '0.000455'),
  model: f.orNull(f.text('The model that was charged for; null for none.', 'gpt-6-luna')),
  provider: f.orNull(f.text('Its provider; null for none.', 'openai')),
  upstream: f.orNull(f.text('The provider’s own name of the model; null for none.', 'gpt-6-luna')),
  price_revision: f.orNull(
    f.text(
      'Names the exact price of the bill, the same at every server and in every policy that has it; null without a bill.',
      '41c0a9f2b7d3e685',
    ),
  ),
  estimated: f.orNull(
    f.flag('Whether tokens were counted here, not reported by the provider; null without a bill.', false),
  ),
  lines: f.orNull(
    f.list(Line, 'The lines.'),
    'The bill of a charge, by the price in force at that time; null without one.',
  ),
});

/** `GET /admin/decisions/{id}/money`. */
export const DecisionMoney = f.named('DecisionMoney', 'The money of one request, entry by entry.', {
  decision_id: parts.decisionId,
  object: f.always('decision.money'),
  state: f.word(
    ['none', 'open', 'settled', 'expired'],
    'Of the hold. `none`: the ledger has no entry, as of a recommendation.',
    'settled',
  ),
  usd_per_credit: f.orNull(f.text('The worth of a Credit; null in a ledger that never had a policy.', '0.01')),
  entries: f.list(Entry, 'In the order in which they were made.'),
  sums: f.shape('The sums of the entries.', {
    held: sum('All that was set aside, tranches included.', 1.9, '0.019'),
    charged: sum('All that was charged, refunds aside.', 0.0455, '0.000455'),
    released: sum('The rest of the hold; 0 while it is open.', 1.8545, '0.018545'),
    overrun: sum('Billed by providers beyond the hold, and charged to nobody.', 0, '0'),
    refunded: sum('Given back by operators since.', 0, '0'),
  }),
});
