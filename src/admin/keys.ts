import { Type } from '@sinclair/typebox';
import type { KeyFunds } from '../access/key-body.ts';
import { KEY_STATES, keyStateOf } from '../access/key-entry.ts';
import { keyTag } from '../access/key-patch.ts';
import type { IssuedKey, Keys } from '../access/keys.ts';
import type { People } from '../access/people.ts';
import { PeopleError } from '../access/people-terms.ts';
import { EXPIRY_MAX_MS, type KeyGrant, OVERLAP_MAX_MS, OVERLAP_MS, statedLimits } from '../access/terms.ts';
import { isOperator, SCOPES, type Scope } from '../core/caller.ts';
import { ADDRESS_PATTERN } from '../core/holder-address.ts';
import { changeKey, notThere, suspendKey } from '../operate/key-change.ts';
import { isSearch, pageOfKeys } from '../operate/key-pages.ts';
import {
  createKey,
  findKey,
  type GrantStore,
  grantToKey,
  type KeyAdmin,
  revokeKey,
  rotateKey,
} from '../operate/keys.ts';
import { isReached, membershipOf, membershipPatch, type Reaching, userIdIn } from '../operate/people.ts';
import { holderOf, type Places } from '../operate/places.ts';
import type { KeyInfo } from '../store/keys.ts';
import type { User } from '../store/people.ts';
import * as f from './kit/fields.ts';
import { type Call, notFound, operationsOn } from './kit/operation.ts';
import * as terms from './terms.ts';

/** The services that operations on keys use. */
export interface KeyServices {
  readonly keys: KeyAdmin & Pick<Keys, 'suspend' | 'resume'>;
  readonly people: People;
  readonly store: Pick<GrantStore, 'ledger'>;
  /** The money of a key as a running server has it, or as the database has it. */
  fundsOf(info: KeyInfo, now: number): Promise<KeyFunds>;
  /** Bounds the searches that run at once. */
  readonly searches: Places;
  /** @throws Error of one sentence where no grant can be stored yet */
  checkLedger(): Promise<void>;
  /** Applies at once what was granted. */
  refresh(): Promise<void>;
}
const operation = operationsOn<KeyServices>();

const WALLET = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf';
const wallet = Type.String({ examples: [WALLET], allOf: [{ pattern: ADDRESS_PATTERN }] });
export const scope = f.word(SCOPES, 'A scope.');

