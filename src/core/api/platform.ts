import { Type } from '@sinclair/typebox';
import * as field from './parts.ts';

/** `platform.payment`. */
export const PlatformPayment = field.named('PlatformPayment', 'How a wallet paid for the answer.', {
  id: field.textOrNull('For `GET /v1/payments/{id}`; null for balance.', 'pay_0a4x1wm3zk0'),
  source: field.word(['x402', 'wallet_credits'], 'A payment settled for this request, or the balance of the wallet.'),
  payer: field.text('Address of the wallet, in lower case.', '0x4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b'),
  state: field.textOrNull('Of the payment, as it stood when the answer was made.', 'captured'),
  scheme: field.orNull(Type.Literal('exact'), 'The scheme of x402.'),
  network: field.orNull(field.text('CAIP-2.', 'eip155:84532'), 'Where it was settled.'),
  asset: field.textOrNull('Address of the token.'),
  paid_atomic: field.orNull(
    field.text('What was paid. In atomic units of the asset.', '3250'),
    'What was paid, in atomic units of the asset.',
  ),
  transaction: field.textOrNull('Hash of the transaction that settled it.'),
  paid_credits: field.credits('The value of the payment; 0 if the balance paid.', 3.25),
  fee_credits: field.credits('What its settlement cost; 0 where nothing was charged.', 1),
  balance_added_credits: field.credits(
    'The change of the wallet’s balance by this request; negative if it spent from it.',
    2.16,
  ),
});

export const Platform = field.named('Platform', 'The routing and the cost of the answer.', {
  routed_model: field.modelId('The model that answered.'),
  route_reason: field.routeReason,
  credits_consumed: Type.Union([Type.Number(), Type.Null()], {
    description:
      'Charged for this request, failed attempts included. In Credits, at most 6 decimals. Null if the charge could not be stored because of a disk failure; `GET /v1/usage` counts it later.',
    examples: [0.09],
  }),
  cost_saved_credits: Type.Union([Type.Number(), Type.Null()], {
    description:
      'What the same tokens would have cost on the baseline model, less `credits_consumed`. In Credits, at most 6 decimals. Negative when the choice cost more; 0 for a pinned model; null where `credits_consumed` is.',
    examples: [0.081],
  }),
  decision_id: field.decisionId,
  policy_revision: field.policyRevision,
  estimated: field.flag('True when tokens were counted here, not reported by the provider.'),
  dropped: field.arrayOf(Type.String(), 'Fields of the request that did not reach the model.', ['temperature']),
  adapted: Type.Optional(
    field.arrayOf(
      Type.String(),
      'Fields of the request that reached the model in another form: `tool_choice` where the model refuses a forced call, so that the function’s parameters were sent as the JSON schema of the answer. Absent for none.',
      ['tool_choice'],
    ),
  ),
  attempts: field.arrayOf(
    Type.Object({
      model: field.modelId('The model asked.'),
      provider: field.text('The policy’s name of the provider asked.', 'openai'),
      ms: Type.Integer({ description: 'From sending to the end, in ms.', examples: [1_840] }),
      failure: field.orNull(field.failureKind, 'Null for none.'),
      request_id: field.upstreamRequestId,
      finish_reasons: field.rawFinishReasons,
    }),
    'The attempts, in order. All but the last failed before the caller received content.',
  ),
  output_capped_by: Type.Optional(
    field.text(
      `${field.cappedByText('the cap on the output, whether the answer reached it or not', 'Absent')} An answer that reached the cap ends with \`length\`.`,
      'team-month',
    ),
  ),
  usage_replaced: Type.Optional(
    field.flag(
      'True when the answer is the provider’s own, but for its usage: that is missing or cannot be true, so the gateway’s count stands there. Absent otherwise.',
    ),
  ),
  payment: Type.Optional(PlatformPayment),
});

/** As examples of answers show it. Tests hold it against the schema. */
export const platform = {
  routed_model: 'gpt-6-luna',
  route_reason: 'auto:balanced',
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
