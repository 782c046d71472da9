import { type Static, Type } from '@sinclair/typebox';
import {
  BUDGET_CREDITS_MAX,
  EXPIRY_MAX_MS,
  LIMIT_MAX,
  ONE_LINE,
  OVERLAP_MAX_MS,
  OVERLAP_MS,
  TEXT_MAX,
} from '../../access/terms.ts';
import * as field from '../../api/parts.ts';
import { EXHAUSTED_ACTIONS, WINDOWS } from '../../core/budget.ts';
import { SCOPES } from '../../core/caller.ts';
import { ADDRESS_PATTERN } from '../../core/holder-address.ts';

const WALLET = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf';

/** A text that is kept and shown. For the document: `checkText` refuses other texts, with what would be right. */
export const KeptText = Type.String({ allOf: [{ maxLength: TEXT_MAX, pattern: ONE_LINE.source }] });

export const keptText = (description: string, example: string) => ({ ...KeptText, description, examples: [example] });

export const keptTextOrNull = (description: string, ...examples: string[]) =>
  field.orNull(KeptText, description, ...examples);

/** IDs of models, or null. */
export const modelIds = (description: string) => field.orNull(Type.Array(KeptText, { minItems: 1 }), description);

const limit = (description: string, example: number) =>
  Type.Union([Type.Integer({ minimum: 1, maximum: LIMIT_MAX, examples: [example] }), Type.Null()], { description });

export const LimitsRequest = field.partialBody(
  'Rate limits of the key. The policy sets the limits that are absent or null.',
  {
    requests_per_minute: limit('Requests a minute.', 60),
    tokens_per_minute: limit('Tokens a minute.', 100_000),
    concurrent_streams: limit('Streams at once.', 4),
  },
);

export const BudgetRequest = field.body('A spending limit of the key.', {
  limit_credits: Type.Number({
    minimum: 0,
    maximum: BUDGET_CREDITS_MAX,
    description: 'Credits that may be spent in each window, with at most 6 decimals.',
  }),
  window: field.word(WINDOWS, 'The length of a window. Weeks begin on Monday; `total` never ends.'),
  time_zone: Type.Optional(
    Type.String({ maxLength: 64, default: 'UTC', description: 'IANA name of the zone in which windows begin.' }),
  ),
  on_exhausted: Type.Optional(
    field.word(
      EXHAUSTED_ACTIONS,
      '`cap`, the default, caps the output at what is left. `downgrade` allows only models that still fit, while one does.',
    ),
  ),
});

const EXPIRES_IN = Type.Integer({ minimum: 60, maximum: EXPIRY_MAX_MS / 1_000 });
const models = modelIds('IDs of the models that it may use; null for all.');
const owners = {
  team: field.orNull(
    Type.String(),
    'ID or name of the team that it belongs to. A lead’s key belongs to its team, that of a user to the team of the user.',
  ),
  user: field.orNull(Type.String(), 'ID of the user that it belongs to. A member’s key belongs to the member.'),
};
const wallets = field.orNull(
  Type.Array(Type.String({ examples: [WALLET], allOf: [{ pattern: ADDRESS_PATTERN }] }), { minItems: 1 }),
  'Addresses that requests with it may name as `agent_wallet`, at most 100; null for all.',
);

/** The body of `POST /admin/keys`. */
export const KeyRequest = field.partialBody('A key to make.', {
  name: keptText('A name for people, shown in lists.', 'billing-app'),
  scopes: Type.Array(field.word(SCOPES, 'A scope.'), {
    minItems: 1,
    maxItems: SCOPES.length,
    default: ['chat', 'route'],
    description: 'The operations that the key may use. An admin key can give any scope, including `admin`.',
  }),
  labels: field.mapOf(KeptText, 'Labels for rules and budgets, which read them as `key.labels`.'),
  models,
  expires_in_seconds: field.orNull(EXPIRES_IN, 'Seconds from now; null for never.'),
  limits: LimitsRequest,
  budgets: field.arrayOf(BudgetRequest, 'Budgets of the key. They apply in addition to those of the policy.'),
  wallets,
  ...owners,
});
export type KeyRequest = Static<typeof KeyRequest>;

/** The body of `PATCH /admin/keys/{id}`. */
export const KeyPatchRequest = field.partialBody(
  'Terms to change. Absent members stay, null removes. Lists are replaced.',
  {
    name: keptTextOrNull('A name for people; null for none.', 'billing-app'),
    scopes: Type.Array(field.word(SCOPES, 'A scope.'), {
      minItems: 1,
      maxItems: SCOPES.length,
      description: 'The operations that the key may use.',
    }),
    labels: field.orNull(
      field.mapOf(keptTextOrNull('The value; null removes the label.'), 'Labels to set or to remove.'),
      'Labels to set or, by null, to remove. Others stay. Null removes all.',
    ),
    models,
    expires_at: field.momentOrNull('When it expires; null for never.', '2027-02-18T09:30:00.000Z'),
    expires_in_seconds: field.orNull(EXPIRES_IN, 'The same, in seconds from now. State one of the two.'),
    limits: field.orNull(LimitsRequest, 'Limits to set. Others stay. Null leaves all to the policy.'),
    budgets: field.orNull(
      Type.Array(BudgetRequest),
      'All budgets of the key. One with the window and time zone of before keeps what was spent. Null removes all.',
    ),
    wallets,
    ...owners,
  },
);
export type KeyPatchRequest = Static<typeof KeyPatchRequest>;

/** The body of `POST /admin/keys/{id}/rotate`. */
export const RotateRequest = field.partialBody('How to rotate.', {
  overlap_seconds: Type.Integer({
    minimum: 0,
    maximum: OVERLAP_MAX_MS / 1_000,
    default: OVERLAP_MS / 1_000,
    description: 'The time that the old secret still works, in seconds.',
  }),
});