/** The members of a key. */
const key = {
  id: f.text('The ID of the key. It is not secret.', 'k7mw2pq9x4ta'),
  name: f.text('For people.', 'billing-app'),
  state: f.word(KEY_STATES, 'Whether it works.', 'valid'),
  scopes: f.list(scope, 'The operations that the key may use.', { examples: [['chat', 'route']] }),
  labels: f.mapOf(Type.String(), 'For rules and budgets. A label `team` does not put the key into a team.', {
    project: 'billing',
  }),
  models: f.inCommand(f.orNull(f.list(Type.String(), 'IDs of the models that it may use; null for all.')), {
    none: 'all',
  }),
  limits: f.inCommand(f.shape('Rate limits of the key.', terms.limits), { none: 'as in the policy' }),
  budgets: f.list(terms.Budget, 'Budgets of the key, in addition to those of the policy.'),
  wallets: f.as(
    'holders',
    f.inCommand(
      f.orNull(
        f.list(
          Type.String({ examples: [WALLET] }),
          'Addresses that requests with it may name as `agent_wallet`, in lower case; null for all.',
        ),
      ),
      { none: 'all' },
    ),
  ),
  wallet: f.as(
    'holder',
    f.orNull(
      f.text(
        'The wallet that owns the key. The key spends the balance of this wallet, and cannot name another one as `agent_wallet`. Null for a key made by an operator.',
      ),
    ),
  ),
  parent: f.orNull(f.text('The ID of the key that made it; null for a key of its own.')),
  team: f.orNull(f.text('The ID of its team; null for none.')),
  user: f.orNull(f.text('The ID of its user; null for none.')),
  created_at: f.moment('When it was made.'),
  expires_at: f.inCommand(f.orNull(f.moment('When it expires; null for never.', '2027-02-18T09:30:00.000Z')), {
    none: 'never',
  }),
  suspended_at: f.orNull(f.moment('When it was suspended; null if it is not.')),
  revoked_at: f.orNull(f.moment('When it was revoked; null if it was not.')),
  last_used_at: f.inCommand(f.orNull(f.moment('When it was last used; null for never.', '2026-11-20T12:01:07.000Z')), {
    none: 'never',
  }),
  rotated_at: f.orNull(f.moment('When it was last rotated; null for never.')),
  overlap_ends_at: f.orNull(f.moment('Until when the previous secret works; null if it does not.')),
};
export const ApiKey = f.named('ApiKey', 'A key, without its secret.', key);
export const NewApiKey = f.named('NewApiKey', 'A key with its new secret, shown this once.', {
  key: f.text('Send it as `Authorization: Bearer …`. The server stores only its hash.', 'sb_live_k7mw2pq9x4ta_…'),
  ...key,
});
export const ApiKeyList = f.page('ApiKeyList', 'Keys, the revoked ones too.', ApiKey, 'Oldest first.');
export const ApiKeyStatus = f.named('ApiKeyStatus', 'A key with its money.', {
  ...key,
  budgets: f.list(terms.BudgetStatus, 'The current state of its own budgets.'),
  balance: f.inCommand(
    f.orNull(
      f.shape(
        'The balance of its wallet, if it has one, or else of the key. Null for a key without grants, which only budgets limit.',
        {
          granted_credits: f.as(
            'granted',
            f.credits('All Credits granted. For a wallet, with the payments it made.', 25),
          ),
          granted_usd: f.as('granted', f.usd('The same as `granted_credits`.', '0.025')),
          ...terms.spent('The part that was spent.', 3.2, '0.0032'),
          ...terms.left('What is left; running requests may hold some.', 21.8, '0.0218'),
        },
      ),
    ),
    {
      none: 'none: the key is not prepaid',
      text: ({
        granted_credits,
        spent_credits,
        left_credits,
      }: Readonly<Record<'granted_credits' | 'spent_credits' | 'left_credits', number>>) =>
        `${granted_credits} Credits granted, ${spent_credits} spent, ${left_credits} left`,
    },
  ),
});

/** A key as it is shown at a time, ms since 1970. */
export const shownKey = (info: KeyInfo, now: number) => ({
  ...info,
  state: keyStateOf(info.inForce ?? info, now),
  limits: info.limits ?? terms.NO_LIMITS,
  // After the overlap only one secret works. The call may be a few ms older than the rotation that it made.
  overlapEndsAt:
    info.overlapEndsAt !== null && info.overlapEndsAt > Math.max(now, info.rotatedAt ?? 0) ? info.overlapEndsAt : null,
  tag: keyTag(info),
});

export const issuedKey = ({ key: secret, info }: IssuedKey, { now }: Pick<Call, 'now'>) => ({
  key: secret,
  ...shownKey(info, now),
});

async function found({ by, id }: Call, keys: KeyAdmin): Promise<KeyInfo> {
  // The ID is not repeated: somebody may have put a whole key in its place.
  return (await findKey(by, keys, id)) ?? notFound('No key has this ID.');
}

async function status(call: Call, { keys, fundsOf }: KeyServices) {
  const info = await found(call, keys);
  const { uses, balance } = await fundsOf(info, call.now);
  return {
    ...shownKey(info, call.now),
    budgets: uses.map(terms.budgetStatus),
    balance: balance && { ...balance, left: balance.granted - balance.spent },
  };
}

/** What bodies of new and changed keys state in the same words. */
const expires_in_seconds = terms.inSeconds(
  f.orNull(Type.Integer({ minimum: 60, maximum: EXPIRY_MAX_MS / 1_000 }), 'Seconds from now; null for never.'),
  'expires-in',
  'How long it works from now.',
);
const scopes = f.list(
  scope,
  'The operations that the key may use. An admin key can give any scope, including `admin`.',
  { minItems: 1, maxItems: SCOPES.length },
);
const allowed = {
  models: terms.modelIds('IDs of the models that it may use; null for all.'),
  wallets: f.as(
    'holders',
    f.orNull(
      f.list(wallet, 'Addresses that requests with it may name as `agent_wallet`, at most 100; null for all.', {
        minItems: 1,
      }),
    ),
  ),
};
const owners = {
  team: f.orNull(
    f.text(
      'ID or name of the team that it belongs to. A lead’s key belongs to its team, a key of a user to the team of the user.',
    ),
  ),
  user: f.orNull(f.text('ID or address of the user that it belongs to. A member’s key belongs to the member.')),
};
const USUAL_SCOPES: readonly Scope[] = ['chat', 'route'];

