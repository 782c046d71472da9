import { Type } from '@sinclair/typebox';
import { KEY_STATES, keyStateOf } from '../access/key-entry.ts';
import { keyTag } from '../access/key-patch.ts';
import type { IssuedKey } from '../access/keys.ts';
import { EXPIRY_MAX_MS, type KeyGrant, NO_LIMITS, statedLimits } from '../access/terms.ts';
import type { ValueOf } from '../core/define/field.ts';
import * as f from '../core/define/fields.ts';
import { bothAmounts } from '../core/money/budget-words.ts';
import { ADDRESS_PATTERN } from '../core/money/holder-address.ts';
import { SCOPES, type Scope, unendedBudgets } from '../core/people/caller.ts';
import type { KeyInfo } from '../store/keys.ts';
import type { Call } from './kit/operation.ts';
import * as terms from './terms.ts';

export const WALLET = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf';
const wallet = Type.String({ examples: [WALLET], allOf: [{ pattern: ADDRESS_PATTERN }] });
export const scope = f.word(SCOPES, 'A scope.');

const expiresAt = f.orNull(f.moment('When the key expires; null for never.', '2030-02-18T09:30:00.000Z'));

/** The members of a key in answers. */
const key = {
  id: f.text('The ID of the key. The ID is not secret.', 'k7mw2pq9x4ta'),
  name: f.text('The name of the key, for people.', 'billing-app'),
  state: f.word(KEY_STATES, 'Whether it works.', 'valid'),
  scopes: f.list(scope, 'The operations that the key may use.', ['chat', 'route']),
  labels: f.mapOf(Type.String(), 'Labels for rules and budgets. A label `team` does not put the key into a team.', {
    project: 'billing',
  }),
  models: f.inCommand(f.orNull(f.list(Type.String(), 'IDs of the models that the key may use; null for all.')), {
    none: 'all',
  }),
  not_models: f.inCommand(
    f.orNull(
      f.list(Type.String(), 'IDs of the models that the key may not use, whatever `models` allows; null for none.'),
    ),
    { none: 'none' },
  ),
  limits: f.inCommand(f.shape('Rate limits of the key.', terms.limits), { none: 'as in the policy' }),
  budgets: f.list(terms.KeyBudget, 'Budgets of the key, in addition to the budgets of the policy.'),
  wallets: f.as(
    'holders',
    f.inCommand(
      f.orNull(
        f.list(
          Type.String({ examples: [WALLET] }),
          'Addresses that requests with the key may name as `agent_wallet`, in lower case; null for all.',
        ),
      ),
      { none: 'all' },
    ),
  ),
  wallet: f.as(
    'holder',
    f.orNull(
      f.text(
        'The wallet that owns the key. The key spends the balance of this wallet, and requests cannot name another wallet as `agent_wallet`. Null for a key that an operator created.',
      ),
    ),
  ),
  parent: f.orNull(f.text('The ID of the key that created this key; null if no key created it.')),
  team: f.orNull(f.text('The ID of the key’s team; null for no team.')),
  user: f.orNull(f.text('The ID of the key’s user; null for no user.')),
  created_at: f.moment('When the key was created.'),
  expires_at: f.inCommand(expiresAt, { none: 'never' }),
  suspended_at: f.orNull(f.moment('When the key was suspended; null if it is not suspended.')),
  revoked_at: f.orNull(f.moment('When the key was revoked; null if it is not revoked.')),
  last_used_at: f.inCommand(
    f.orNull(f.moment('When the key was last used; null for never.', '2026-11-20T12:01:07.000Z')),
    {
      none: 'never',
    },
  ),
  rotated_at: f.orNull(f.moment('When the key was last rotated; null for never.')),
  overlap_ends_at: f.orNull(f.moment('When the previous secret stops working; null if it does not work.')),
};
export const ApiKey = f.named('ApiKey', 'A key, without its secret.', key);
export const NewApiKey = f.named('NewApiKey', 'A key with its new secret, which is shown only once.', {
  key: f.text(
    'The secret. Send it as `Authorization: Bearer …`. The server stores only its hash.',
    'sb_live_k7mw2pq9x4ta_…',
  ),
  ...key,
});
export const ListedApiKey = f.named('ListedApiKey', 'A key in a list, without its secret.', {
  ...key,
  team_name: f.orNull(f.text('The name of the key’s team; null for no team, and if you may not see it.', 'search')),
  user_name: f.orNull(f.text('The name of the key’s user; null for no user, and if you may not see it.', 'Ada')),
});
export const ApiKeyList = f.page('ApiKeyList', 'Keys, including revoked keys.', ListedApiKey, 'Oldest first.');
export const ApiKeyStatus = f.named('ApiKeyStatus', 'A key with its money.', {
  ...key,
  budgets: f.list(terms.KeyBudgetStatus, 'The current state of the key’s own budgets.'),
  balance: f.inCommand(
    f.orNull(
      f.shape(
        'The balance of the key’s wallet, or else of the key itself. Null for a key without grants: only budgets limit its spend.',
        {
          granted_credits: f.as(
            'granted',
            f.credits('All Credits that were granted. For a wallet, this includes the payments that it made.', 25),
          ),
          granted_usd: f.as('granted', f.usd('The same as `granted_credits`.', '0.025')),
          ...terms.spent('The part that was spent.', 3.2, '0.0032'),
          ...terms.left('The amount that is left. Running requests may hold a part of it.', 21.8, '0.0218'),
        },
      ),
    ),
    {
      none: 'none: the key is not prepaid',
      text: ({ granted_credits, spent_credits, left_credits, left_usd }: PrintedBalance) =>
        `${bothAmounts(left_credits, left_usd)} left: ${granted_credits} Credits granted, ${spent_credits} spent`,
    },
  ),
});

