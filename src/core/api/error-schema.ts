import { Type } from '@sinclair/typebox';
import { HEALTH } from '../decision/readings.ts';
import {
  allOptional,
  count,
  credits,
  list,
  named,
  orNull,
  shape,
  text,
  textList,
  textOrNull,
  usd,
  word,
} from '../define/fields.ts';
import { ERRORS } from '../errors.ts';
import { KEY_WINDOWS } from '../money/budget.ts';
import { HOLDER_KINDS } from '../people/caller.ts';
import { PolicyDiagnostic } from './diagnostic.ts';

const rows: readonly (readonly [string, { readonly type: string; readonly code?: string }])[] = Object.entries(ERRORS);

/** Every error code that callers can receive. */
export const ERROR_CODES = [...new Set(rows.map(([name, { code }]) => code ?? name))];
const types = [...new Set(rows.map(([, { type }]) => type))];

const WITH_SHORTAGE = 'With `insufficient_quota`, `request_exceeds_budget` and `budget_contended`.';

/** The fund that cannot pay, with its figures when the request was refused. */
const shortage = {
  budget: text(`The budget that cannot cover the request. ${WITH_SHORTAGE}`),
  subject: text(
    `The group, team, user or key whose share of the budget is used up: a group name from the policy, or an ID. ${WITH_SHORTAGE}`,
  ),
  level: word(
    HOLDER_KINDS,
    `The level that the budget belongs to; absent for a budget of the policy. ${WITH_SHORTAGE}`,
  ),
  balance: text(`ID of the key whose balance cannot pay for the request. ${WITH_SHORTAGE}`),
  window: word(KEY_WINDOWS, `The window of the budget. ${WITH_SHORTAGE}`),
  limit_credits: credits(
    `The limit of the budget, or the sum of all Credits granted. All amounts of a fund are absent if it belongs to a parent of the caller’s key. ${WITH_SHORTAGE}`,
    50_000,
  ),
  spent_credits: credits(`Credits spent in the current window. ${WITH_SHORTAGE}`, 49_998.5),
  reserved_credits: credits(`Credits held by requests in progress. ${WITH_SHORTAGE}`, 0.5),
  needed_credits: credits(
    `The most that this request can cost; or, if its output can be capped, the cost of the shortest useful answer. ${WITH_SHORTAGE}`,
    3.1,
  ),
  limit_usd: usd(`The same as \`limit_credits\`. ${WITH_SHORTAGE}`, '50'),
  spent_usd: usd(`The same as \`spent_credits\`. ${WITH_SHORTAGE}`, '49.9985'),
  reserved_usd: usd(`The same as \`reserved_credits\`. ${WITH_SHORTAGE}`, '0.0005'),
  needed_usd: usd(`The same as \`needed_credits\`. ${WITH_SHORTAGE}`, '0.0031'),
  renews_at: textOrNull(
    `When the budget’s next window begins, ISO 8601; null if the window never ends. ${WITH_SHORTAGE}`,
    '2026-11-30T23:00:00.000Z',
  ),
};

const WITH_QUOTE =
  'With `payment_required`, `payment_invalid`, and with `insufficient_quota` if the gateway accepts payments.';

/** The payment that the gateway would accept. */
const quote = shape(`How much to pay. ${WITH_QUOTE}`, {
  price_credits: credits('The amount to pay, including the settlement fee; 0 if only a signature is needed.', 4.25),
  expires_at: Type.Optional(text('ISO 8601.', '2026-11-30T23:00:00.000Z')),
  amounts: list(
    Type.Object({
      network: text('CAIP-2.', 'eip155:84532'),
      asset: text('Contract address of the token.'),
      amount_atomic: text('The amount in atomic units of the token.', '4250'),
    }),
    'The same amount for each accepted network.',
  ),
});

