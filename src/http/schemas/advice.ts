import { Type } from '@sinclair/typebox';
import {
  aliasUsed,
  cappedByText,
  decisionId,
  insteadOf,
  modelId,
  policyRevision,
  routeReason,
} from '../../core/decision/shared-fields.ts';
import * as field from '../../core/define/fields.ts';

const atomic = (description: string) => field.text(`${description} In atomic units of the asset.`, '3250');
const network = field.text('CAIP-2.', 'eip155:84532');

/** The member `payment_quote` of the response to a route query. */
const PaymentQuote = field.named('PaymentQuote', 'The most that a wallet without a balance would have to pay.', {
  schemes: field.textList('Of x402.', ['exact']),
  max_credits: field.credits('The maximum, including the settlement.', 4.25),
  max_atomic: field.rows('One entry for each network on which payments are accepted.', {
    network,
    asset: field.text('Address of the token.'),
    amount_atomic: atomic('The same there.'),
  }),
});

const cost = field.credits('Expected cost.', 0.42);
const latency = field.milliseconds('Expected median time to the end of the answer.', 2_300);

const terms = {
  max_output_tokens: field.count(
    'The maximum output tokens of one choice that a chat would request from this model.',
    4_096,
  ),
  output_capped_by: Type.Optional(field.text(cappedByText('`max_output_tokens`', 'Absent'), 'model')),
  adapted: Type.Optional(
    field.list(
      Type.String(),
      'Fields of the request that this model would receive in another form, as in `platform.adapted`. Absent if there are none.',
      ['tool_choice'],
    ),
  ),
};

export const RouteAdvice = field.named('RouteAdvice', 'The model that a chat request with the same facts would get.', {
  recommended_model: modelId('The recommendation.'),
  alias: aliasUsed,
  reasoning: field.text(
    'The reason for the recommendation, in words and figures.',
    'For the task coding, gpt-6-luna is the best of 2 eligible models by auto:usual.',
  ),
  estimated_cost_credits: cost,
  estimated_latency_ms: latency,
  max_cost_credits: field.credits(
    'The worst case of the recommended model. A second attempt, or a failed attempt that its provider bills, can cost more; `budget_limit` limits the charge in any case.',
    1.9,
  ),
  ...terms,
  alternatives: field.rows('The next best candidates, best first.', {
    model: modelId('The other candidate.', 'mistral-small-4'),
    estimated_cost_credits: cost,
    estimated_latency_ms: latency,
    ...terms,
    quality_trade_off: field.text(
      'Compares the quality and the cost with the recommendation in one sentence. The time is included if it differs by at least 10 % and 100 ms.',
      '3 percentage points lower expected quality at 12 % of the cost, in 1.2 s instead of 4.5 s.',
    ),
  }),
  route_reason: routeReason,
  instead_of: Type.Optional(insteadOf),
  decision_id: decisionId,
  policy_revision: policyRevision,
  first_hold_credits: Type.Optional(
    field.figureOrNull(
      'The Credits that a chat would first reserve from the caller’s budgets and balance. Null if the chat would have to wait for money that other requests hold. Absent if the caller has no budget and no balance.',
      1.9,
    ),
  ),
  payment_quote: Type.Optional(PaymentQuote),
  guards_not_run: Type.Optional(
    field.textList(
      'The guards that a recommendation does not run, because they call a service. They would inspect a chat with this request. Absent if there are none.',
      ['prompt-attacks'],
    ),
  ),
});