/** The members of a JSON balance that commands print. */
interface PrintedBalance extends Readonly<Record<'granted_credits' | 'spent_credits' | 'left_credits', number>> {
  readonly left_usd: string | null;
}

/**
 * Returns a key with its state at a moment.
 *
 * @param now ms since 1970
 */
export const shownKey = (info: KeyInfo, now: number) => ({
  ...info,
  budgets: unendedBudgets(info.budgets, now),
  state: keyStateOf(info.inForce ?? info, now),
  limits: info.limits ?? NO_LIMITS,
  // After the overlap, only one secret works. `now` may be a few ms earlier than a rotation that the same call has made.
  overlapEndsAt:
    info.overlapEndsAt !== null && info.overlapEndsAt > Math.max(now, info.rotatedAt ?? 0) ? info.overlapEndsAt : null,
  tag: keyTag(info),
});

export const issuedKey = ({ key: secret, info }: IssuedKey, { now }: Pick<Call, 'now'>) => ({
  key: secret,
  ...shownKey(info, now),
});

/** Members that the bodies of new keys and of changed keys have in common. */
const expires_in_seconds = terms.inSeconds(
  f.orNull(Type.Integer({ minimum: 60, maximum: EXPIRY_MAX_MS / 1_000 }), 'Seconds from now; null for never.'),
  'expires-in',
  'How long the key works, from now.',
);
const scopes = f.list(
  scope,
  'The operations that the key may use. An admin key can give any scope, including `admin`.',
  { minItems: 1, maxItems: SCOPES.length },
);
/**
 * Terms that the creator of a child key also states. `inForceBelow` in `access/line.ts` limits the terms of a child key to the terms of its
 * parent keys.
 */
const narrowedTerms = {
  models: terms.modelIds('IDs of the models that the key may use; null for all.'),
  not_models: terms.deniedIds('IDs of the models that the key may not use, whatever `models` allows; null for none.'),
  wallets: f.as(
    'holders',
    f.orNull(
      f.list(wallet, 'Addresses that requests with the key may name as `agent_wallet`, at most 100; null for all.', {
        minItems: 1,
      }),
    ),
  ),
};
/** Terms that only operators can set. Child keys have none of these terms. */
const operatorTerms = {
  team: f.orNull(
    f.text(
      'ID or name of the key’s team. A key that a lead creates belongs to the lead’s team. A key with a user belongs to the team of the user.',
    ),
  ),
  user: f.orNull(f.text('ID or email address of the key’s user. A key that a member creates belongs to that member.')),
};
export const USUAL_SCOPES: readonly Scope[] = ['chat', 'route'];