/** The members that bodies of new keys have in common. */
export const keyInput = {
  name: terms.keptText('A name for people, shown in lists.', 'billing-app'),
  limits: terms.LimitsInput,
  budgets: f.list(terms.BudgetInput, 'Budgets of the key. They apply in addition to those of the policy.'),
  ...allowed,
};
const NewKeyInput = f.body(
  'A key to make.',
  f.allOptional({
    ...keyInput,
    scopes: { ...scopes, default: USUAL_SCOPES } as typeof scopes,
    labels: f.mapOf(terms.keptText('A value.'), 'Labels for rules and budgets, which read them as `key.labels`.'),
    expires_in_seconds,
    ...owners,
  }),
);
type KeyInput = Omit<f.ValueOf<typeof NewKeyInput>, 'scopes' | 'team' | 'user'>;

/** The terms of a new key, with the defaults, apart from its scopes and its owners. */
export function grantIn(input: KeyInput, now: number): Omit<KeyGrant, 'scopes'> {
  const {
    name = '',
    labels = {},
    models = null,
    holders = null,
    expiresInSeconds = null,
    limits = {},
    budgets = [],
  } = input;
  return {
    ...{ name, labels, models, holders },
    expiresAt: inMs(expiresInSeconds, now),
    limits: statedLimits({ ...terms.NO_LIMITS, ...limits }),
    budgets: budgets.map(terms.wholeBudget),
  };
}
const ONCE = 'Only this answer has the key: the server stores only its hash.';
/** The answer on the wire, as far as commands print it. */
interface PrintedKey {
  readonly key: string;
  readonly id: string;
  readonly rotated_at: string | null;
  readonly overlap_ends_at: string | null;
}
function printOnce({ key: secret, id, rotated_at, overlap_ends_at }: PrintedKey): string {
  const ended = overlap_ends_at === null ? 'no longer works' : `works until ${f.minuteText(overlap_ends_at)}`;
  const former = rotated_at === null ? '' : ` The old secret ${ended}.`;
  return `${secret}\n\nCopy the key now: Signalbox stores only its hash and cannot show it again. ID ${id}.${former}\n`;
}
const inMs = (seconds: number | null, now: number) => (seconds === null ? null : now + seconds * 1_000);
type ReachingCall = Pick<Call, 'by'> & Pick<Reaching, 'reach'>;
const isSeenBy =
  ({ by: { caller }, reach }: ReachingCall) =>
  (user: User) =>
    isReached({ caller, reach }, user);
const memberIn = (
  people: People,
  { team, user }: { team?: string | null | undefined; user?: string | null | undefined },
  call: ReachingCall,
) => ({
  ...(team !== undefined && { team }),
  ...(user !== undefined && { user: user && userIdIn(people, user, isSeenBy(call)) }),
});

/** The ID of the user that a filter names; a text that names none finds no keys. @throws SignalboxError for an address that several have */
function userWanted(people: People, text: string, call: ReachingCall): string {
  try {
    return userIdIn(people, text, isSeenBy(call));
  } catch (cause) {
    if (cause instanceof PeopleError) f.refuse('user', cause.message);
    throw cause;
  }
}

