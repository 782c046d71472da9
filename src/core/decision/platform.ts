import { Type } from '@sinclair/typebox';
import * as field from '../define/fields.ts';
import { CallerAttempt } from './attempt.ts';
import {
  aliasUsed,
  cappedByText,
  decisionId,
  insteadOf,
  modelId,
  policyRevision,
  routeReason,
} from './shared-fields.ts';

/** Schema of `platform.payment`. */
export const PlatformPayment = field.named('PlatformPayment', 'How a wallet paid for the answer.', {
  id: field.textOrNull('ID for `GET /v1/payments/{id}`; null if the balance paid.', 'pay_0a4x1wm3zk0'),
  source: field.word(
    ['x402', 'wallet_credits'],
    'What paid: a payment for this request, or the balance of the wallet.',
  ),
  payer: field.text('Address of the wallet, in lower case.', '0x4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b'),
  state: field.textOrNull('State of the payment when the answer was made.', 'captured'),
  scheme: field.orNull(Type.Literal('exact'), 'The scheme of x402.'),
  network: field.orNull(field.text('CAIP-2.', 'eip155:84532'), 'The network on which the payment was settled.'),
  asset: field.textOrNull('Contract address of the token.'),
  paid_atomic: field.orNull(
    field.text('The amount paid, in atomic units of the asset.', '3250'),
    'The amount paid, in atomic units of the asset.',
  ),
  transaction: field.textOrNull('Hash of the transaction that settled the payment.'),
  paid_credits: field.credits('The value of the payment; 0 if the balance paid.', 3.25),
  fee_credits: field.credits('The fee for the settlement of the payment; 0 if nothing was charged.', 1),
  balance_added_credits: field.credits(
    'How much this request changed the wallet’s balance; negative if it spent from the balance.',
    2.16,
  ),
});

export const Platform = field.named('Platform', 'The routing and the cost of the answer.', {
  routed_model: modelId('The model that answered.'),
  alias: aliasUsed,
  route_reason: routeReason,
  instead_of: Type.Optional(insteadOf),
  credits_consumed: Type.Union([Type.Number(), Type.Null()], {
    description:
      'Credits charged for this request, failed attempts included, with at most 6 decimals. Null if the charge could not be stored because of a disk failure; `GET /v1/usage` counts it later.',
    examples: [0.09],
  }),
  cost_saved_credits: Type.Union([Type.Number(), Type.Null()], {
    description:
      'The cost of the same tokens on the baseline model, less `credits_consumed`. In Credits, at most 6 decimals. Negative if the choice cost more; 0 if the caller named the model; null if `credits_consumed` is null.',
    examples: [0.081],
  }),
  decision_id: decisionId,
  policy_revision: policyRevision,
  estimated: field.flag('True if Signalbox counted the tokens because the provider did not report them.'),
  dropped: field.list(Type.String(), 'Fields of the request that did not reach the model.', ['temperature']),
  adapted: Type.Optional(
    field.list(
      Type.String(),
      'Fields of the request that reached the model in another form. Example: `tool_choice`, if the model refuses a forced call and Signalbox sent the function’s parameters as the JSON schema of the answer instead. Absent for none.',
      ['tool_choice'],
    ),
  ),
  attempts: field.list(
    CallerAttempt,
    'The attempts, in order. Each attempt except the last failed before the caller received content. If a second attempt failed, the first answer is the last of the list.',
  ),
  output_capped_by: Type.Optional(
    field.text(
      `${cappedByText('the cap on the output, whether the answer reached it or not', 'Absent')} An answer that reached the cap ends with \`length\`.`,
      'team-month',
    ),
  ),
  usage_replaced: Type.Optional(
    field.flag(
      'True if the answer was passed through unchanged except for its usage: the provider’s usage was missing or impossible, so the answer has the gateway’s count. Absent otherwise.',
    ),
  ),
  guard_credits_consumed: Type.Optional(
    field.credits(
      'The Credits that guards of the policy charged for calls of models, in addition to `credits_consumed`. Absent if no guard called a model.',
      0.3,
    ),
  ),
  payment: Type.Optional(PlatformPayment),
});

/** The value of `platform` in examples of answers. A test compares the example with the schema. */
export const platform = {
  routed_model: 'gpt-6-luna',
  route_reason: 'auto:usual',
  credits_consumed: 0.0455,
  cost_saved_credits: 0.8745,
  decision_id: 'dec_0a4x1wm3zk0',
  policy_revision: '95f1a7d5f908027b',
  estimated: false,
  dropped: [],
  attempts: [
    {
      model: 'gpt-6-luna',
      provider: 'openai',
      ms: 912,
      failure: null,
      request_id: 'req_7f3a',
      finish_reasons: ['stop'],
    },
  ],
};
