import { Type } from '@sinclair/typebox';
import { BILL_ITEMS } from '../../accounting/bill.ts';
import * as field from '../../api/parts.ts';

const usdOrNull = (description: string, example: string) =>
  field.textOrNull(`${description} In USD, an exact decimal; null where the worth of a Credit is unknown.`, example);

const amount = (description: string, credits: number, usd: string) =>
  field.shape(description, {
    credits: field.credits('The sum.', credits),
    usd: usdOrNull('The same.', usd),
  });

const Line = Type.Object({
  item: field.word(
    BILL_ITEMS,
    '`hour_cache`: what an hour in the cache adds to a write. `tool`: uses of a tool that the provider runs. `request`: the fee of a request.',
    'input',
  ),
  name: field.textOrNull('The tool; null for anything else.', null),
  units: field.count('Tokens, uses or requests.', 1_204),
  per: field.count('Units that the rate is for: a million tokens, one use, or one request.', 1_000_000),
  rate_usd: usdOrNull('The price of so many units.', '0.25'),
  credits: field.figure('The cost, not rounded: a charge is rounded up once. In Credits.', 0.0301),
  usd: usdOrNull('The same.', '0.000301'),
});

const Entry = Type.Object({
  kind: field.word(
    ['reserve', 'raise', 'post', 'settle', 'expire', 'overrun'],
    '`reserve`: the first hold. `raise`: a tranche more. `post`: the charge of a failed attempt. `settle`: the last charge, which releases the rest. `expire`: the end of a hold that was never settled. `overrun`: what a provider billed beyond the hold, charged to nobody.',
    'settle',
  ),
  time: field.moment('When it was made.'),
  credits: field.credits('The amount.', 0.0455),
  usd: usdOrNull('The same.', '0.000455'),
  model: field.textOrNull('The model that was charged for; null for none.', 'gpt-6-luna'),
  provider: field.textOrNull('Its provider; null for none.', 'openai'),
  upstream: field.textOrNull('The provider’s own name of the model; null for none.', 'gpt-6-luna'),
  price_revision: field.textOrNull(
    'Names the exact price of the bill, the same at every server and in every policy that has it; null without a bill.',
    '41c0a9f2b7d3e685',
  ),
  estimated: field.flagOrNull(
    'Whether tokens were counted here, not reported by the provider; null without a bill.',
    false,
  ),
  lines: field.orNull(Type.Array(Line), 'The bill of a charge, by the price in force at that time; null without one.'),
});

export const DecisionMoney = field.named('DecisionMoney', 'The money of one request, entry by entry.', {
  decision_id: field.decisionId,
  object: field.always('decision.money'),
  state: field.word(
    ['none', 'open', 'settled', 'expired'],
    'Of the hold. `none`: the ledger has no entry, as of a recommendation.',
    'settled',
  ),
  usd_per_credit: field.textOrNull('The worth of a Credit; null in a ledger that never had a policy.', '0.01'),
  entries: field.arrayOf(Entry, 'In the order in which they were made.'),
  sums: field.shape('The sums of the entries.', {
    held: amount('All that was set aside, tranches included.', 1.9, '0.019'),
    charged: amount('All that was charged, refunds aside.', 0.0455, '0.000455'),
    released: amount('The rest of the hold; 0 while it is open.', 1.8545, '0.018545'),
    overrun: amount('Billed by providers beyond the hold, and charged to nobody.', 0, '0'),
    refunded: amount('Given back by operators since.', 0, '0'),
  }),
});