const payment = {
  quote,
  bound_credits: credits(`The most that the request can cost. ${WITH_QUOTE}`, 3.25),
  balance_credits: credits(
    `The part of the price that the wallet’s balance pays. A negative figure is a debt of the wallet that the payment also covers. ${WITH_QUOTE}`,
    0,
  ),
  guards_not_run: textList(
    `The guards that the quote did not run, because they call a service. They inspect the request once it is paid, and can refuse it. Absent if there are none. ${WITH_QUOTE}`,
    ['prompt-attacks'],
  ),
  reason: text('Why the payment was refused. With `payment_invalid`.', 'quote_expired'),
  payment_id: text(
    'ID of the payment. With `payment_unsettled`, and with any error after a payment.',
    'pay_0a4x1wm3zk0',
  ),
};

const UNAVAILABLE_STATES = Object.keys(HEALTH).filter((state) => state !== 'healthy');

const details = shape(
  'Figures for programs. Which of them are present depends on the code.',
  allOptional({
    least_credits: credits('The lowest `budget_limit` that is enough. With `budget_limit_too_low`.', 0.31),
    estimated_input_tokens: count('The approximate size of the prompt. With `context_length_exceeded`.', 140_000),
    context_window: count(
      'The largest context window of an eligible model, output included. With `context_length_exceeded`.',
      128_000,
    ),
    ...shortage,
    ...payment,
    rejected: list(
      Type.Object({
        model: text('ID of the model.'),
        reasons: list(Type.String(), 'Each reason that excludes the model.'),
      }),
      'Every model, with the reasons that exclude it. With `no_eligible_model`, and with `insufficient_quota` and `request_exceeds_budget` if the request names a model with fallbacks.',
    ),
    unavailable: list(
      Type.Object({
        model: text('ID of the model.'),
        state: word(
          UNAVAILABLE_STATES,
          'State of the endpoint that will be available first: its provider requested a pause (`cooling`), refuses the API key (`misconfigured`), has no credit left (`out_of_credit`), does not have the model (`absent`), or failed too often (`ejected`).',
        ),
      }),
      'The models that could serve the request if they were healthy. With `no_healthy_model`, and with `upstream_rate_limited`, `upstream_out_of_credit` and `upstream_failed` if no provider was called.',
    ),
    limit: text(
      'The rate limit that is used up: the name of a limit in the policy, the name of a setting, the level that the limit belongs to, `api-key` or `parent-key`. With `rate_limit_exceeded`.',
      'per-team',
    ),
    kind: word(['requests', 'tokens', 'streams'], 'What the limit counts. With `rate_limit_exceeded`.'),
    policy_revision: text('The active revision of the policy. With `precondition_failed` and `policy_invalid`.'),
    diagnostics: list(PolicyDiagnostic, 'Every mistake in the policy. With `policy_invalid`.'),
    request_id: text(
      'ID of the first request with this `Idempotency-Key` in the audit trail. With `idempotency_answer_unavailable`, if nothing was charged.',
      'req_0a4x1wm3zk0',
    ),
    relaxation: text(
      'The smallest change of one limit in the request that makes a model eligible. With `no_eligible_model`.',
      'change max_latency_ms from 800 to 950 to use `gpt-6-astra`',
    ),
  }),
);

export const ErrorObject = shape('The error.', {
  message: text('One or two sentences for people.'),
  type: word(types, 'The class of the error.'),
  param: orNull(
    Type.String({ examples: ['messages[0].content'] }),
    'Path of the field that is wrong, if there is one.',
  ),
  code: word(ERROR_CODES, 'The error code, for programs. Codes are never renamed or reused.'),
  details: Type.Optional(details),
});

export const ErrorBody = named('ErrorBody', 'The body of every error.', {
  error: ErrorObject,
  x402Version: Type.Optional(
    Type.Literal(2, { description: `The x402 version, as in the header PAYMENT-REQUIRED. ${WITH_QUOTE}` }),
  ),
  resource: Type.Optional(shape(`What the payment is for. ${WITH_QUOTE}`, {})),
  accepts: Type.Optional(list(Type.Object({}), `The accepted ways to pay, in the format of x402. ${WITH_QUOTE}`)),
});