export const listKeys = operation({
  name: 'keys list',
  http: 'GET /admin/keys',
  action: 'keys.read',
  summary: 'List the keys',
  details:
    'Lists the keys without their secrets, including revoked keys and keys that agents made for their wallets. Leads see those of their team, members their own.',
  input: f.body('Which keys.', {
    state: f.optional(f.word(KEY_STATES, `One of ${KEY_STATES.join(', ')}.`)),
    name: f.optional(f.text('Only keys of this name.')),
    search: f.optional(f.text('A part of the name or the ID, in any case.')),
    team: f.optional(f.text('Only keys of the team with this ID or name.')),
    user: f.optional(f.text('Only keys of the user with this ID or address.')),
    parent: f.optional(f.text('Only keys that the key with this ID has made.')),
    has_models: f.optional(
      f.inCommand(f.flag('`true`: only keys with a list of models of their own; `false`: only keys without one.'), {
        help: 'Only keys with a list of models of their own; with --no-has-models only keys without one.',
      }),
    ),
    label: f.optional(
      f.as(
        'labels',
        f.mapOf(Type.String(), 'A label of the key, as `name=value`. It may be repeated; a key must have all.'),
      ),
    ),
    after: f.afterLast('key'),
    limit: f.pageSize({ most: 1_000, unlessGiven: 'all' }),
  }),
  output: ApiKeyList,
  answer: 'The keys, oldest first.',
  errorField: 'state',
  prints: {
    columns: [
      ...['id', 'name', 'scopes', 'labels', 'created_at', 'last_used_at', 'state', 'expires_at'],
      ...['team', 'user', 'parent', 'wallet'],
    ],
  },
  async run({ keys, people, searches }, { by, now, reach }, input) {
    const { state = null, name = null, search = null, parent = null, hasModels = null, labels = {} } = input;
    const { team, user, after = null, limit = null } = input;
    const query = {
      ...{ state, name, search, parent, hasModels, labels, after, limit },
      team: team === undefined ? null : (people.teamNamed(team)?.id ?? team),
      user: user === undefined ? null : userWanted(people, user, { by, reach }),
    };
    const leave = isSearch(query) && !isOperator(by.caller) ? searches.enter(holderOf(by.caller)) : () => {};
    const bodyOf = f.sizedAs(ApiKey);
    const page = await pageOfKeys(by, keys, query, now, (info) => bodyOf(shownKey(info, now))).finally(leave);
    return { object: 'list' as const, data: page.rows.map((info) => shownKey(info, now)), hasMore: page.hasMore };
  },
});

export const showKey = operation({
  name: 'keys show',
  http: 'GET /admin/keys/:id',
  action: 'keys.read',
  summary: 'Show a key',
  details: 'Returns a key with its terms, and with what its own budgets and its balance have left.',
  output: ApiKeyStatus,
  answer: 'The key.',
  isTagged: true,
  run: (services, call) => status(call, services),
});

export const makeKey = operation({
  name: 'keys create',
  http: 'POST /admin/keys',
  action: 'keys.change',
  summary: 'Make a key',
  details: `${ONCE} An admin key can make any key, including one with the scope \`admin\`. The key works once its budgets apply. A lead or a member has at most 200 unrevoked keys, and makes at most 200 within 24 hours.`,
  input: NewKeyInput,
  output: NewApiKey,
  answer: 'The key with its secret.',
  errorField: 'expires_in_seconds',
  examples: {
    plain: { summary: 'For an application', value: { name: 'billing-app', labels: { team: 'billing' } } },
    limited: {
      summary: 'With limits, a budget and an end',
      value: {
        name: 'trial',
        scopes: ['chat'],
        models: ['gpt-6-luna'],
        expires_in_seconds: 2_592_000,
        limits: { requests_per_minute: 60, concurrent_streams: 4 },
        budgets: [{ limit_credits: 500, window: 'month', time_zone: 'Europe/Berlin', on_exhausted: 'downgrade' }],
      },
    },
    wallets: { summary: 'For agents of these wallets alone', value: { name: 'agents', wallets: [WALLET] } },
  },
  isTagged: true,
  prints: printOnce,
  async run({ keys, people }, call, { scopes: stated = USUAL_SCOPES, team, user, ...input }) {
    const owner = membershipOf(people, memberIn(people, { team, user }, call));
    const grant = { ...grantIn(input, call.now), scopes: [...new Set(stated)], ...owner };
    return issuedKey(await createKey(call.by, keys, grant), call);
  },
});

