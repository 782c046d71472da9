import { Type } from '@sinclair/typebox';
import { WINDOWS } from '../budget.ts';
import { HOLDER_KINDS } from '../caller.ts';
import { ERRORS } from '../errors.ts';
import { HEALTH } from '../readings.ts';
import { PolicyDiagnostic } from './diagnostic.ts';
import { arrayOf, credits, named, orNull, partialShape, shape, text, textOrNull, tokens, word } from './parts.ts';

const rows: readonly (readonly [string, { readonly type: string; readonly code?: string }])[] = Object.entries(ERRORS);

/** Every code that the wire can show. */
export const ERROR_CODES = [...new Set(rows.map(([name, { code }]) => code ?? name))];
const types = [...new Set(rows.map(([, { type }]) => type))];

const WITH_SHORTAGE = 'With `insufficient_quota`, `request_exceeds_budget` and `budget_contended`.';

/** The fund that is in the way, as it stood. */
const shortage = {
  budget: text(`The budget that cannot cover the request. ${WITH_SHORTAGE}`),
  subject: text(
    `Whose share of the budget is used up: a group of the policy, or the ID of a team, a user or a key. ${WITH_SHORTAGE}`,
  ),
  level: word(HOLDER_KINDS, `The level whose budget it is; absent for a budget of the policy. ${WITH_SHORTAGE}`),
  balance: text(`ID of the key whose balance cannot cover the request. ${WITH_SHORTAGE}`),
  window: word(WINDOWS, `The window of the budget. ${WITH_SHORTAGE}`),
  limit_credits: credits(
    `The limit of the budget, or all Credits granted; like all figures of the fund, absent for a key above the caller’s. ${WITH_SHORTAGE}`,
    50_000,
  ),
  spent_credits: credits(`Spent of it. ${WITH_SHORTAGE}`, 49_998.5),
  reserved_credits: credits(`Held by requests that are running. ${WITH_SHORTAGE}`, 0.5),
  needed_credits: credits(
    `The most that this request can cost, or the cost of a useful answer where its output can be capped. ${WITH_SHORTAGE}`,
    3.1,
  ),
  renews_at: textOrNull(
    `When the budget’s next window begins, ISO 8601; null for never. ${WITH_SHORTAGE}`,
    '2026-11-30T23:00:00.000Z',
  ),
};

const WITH_QUOTE = 'With `payment_required`, `payment_invalid`, and `insufficient_quota` where payments are taken.';

/** The payment that would be accepted. */
const quote = shape(`How much is to be paid. ${WITH_QUOTE}`, {
  price_credits: credits('The amount to pay, including the settlement fee; 0 if only a signature is needed.', 4.25),
  expires_at: Type.Optional(text('ISO 8601.', '2026-11-30T23:00:00.000Z')),
  amounts: arrayOf(
    Type.Object({
      network: text('CAIP-2.', 'eip155:84532'),
      asset: text('Address of the token.'),
      amount_atomic: text('In its atomic units.', '4250'),
    }),
    'The same on each network.',
  ),
});

const payment = {
  quote,
  bound_credits: credits(`The most that the request will cost. ${WITH_QUOTE}`, 3.25),
  balance_credits: credits(
    `What of it the balance of the wallet pays; below 0, what the wallet owes beside it. ${WITH_QUOTE}`,
    0,
  ),
  reason: text('Why a payment was refused. With `payment_invalid`.', 'quote_expired'),
  payment_id: text(
    'The payment that it is about. With `payment_unsettled`, and whatever went wrong after a payment.',
    'pay_0a4x1wm3zk0',
  ),
};

const UNAVAILABLE_STATES = Object.keys(HEALTH).filter((state) => state !== 'healthy');

const details = partialShape('Figures for programs, depending on the code.', {
  least_credits: credits('The least `budget_limit` that would do. With `budget_limit_too_low`.', 0.31),
  estimated_input_tokens: tokens('The approximate size of the prompt. With `context_length_exceeded`.', 140_000),
  context_window: tokens(
    'The largest eligible context window, output included. With `context_length_exceeded`.',
    128_000,
  ),
  ...shortage,
  ...payment,
  rejected: arrayOf(
    Type.Object({
      model: text('ID of the model.'),
      reasons: arrayOf(Type.String(), 'Each reason against it.'),
    }),
    'Every model with what excluded it. With `no_eligible_model`.',
  ),
  unavailable: arrayOf(
    Type.Object({
      model: text('ID of the model.'),
      state: word(
        UNAVAILABLE_STATES,
        'The endpoint that returns first: its provider asked for a pause (`cooling`), refuses the key (`misconfigured`), has no credit left (`out_of_credit`) or failed too often (`ejected`).',
      ),
    }),
    'The models that could serve if they were healthy. With `no_healthy_model`, and with `upstream_rate_limited` and `upstream_out_of_credit` where no provider was called.',
  ),
  limit: text(
    'The rate limit that is used up: its name in the policy or of a setting, the level whose limit it is, `api-key` or `parent-key`. With `rate_limit_exceeded`.',
    'per-team',
  ),
  kind: word(['requests', 'tokens', 'streams'], 'What that limit counts. With `rate_limit_exceeded`.'),
  policy_revision: text('The revision in force. With `precondition_failed` and `policy_invalid`.'),
  diagnostics: arrayOf(PolicyDiagnostic, 'Every mistake in the policy. With `policy_invalid`.'),
  request_id: text(
    'The first request with this name, as the trail calls it. With `idempotency_answer_unavailable`, where nothing was charged.',
    'req_0a4x1wm3zk0',
  ),
  relaxation: text(
    'The smallest change of one limit that would admit a model. With `no_eligible_model`.',
    'max_latency_ms 800 → 950 admits `gpt-6-astra`',
  ),
});

export const ErrorObject = shape('The error.', {
  message: text('One or two sentences for people.'),
  type: word(types, 'The class of the error.'),
  param: orNull(Type.String({ examples: ['messages[0].content'] }), 'Path of the field at fault, where there is one.'),
  code: word(ERROR_CODES, 'The error for programs. Codes are never renamed or reused.'),
  details: Type.Optional(details),
});

export const ErrorBody = named('ErrorBody', 'The body of every error.', {
  error: ErrorObject,
  x402Version: Type.Optional(
    Type.Literal(2, { description: `Of x402, as in the header PAYMENT-REQUIRED. ${WITH_QUOTE}` }),
  ),
  resource: Type.Optional(shape(`What is paid for. ${WITH_QUOTE}`, {})),
  accepts: Type.Optional(arrayOf(Type.Object({}), `The ways to pay, as x402 has them. ${WITH_QUOTE}`)),
});
