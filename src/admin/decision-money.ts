import { decisionId } from '../core/decision/shared-fields.ts';
import * as f from '../core/define/fields.ts';
import { UNIT_NAMES } from '../core/money/units.ts';
import { HOLD_ENTRIES } from '../store/journal-reader.ts';

const unknownWorth = 'null if the value of a Credit is unknown.';
const exactUsd = (description: string, example: string) =>
  f.textOrNull(`${description} In USD, an exact decimal; ${unknownWorth}`, example);

/** An amount in Credits and in USD. */
const amountFields = (of: string, credits: number, usd: string) => ({
  credits: f.as('amount', f.credits(of, credits)),
  usd: f.as(
    'amount',
    f.orNull(f.usd('The same amount.', usd), `The same amount. In USD, an exact decimal; ${unknownWorth}`),
  ),
});
const sum = (description: string, credits: number, usd: string) =>
  f.shape(description, amountFields('The sum.', credits, usd));

const Line = f.shape('A line of a bill.', {
  item: f.word(
    UNIT_NAMES,
    'The unit. `tool_use`: uses of a tool that the provider runs. `request`: a fee for each request.',
    'input',
  ),
  name: f.orNull(f.text('The name of the tool; null for other items.'), undefined, null),
  units: f.count('The number of tokens, uses or requests.', 1_204),
  per: f.count('The number of units that the rate is for: a million tokens, one use, or one request.', 1_000_000),
  rate_usd: exactUsd('The price of `per` units.', '0.25'),
  credits: f.figure('The cost before rounding, because Signalbox rounds up only the whole charge. In Credits.', 0.0301),
  usd: exactUsd('The same cost.', '0.000301'),
});

const Entry = f.shape('An entry.', {
  kind: f.word(
    HOLD_ENTRIES,
    '`reserve`: the first hold. `raise`: an additional hold while the answer runs. `post`: the charge of a failed attempt. `settle`: the last charge, which releases the rest of the hold. `expire`: the end of a hold that was never settled. `overrun`: an amount that a provider billed beyond the hold and that no key pays.',
    'settle',
  ),
  guard: f.orNull(
    f.text('The guard whose call of a model has the entry; null for the request itself.', 'injection'),
    undefined,
    null,
  ),
  time: f.moment('When the entry was made.'),
  ...amountFields('The amount.', 0.0455, '0.000455'),
  model: f.orNull(f.text('The model that was charged for; null if no model was charged for.', 'gpt-6-luna')),
  provider: f.orNull(f.text('The provider of the model; null if no model was charged for.', 'openai')),
  upstream: f.orNull(f.text('The provider’s own name for the model; null if no model was charged for.', 'gpt-6-luna')),
  price_revision: f.orNull(
    f.text(
      'A hash of the exact price of the bill. Servers and policies with the same price have the same hash; null without a bill.',
      '41c0a9f2b7d3e685',
    ),
  ),
  service_tier: f.orNull(
    f.text('The service tier whose price applies; null for the default tier and without a bill.', 'flex'),
    undefined,
    null,
  ),
  estimated: f.orNull(
    f.flag(
      'Whether Signalbox counted the tokens itself because the provider did not report them; null without a bill.',
      false,
    ),
  ),
  lines: f.orNull(
    f.list(Line, 'The lines.'),
    'The lines of the bill, with the prices at the time of the charge; null if the entry has no bill.',
  ),
});

/** `GET /admin/decisions/{id}/money`. */
export const DecisionMoney = f.named('DecisionMoney', 'The money of one request, entry by entry.', {
  decision_id: decisionId,
  object: f.always('decision.money'),
  state: f.word(
    ['none', 'open', 'settled', 'expired'],
    'The state of the hold. `none`: the ledger has no entry, for example because the request was only a recommendation.',
    'settled',
  ),
  usd_per_credit: f.orNull(f.text('The value of a Credit; null if the ledger never had a policy.', '0.01')),
  entries: f.list(Entry, 'The entries in the order in which they were made.'),
  sums: f.shape('The sums of the entries.', {
    held: sum('All amounts that were reserved, including additional holds.', 1.9, '0.019'),
    charged: sum('All charges, before refunds.', 0.0455, '0.000455'),
    released: sum('The part of the hold that was released; 0 while the hold is open.', 1.8545, '0.018545'),
    overrun: sum('Amounts that providers billed beyond the hold and that no key pays.', 0, '0'),
    refunded: sum('Amounts that operators have refunded since then.', 0, '0'),
  }),
});