export const alterKey = operation({
  name: 'keys change',
  http: 'PATCH /admin/keys/:id',
  action: 'keys.change',
  summary: 'Change a key',
  details:
    'Changes terms of a key that is not revoked. They apply within a second. Its secret, its spend and its balance stay. A budget with the same window and time zone as before keeps what was spent; a limit below that refuses further requests and ends none that runs. The trail has the members that differ, before and after. The last admin key that works cannot lose its scope.',
  input: f.body(
    'Terms to change. Absent members stay, null removes. Lists are replaced.',
    f.allOptional({
      name: f.orNull(terms.keptText('A name for people; null for none.', 'billing-app')),
      scopes,
      labels: f.inCommand(
        f.orNull(
          f.mapOf(f.orNull(terms.keptText('The value; null removes the label.')), 'Labels to set or to remove.'),
          'Labels to set or, by null, to remove. Others stay. Null removes all.',
        ),
        { help: 'Labels to set. Others stay. --no-label removes the label of a name.' },
      ),
      expires_at: f.orNull(f.moment('When it expires; null for never.', '2027-02-18T09:30:00.000Z')),
      expires_in_seconds,
      limits: f.orNull(terms.LimitsInput, 'Limits to set. Others stay. Null leaves all to the policy.'),
      budgets: f.orNull(
        f.list(
          terms.BudgetInput,
          'All budgets of the key. One with the same window and time zone as before keeps what was spent. Null removes all.',
        ),
      ),
      ...allowed,
      ...owners,
    }),
  ),
  output: ApiKey,
  answer: 'The key with its new terms.',
  errors: ['conflict'],
  errorField: 'expires_at',
  examples: {
    limited: {
      summary: 'Another budget, one label less, the limits of the policy',
      value: { budgets: [{ limit_credits: 800, window: 'month' }], labels: { trial: null }, limits: null },
    },
    ending: { summary: 'Another name and an end', value: { name: 'billing', expires_at: '2027-02-18T09:30:00Z' } },
  },
  isTagged: true,
  takesTags: true,
  async run(
    { keys, people },
    { by, id, now, tags, reach },
    { expiresInSeconds, expiresAt, budgets, team, user, ...patch },
  ) {
    if (expiresAt !== undefined && expiresInSeconds !== undefined)
      f.refuse('expires_in_seconds', 'State `expires_at` or `expires_in_seconds`, not both.');
    const whole = {
      ...patch,
      ...(expiresAt !== undefined && { expiresAt }),
      ...(expiresInSeconds !== undefined && { expiresAt: inMs(expiresInSeconds, now) }),
      ...(budgets !== undefined && { budgets: budgets?.map(terms.wholeBudget) ?? null }),
      ...membershipPatch(people, memberIn(people, { team, user }, { by, reach })),
    };
    return shownKey((await changeKey(by, keys, id, () => whole, tags)) ?? absent(), now);
  },
});

const suspension =
  (isSuspended: boolean) =>
  async ({ keys }: KeyServices, { by, id, now, tags }: Call) =>
    shownKey((await suspendKey(by, keys, id, isSuspended, tags)) ?? absent(), now);

export const stopKey = operation({
  name: 'keys suspend',
  http: 'POST /admin/keys/:id/suspend',
  action: 'keys.suspend',
  summary: 'Suspend a key',
  details:
    'Stops a key until it is resumed, within a second. Its requests get 403 `key_suspended`; answers in progress still finish. Suspending it again changes nothing.',
  output: ApiKey,
  answer: 'The key.',
  differs: { state: 'suspended', suspended_at: '2026-11-20T15:00:00.000Z' },
  errors: ['conflict'],
  isTagged: true,
  takesTags: true,
  run: suspension(true),
});

export const resumeKey = operation({
  name: 'keys resume',
  http: 'POST /admin/keys/:id/resume',
  action: 'keys.suspend',
  summary: 'Resume a key',
  details: 'Lets a suspended key work again, within a second, on the terms that it has.',
  output: ApiKey,
  answer: 'The key.',
  isTagged: true,
  takesTags: true,
  run: suspension(false),
});