export const addedCredits = Type.Number({
  minimum: -BUDGET_CREDITS_MAX,
  maximum: BUDGET_CREDITS_MAX,
  // For the document: the handler refuses 0.
  not: { const: 0 },
  description: 'Credits to add, with at most 6 decimals and not 0. A negative amount takes Credits back.',
});

/** The body of `POST /admin/keys/{id}/grant`. */
export const GrantRequest = field.body('What to grant.', {
  credits: addedCredits,
  note: Type.Optional(keptText('A note, stored with the entry.', 'invoice 1042')),
});

const figure = (description: string) => field.wholeOrNull(`${description} Null if the policy sets the limit.`);

const budget = {
  limit_credits: field.credits('The limit of each window.', 500),
  window: field.word(WINDOWS, 'How long a window runs.', 'month'),
  time_zone: field.text('The zone in which windows begin.', 'Europe/Berlin'),
  on_exhausted: field.word(EXHAUSTED_ACTIONS, 'The effect on a request that does not fit.'),
};

const key = {
  id: field.text('The ID of the key. It is not secret.', 'k7mw2pq9x4ta'),
  name: field.text('For people.', 'billing-app'),
  state: field.word(['valid', 'suspended', 'expired', 'revoked'], 'Whether it works.'),
  scopes: field.arrayOf(field.word(SCOPES, 'A scope.'), 'The operations that the key may use.', ['chat', 'route']),
  labels: field.mapOf(Type.String(), 'For rules and budgets. A label `team` does not put the key into a team.', {
    project: 'billing',
  }),
  models: field.textListOrNull('IDs of the models that it may use; null for all.'),
  limits: field.shape('Rate limits of the key.', {
    requests_per_minute: figure('Requests a minute.'),
    tokens_per_minute: figure('Tokens a minute.'),
    concurrent_streams: figure('Streams at once.'),
  }),
  budgets: field.arrayOf(Type.Object(budget), 'Budgets of the key, in addition to those of the policy.'),
  wallets: field.orNull(
    Type.Array(Type.String({ examples: [WALLET] })),
    'Addresses that requests with it may name as `agent_wallet`, in lower case; null for all.',
  ),
  wallet: field.textOrNull(
    'The wallet that owns the key. The key spends the balance of this wallet, and cannot name another one as `agent_wallet`. Null for a key made by an operator.',
  ),
  parent: field.textOrNull('The ID of the key that made it; null for a key of its own.'),
  team: field.textOrNull('The ID of its team; null for none.'),
  user: field.textOrNull('The ID of its user; null for none.'),
  created_at: field.moment('When it was made.'),
  expires_at: field.momentOrNull('When it expires; null for never.', '2027-02-18T09:30:00.000Z'),
  suspended_at: field.momentOrNull('When it was suspended; null if it is not.'),
  revoked_at: field.momentOrNull('When it was revoked; null if it was not.'),
  last_used_at: field.momentOrNull('When it was last used; null for never.', '2026-11-20T12:01:07.000Z'),
  rotated_at: field.momentOrNull('When it was last rotated; null for never.'),
  overlap_ends_at: field.momentOrNull('Until when the previous secret works; null if it does not.'),
};

export const ApiKey = field.named('ApiKey', 'A key, without its secret.', key);

export const ApiKeyList = field.named('ApiKeyList', 'Keys, the revoked ones too.', {
  ...field.listOf(ApiKey, 'Oldest first. For the next page send the last `id` as `after`.'),
  has_more: field.flag('Whether newer keys follow. To get them, repeat the request with `after`.', false),
});

export const NewApiKey = field.named('NewApiKey', 'A key with its new secret, shown this once.', {
  key: field.text('Send it as `Authorization: Bearer …`. The server stores only its hash.', 'sb_live_k7mw2pq9x4ta_…'),
  ...key,
});

/** A budget with what is spent of it. */
export const budgetUse = {
  ...budget,
  spent_credits: field.credits('Charged in the current window.', 120.5),
  spent_usd: field.usd('The same as `spent_credits`.', '0.1205'),
  left_credits: field.credits('What is left of it; running requests may hold some.', 379.5),
  left_usd: field.usd('The same as `left_credits`.', '0.3795'),
  forecast_credits: field.figureOrNull(
    'Credits that are expected to be charged by the end of the window: the rate so far, for all of it. Null before `forecast_from`, and for a total.',
    480.2,
  ),
  forecast_usd: field.textOrNull('The same as `forecast_credits`, in USD.', '0.4802'),
  forecast_from: field.momentOrNull(
    'From when on there is a forecast: a tenth of the window; null for never.',
    '2026-11-03T23:00:00.000Z',
  ),
  renews_at: field.momentOrNull('When the next window begins; null for never.', '2026-11-30T23:00:00.000Z'),
};

export const ApiKeyStatus = field.named('ApiKeyStatus', 'A key with its money.', {
  ...key,
  budgets: field.rows('The current state of its own budgets.', budgetUse),
  balance: field.shapeOrNull(
    'The balance of its wallet, if it has one, or else of the key. Null for a key without grants, which only budgets limit.',
    {
      granted_credits: field.credits('All Credits granted. For a wallet, with the payments it made.', 25),
      granted_usd: field.usd('The same as `granted_credits`.', '0.025'),
      spent_credits: field.credits('The part that was spent.', 3.2),
      spent_usd: field.usd('The same as `spent_credits`.', '0.0032'),
      left_credits: field.credits('What is left; running requests may hold some.', 21.8),
      left_usd: field.usd('The same as `left_credits`.', '0.0218'),
    },
  ),
});