/** Members that all bodies of new keys have in common. */
export const keyInput = {
  name: terms.keptText('A name for people. Lists show it.', 'billing-app'),
  limits: terms.LimitsInput,
  budgets: f.list(terms.KeyBudgetInput, 'Budgets of the key, in addition to the budgets of the policy.'),
  ...narrowedTerms,
};
export const NewKeyInput = f.closed(
  'A key to make.',
  f.allOptional({
    ...keyInput,
    scopes: { ...scopes, default: USUAL_SCOPES } as typeof scopes,
    labels: f.mapOf(terms.keptText('A value.'), 'Labels for rules and budgets, which use them as `key.labels`.'),
    expires_in_seconds,
    ...operatorTerms,
  }),
);
type KeyInput = Omit<ValueOf<typeof NewKeyInput>, 'scopes' | 'team' | 'user'>;

/** The terms of a new key, with defaults, but without its scopes and owners. */
export function grantIn(input: KeyInput, now: number): Omit<KeyGrant, 'scopes'> {
  const { name = '', expiresInSeconds = null, limits = {}, budgets = [], ...others } = input;
  return {
    ...others,
    name,
    expiresAt: inMs(expiresInSeconds, now),
    limits: statedLimits({ ...NO_LIMITS, ...limits }),
    budgets: terms.keyBudgetsIn(budgets, now),
  };
}

/** @param seconds from now; null for never */
export const inMs = (seconds: number | null, now: number) => (seconds === null ? null : now + seconds * 1_000);

export const KeyChange = f.closed(
  'Terms to change. Absent members stay unchanged, and null removes a term. A list replaces the whole previous list.',
  f.allOptional({
    name: f.orNull(terms.keptText('A name for people; null for none.', 'billing-app')),
    scopes,
    labels: f.inCommand(
      f.orNull(
        f.mapOf(f.orNull(terms.keptText('The value; null removes the label.')), 'Labels to set or to remove.'),
        'Labels to set. The value null removes a label. Other labels stay unchanged. Null instead of the map removes all labels.',
      ),
      { help: 'Labels to set. Other labels stay unchanged. To remove a label, use --no-label with its name.' },
    ),
    expires_at: f.inCommand(expiresAt, { isWithoutFlag: true }),
    expires_in_seconds,
    limits: f.orNull(
      terms.LimitsInput,
      'Limits to set. Other limits stay unchanged. With null, the key has only the limits of the policy.',
    ),
    budgets: f.inCommand(
      f.orNull(
        f.list(
          terms.KeyBudgetInput,
          'All budgets of the key. A budget with the same window and time zone as before keeps its spend. If each budget of the list has `until`, the budgets without it stay. Null removes all budgets.',
        ),
      ),
      {
        help: 'All budgets of the key. A budget with the same window and time zone as before keeps its spend. A budget for today, this-week or this-month ends with it; if all are such budgets, the others stay. --no-budget removes all budgets.',
      },
    ),
    ...narrowedTerms,
    ...operatorTerms,
  }),
);

/** Filters for a list of keys. A key must match each member that `KeyQuery` does not have elsewhere. */
export const KeyFilter = f.closed('Which keys.', {
  state: f.optional(f.word(KEY_STATES, `One of ${KEY_STATES.join(', ')}.`)),
  name: f.optional(f.text('Only keys with this name.')),
  search: f.optional(f.text('A part of the name or the ID. Upper and lower case are the same.')),
  team: f.optional(f.text('Only keys of the team with this ID or name.')),
  user: f.optional(f.text('Only keys of the user with this ID or email address.')),
  parent: f.optional(f.text('Only keys that the key with this ID has created.')),
  has_models: f.optional(
    f.inCommand(f.flag('`true`: only keys with their own list of models; `false`: only keys without such a list.'), {
      help: 'Only keys with their own list of models; with --no-has-models, only keys without such a list.',
    }),
  ),
  label: f.optional(
    f.as(
      'labels',
      f.mapOf(Type.String(), 'A label of the key, as `name=value`. If you repeat it, a key must match all labels.'),
    ),
  ),
  after: f.afterLast('key'),
  limit: f.pageSize({ most: 1_000, unlessGiven: 'all' }),
});