export const renewKey = operation({
  name: 'keys rotate',
  http: 'POST /admin/keys/:id/rotate',
  action: 'keys.change',
  summary: 'Rotate a key',
  details: `Gives a key a new secret. Its spend, budgets and balance continue. The old secret works for another \`overlap_seconds\`, by default a day. An even older secret stops working at once. ${ONCE}`,
  input: f.body('How to rotate.', {
    overlap_seconds: f.optional(
      terms.inSeconds(
        Type.Integer({
          minimum: 0,
          maximum: OVERLAP_MAX_MS / 1_000,
          default: OVERLAP_MS / 1_000,
          description: 'The time that the old secret still works, in seconds.',
        }),
        'overlap',
        'How long the old secret still works; a day unless stated. With 0 it ends at once.',
      ),
    ),
  }),
  output: NewApiKey,
  answer: 'The key with its new secret.',
  differs: { rotated_at: '2026-11-20T14:00:00.000Z', overlap_ends_at: '2026-11-21T14:00:00.000Z' },
  errorField: 'overlap_seconds',
  examples: {
    overlap: { summary: 'The old secret works for an hour more', value: { overlap_seconds: 3_600 } },
    leaked: { summary: 'The old secret ends at once', value: { overlap_seconds: 0 } },
  },
  isTagged: true,
  prints: printOnce,
  run: async ({ keys }, call, { overlapSeconds = OVERLAP_MS / 1_000 }) =>
    issuedKey((await rotateKey(call.by, keys, call.id, overlapSeconds * 1_000)) ?? notValid(), call),
});

export const endKey = operation({
  name: 'keys revoke',
  http: 'POST /admin/keys/:id/revoke',
  action: 'keys.change',
  summary: 'Revoke a key',
  details:
    'Revokes a key and all its secrets at once and forever. Revoking it again changes nothing. The last admin key that works cannot be revoked.',
  output: ApiKey,
  answer: 'The key.',
  differs: { state: 'revoked', revoked_at: '2026-11-20T15:00:00.000Z' },
  errors: ['conflict'],
  isTagged: true,
  async run({ keys }, call) {
    // Idempotent: a client that got no answer may ask again.
    await revokeKey(call.by, keys, call.id);
    return shownKey(await found(call, keys), call.now);
  },
});

/** The answer on the wire, as far as the command prints it. */
interface PrintedGrant {
  readonly id: string;
  readonly wallet: string | null;
  readonly balance: { readonly granted_credits: number; readonly left_credits: number } | null;
}

export const grantCredits = operation({
  name: 'keys grant',
  http: 'POST /admin/keys/:id/grant',
  action: 'keys.grant',
  summary: 'Grant Credits to a key',
  details:
    'Adds to the balance of a key, or takes back from it. The first grant makes a key prepaid: once its balance is used up, requests get 402 `insufficient_quota`. A grant to a key of a wallet goes to the balance of the wallet.',
  input: f.body('What to grant.', {
    credits: terms.addedCredits,
    note: f.optional(terms.keptText('A note, stored with the entry.', 'invoice 1042')),
  }),
  output: ApiKeyStatus,
  answer: 'The key.',
  errorField: 'credits',
  prints: ({ id, wallet: holder, balance }: PrintedGrant) =>
    `The balance of ${holder === null ? `key ${id}` : `wallet ${holder}`} is ${balance?.left_credits} Credits, of ${balance?.granted_credits} that were granted.\n`,
  examples: {
    grant: { summary: 'Add', value: { credits: 25, note: 'invoice 1042' } },
    back: { summary: 'Take back', value: { credits: -5 } },
  },
  async run(services, call, { credits, note = '' }) {
    const { keys, store, checkLedger, refresh } = services;
    const grant = terms.grantOf(credits, note);
    await checkLedger();
    if (!(await grantToKey(call.by, keys, store, call.id, grant, call.now))) notValid();
    // The grant is stored, so that a failure to refresh must not make it look undone.
    await refresh().catch(() => {});
    return status(call, services);
  },
});

const notValid = () => notFound('No valid key has this ID. It does not exist, was revoked or has expired.');
function absent(): never {
  throw notThere();
}

/** `/admin/keys` and `signalbox keys`. */
export const KEY_OPERATIONS = [
  makeKey,
  listKeys,
  showKey,
  alterKey,
  grantCredits,
  renewKey,
  stopKey,
  resumeKey,
  endKey,
];
