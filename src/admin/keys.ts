import { Type } from '@sinclair/typebox';
import type { KeyFunds } from '../access/key-body.ts';
import type { Keys } from '../access/keys.ts';
import type { People } from '../access/people.ts';
import { type KeyGrant, OVERLAP_MAX_MS, OVERLAP_MS } from '../access/terms.ts';
import { sizedAs, type ValueOf } from '../core/define/field.ts';
import * as f from '../core/define/fields.ts';
import { refuse } from '../core/errors.ts';
import { bothAmounts, budgetTermsText, type StatedBudget } from '../core/money/budget-words.ts';
import { isOperator } from '../core/people/caller.ts';
import type { KeyInfo } from '../store/keys.ts';
import type { User } from '../store/people.ts';
import {
  ApiKey,
  ApiKeyList,
  ApiKeyStatus,
  grantIn,
  inMs,
  issuedKey,
  KeyChange,
  KeyFilter,
  ListedApiKey,
  NewApiKey,
  NewKeyInput,
  shownKey,
  USUAL_SCOPES,
  WALLET,
} from './key-fields.ts';
import { type ImportServices, importForeignKeys } from './key-import.ts';
import { type Call, notFound, type Operation, type OperationHost, operationsOn } from './kit/operation.ts';
import * as terms from './terms.ts';
import { KEYS_LOG, type TrailReader } from './trail.ts';
import { unusableBudgets } from './use-cases/budget-warnings.ts';
import { changeKey, notThere, suspendKey } from './use-cases/key-change.ts';
import { isSearch, pageOfKeys } from './use-cases/key-pages.ts';
import {
  allowedGrant,
  createKey,
  findKey,
  findNamed,
  type GrantStore,
  grantToKey,
  type KeyAdmin,
  revokeKey,
  rotatableKey,
  rotateKey,
} from './use-cases/keys.ts';
import { isReached, membershipOf, membershipPatch, ownersIn, type Reaching, userIdIn } from './use-cases/people.ts';
import { holderOf, type Places } from './use-cases/places.ts';
import { checkGivable } from './use-cases/reach.ts';
import { namesFor } from './use-cases/usage.ts';

/** The services that operations on keys use. */
export interface KeyServices extends Pick<OperationHost, 'budgetAdvice'> {
  readonly keys: KeyAdmin & Pick<Keys, 'suspend' | 'resume'>;
  readonly people: People;
  readonly store: Pick<GrantStore, 'ledger'>;
  /** The money of a key, from the running server or from the database. */
  fundsOf(info: KeyInfo, now: number): Promise<KeyFunds>;
  /** Limits how many searches run at the same time. */
  readonly searches: Places;
  /** @throws Error whose message is one sentence, if no grant can be stored yet */
  checkLedger(): Promise<void>;
  /** Makes this server apply new grants at once. */
  refresh(): Promise<void>;
}
const operation = operationsOn<KeyServices>();

/** The most IDs of keys with the same name that an error lists. */
const NAMESAKES_MAX = 10;

/** Finds a key by its ID. A change needs the ID, because several keys can have the same name. */
async function found(call: Call, keys: KeyAdmin): Promise<KeyInfo> {
  const { by, id } = call;
  const key = await findKey(by, keys, id);
  if (key) return key;
  const named = await findNamed(by, keys, id);
  // The error does not repeat the ID, because the caller may have sent a whole key by mistake.
  return notFound(
    named.length === 0
      ? 'No key has this ID. The list of keys shows the ID of each name.'
      : `No key has this ID. The ID of the key with this name is ${idsText(named)}.`,
  );
}

const idsText = (keys: readonly KeyInfo[]): string => {
  const ids = keys.slice(0, NAMESAKES_MAX).map(({ id }) => id);
  return `${ids.join(', ')}${keys.length > NAMESAKES_MAX ? ' and others' : ''}`;
};

/** Finds a key by its ID, or by its name. Of several keys with the name, a key that is not revoked has priority. */
async function foundByName(call: Call, keys: KeyAdmin): Promise<KeyInfo> {
  const { by, id } = call;
  const byId = await findKey(by, keys, id);
  if (byId) return byId;
  const named = await findNamed(by, keys, id);
  const [key, ...others] = named;
  if (!key) return notFound('No key has this ID or name. The list of keys shows both.');
  if (others.length === 0) return key;
  return refuse('id', `Several keys have this name: ${idsText(named)}. Give the ID of one of them.`);
}

async function status(call: Call, { keys, fundsOf }: KeyServices) {
  const info = await foundByName(call, keys);
  const { uses, balance } = await fundsOf(info, call.now);
  return {
    ...shownKey(info, call.now),
    budgets: uses.map(terms.budgetStatus),
    balance: balance && { ...balance, left: balance.granted - balance.spent },
  };
}

/** Warns about budgets of a key that fit no request. */
const warnOfBudgets = ({ budgetAdvice }: KeyServices, _call: Call, _input: unknown, key: WarnedKey) =>
  key.state === 'valid' ? unusableBudgets([key], budgetAdvice?.() ?? null) : [];
type WarnedKey = Parameters<typeof unusableBudgets>[0][number] & { readonly state: string };

const ONCE = 'Only this answer contains the secret, because the server stores only its hash.';
/** The part of the JSON answer that commands print. */
interface PrintedKey {
  readonly key: string;
  readonly id: string;
  readonly rotated_at: string | null;
  readonly overlap_ends_at: string | null;
  readonly budgets: readonly StatedBudget[];
}
function printOnce({ key: secret, id, rotated_at, overlap_ends_at, budgets }: PrintedKey): string {
  const ended = overlap_ends_at === null ? 'no longer works' : `works until ${f.minuteText(overlap_ends_at)}`;
  const former = rotated_at === null ? '' : ` The old secret ${ended}.`;
  const spend = budgets.map((budget) => `Budget: ${budgetTermsText(budget)}.\n`).join('');
  return `${secret}\n\nCopy the key now: Signalbox stores only its hash and cannot show it again. ID ${id}.${former}\n${spend}`;
}
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

export const listKeys = operation({
  name: 'keys list',
  use: 'to find the ID of a key.',
  example: 'keys list --state valid --search billing',
  http: 'GET /admin/keys',
  action: 'keys.read',
  summary: 'List the keys',
  details:
    'Lists the keys without their secrets, including revoked keys and keys that agents created for their wallets. Leads see the keys of their team. Members see their own keys.',
  input: KeyFilter,
  output: ApiKeyList,
  answer: 'The keys, oldest first.',
  errorField: 'state',
  prints: {
    columns: [
      ...['id', 'name', 'scopes', 'labels', 'created_at', 'last_used_at', 'state', 'expires_at'],
      ...['team', 'team_name', 'user', 'user_name', 'parent', 'wallet'],
    ],
  },
  warn({ budgetAdvice }, _call, _input, { data }) {
    const valid = data.filter(({ state }) => state === 'valid');
    return unusableBudgets(valid, budgetAdvice?.() ?? null);
  },
  async run({ keys, people, searches }, { by, now }, input) {
    const { state = null, search = null, hasModels = null, labels = {}, after = null, limit = null, ...stated } = input;
    const { team, user, ...others } = stated;
    const members = { ...others, ...ownersIn(people, by, { team, user }) };
    const query = { state, search, hasModels, labels, after, limit, members };
    const leave = isSearch(query) && !isOperator(by.caller) ? searches.enter(holderOf(by.caller)) : () => {};
    const nameOf = namesFor(by.caller, people);
    const listed = (info: KeyInfo) => ({
      ...shownKey(info, now),
      teamName: info.team && nameOf('team', info.team),
      userName: info.user && nameOf('user', info.user),
    });
    const bodyOf = sizedAs(ListedApiKey);
    const page = await pageOfKeys(by, keys, query, now, (info) => bodyOf(listed(info))).finally(leave);
    return { data: page.rows.map(listed), hasMore: page.hasMore };
  },
});

const showKey = operation({
  name: 'keys show',
  use: 'to see how much a key has left.',
  example: 'keys show k7mw2pq9x4ta',
  http: 'GET /admin/keys/:id',
  action: 'keys.read',
  summary: 'Show a key',
  details:
    'Returns a key with its terms, and how much of its own budgets and its balance is left. The name of a key stands for its ID if no other key has the name.',
  idForm: 'NAME|ID',
  errorField: 'id',
  output: ApiKeyStatus,
  answer: 'The key.',
  isTagged: true,
  warn: warnOfBudgets,
  run: (services, call) => status(call, services),
});

/** The terms of a new key, as its creator states them. */
function grantOf(
  people: People,
  call: ReachingCall & Pick<Call, 'now'>,
  { scopes = USUAL_SCOPES, team, user, ...input }: ValueOf<typeof NewKeyInput>,
): KeyGrant {
  const owner = membershipOf(people, memberIn(people, { team, user }, call));
  return { ...grantIn(input, call.now), scopes: [...new Set(scopes)], ...owner };
}

export const makeKey = operation({
  name: 'keys create',
  use: 'to give an application or a person access.',
  example: 'keys create --name billing-app --budget 20USD/month --rpm 60 --expires-in 90d',
  http: 'POST /admin/keys',
  action: 'keys.change',
  summary: 'Create a key',
  details: `${ONCE} An admin key can create any key, including a key with the scope \`admin\`. The answer comes once the key works on this server. A lead or a member has at most 200 keys that are not revoked, and creates at most 200 within 24 hours.`,
  input: NewKeyInput,
  output: NewApiKey,
  answer: 'The key with its secret.',
  errorField: 'expires_in_seconds',
  examples: {
    plain: { summary: 'For an application', value: { name: 'billing-app', labels: { team: 'billing' } } },
    limited: {
      summary: 'With limits, a budget and an expiry',
      value: {
        name: 'trial',
        scopes: ['chat'],
        models: ['gpt-6-luna'],
        expires_in_seconds: 2_592_000,
        limits: { requests_per_minute: 60, concurrent_streams: 4 },
        budgets: [{ limit_credits: 500, window: 'month', time_zone: 'Europe/Berlin', on_exhausted: 'downgrade' }],
      },
    },
    wallets: { summary: 'Only for agents of these wallets', value: { name: 'agents', wallets: [WALLET] } },
  },
  isTagged: true,
  prints: printOnce,
  warn: warnOfBudgets,
  run: async ({ keys, people }, call, input) =>
    issuedKey(await createKey(call.by, keys, grantOf(people, call, input)), call),
  checkRepeat({ people }, call, input) {
    const { caller } = call.by;
    // Teams and users may have changed since, and an operator may create keys for all of them.
    if (call.reach === 'all') checkGivable(caller, input.scopes ?? USUAL_SCOPES);
    else allowedGrant(caller, call.reach, grantOf(people, call, input));
  },
});

const alterKey = operation({
  name: 'keys change',
  use: 'to change what a key may do, without a new secret.',
  example: 'keys change k7mw2pq9x4ta --budget 800/month --model gpt-6-luna',
  http: 'PATCH /admin/keys/:id',
  action: 'keys.change',
  summary: 'Change a key',
  details:
    'Changes terms of a key that is not revoked. The new terms apply within a second. The secret, the spend and the balance of the key stay unchanged. A budget with the same window and time zone as before keeps its spend. If you lower the limit below the spend, new requests are refused and running requests finish. The audit trail records the changed members with their old and new values. The last working admin key cannot lose its scope.',
  input: KeyChange,
  output: ApiKey,
  answer: 'The key with its new terms.',
  errors: ['conflict'],
  errorField: 'expires_at',
  examples: {
    limited: {
      summary: 'Change the budget, remove a label, use only the limits of the policy',
      value: { budgets: [{ limit_credits: 800, window: 'month' }], labels: { trial: null }, limits: null },
    },
    ending: {
      summary: 'Change the name and the expiry',
      value: { name: 'billing', expires_at: '2030-02-18T09:30:00Z' },
    },
  },
  isTagged: true,
  takesTags: true,
  warn: warnOfBudgets,
  async run(
    { keys, people },
    { by, id, now, tags, reach },
    { expiresInSeconds, expiresAt, budgets, team, user, ...patch },
  ) {
    if (expiresAt !== undefined && expiresInSeconds !== undefined)
      refuse('expires_in_seconds', 'Set either `expires_at` or `expires_in_seconds`, not both.');
    const whole = {
      ...patch,
      ...(expiresAt !== undefined && { expiresAt }),
      ...(expiresInSeconds !== undefined && { expiresAt: inMs(expiresInSeconds, now) }),
      ...membershipPatch(people, memberIn(people, { team, user }, { by, reach })),
    };
    const stated = budgets && terms.keyBudgetsIn(budgets, now);
    const budgetsPatch = ({ budgets: before }: KeyInfo) =>
      stated === undefined ? {} : { budgets: stated && terms.changedBudgets(before, stated) };
    return shownKey(
      (await changeKey(by, keys, id, (info) => ({ ...whole, ...budgetsPatch(info) }), tags)) ?? absent(),
      now,
    );
  },
});

const suspension =
  (isSuspended: boolean) =>
  async ({ keys }: KeyServices, { by, id, now, tags }: Call) =>
    shownKey((await suspendKey(by, keys, id, isSuspended, tags)) ?? absent(), now);

const stopKey = operation({
  name: 'keys suspend',
  use: 'to stop a key for a while, for example during an investigation.',
  example: 'keys suspend k7mw2pq9x4ta',
  http: 'POST /admin/keys/:id/suspend',
  action: 'keys.suspend',
  summary: 'Suspend a key',
  details:
    'Stops a key within a second, until you resume it. Requests with a suspended key get 403 `key_suspended`. Answers in progress still finish. Suspending the key again changes nothing.',
  output: ApiKey,
  answer: 'The key.',
  differs: { state: 'suspended', suspended_at: '2026-11-20T15:00:00.000Z' },
  errors: ['conflict'],
  isTagged: true,
  takesTags: true,
  run: suspension(true),
});

const resumeKey = operation({
  name: 'keys resume',
  use: 'to end the suspension of a key.',
  example: 'keys resume k7mw2pq9x4ta',
  http: 'POST /admin/keys/:id/resume',
  action: 'keys.suspend',
  summary: 'Resume a key',
  details: 'Lets a suspended key work again within a second. The terms of the key are unchanged.',
  output: ApiKey,
  answer: 'The key.',
  isTagged: true,
  takesTags: true,
  run: suspension(false),
});

const renewKey = operation({
  name: 'keys rotate',
  use: 'to replace a secret regularly, or at once when it has leaked.',
  example: 'keys rotate k7mw2pq9x4ta --overlap 12h',
  http: 'POST /admin/keys/:id/rotate',
  action: 'keys.change',
  summary: 'Rotate a key',
  details: `Gives a key a new secret. The spend, budgets and balance of the key continue. The old secret works for another \`overlap_seconds\`, by default a day. An even older secret stops working at once. ${ONCE}`,
  input: f.closed('How to rotate.', {
    overlap_seconds: f.optional(
      terms.inSeconds(
        Type.Integer({
          minimum: 0,
          maximum: OVERLAP_MAX_MS / 1_000,
          default: OVERLAP_MS / 1_000,
          description: 'How long the old secret still works, in seconds.',
        }),
        'overlap',
        'How long the old secret still works; by default a day. With 0, it stops working at once.',
      ),
    ),
  }),
  output: NewApiKey,
  answer: 'The key with its new secret.',
  differs: { rotated_at: '2026-11-20T14:00:00.000Z', overlap_ends_at: '2026-11-21T14:00:00.000Z' },
  errorField: 'overlap_seconds',
  examples: {
    overlap: { summary: 'The old secret works for one more hour', value: { overlap_seconds: 3_600 } },
    leaked: { summary: 'The old secret stops working at once', value: { overlap_seconds: 0 } },
  },
  isTagged: true,
  prints: printOnce,
  run: async ({ keys }, call, { overlapSeconds = OVERLAP_MS / 1_000 }) =>
    issuedKey((await rotateKey(call.by, keys, call.id, overlapSeconds * 1_000)) ?? notValid(), call),
  async checkRepeat({ keys }, call) {
    if (!(await rotatableKey(call.by, keys, call.id))) notValid();
  },
});

const endKey = operation({
  name: 'keys revoke',
  use: 'when a key is no longer needed or must never work again.',
  example: 'keys revoke k7mw2pq9x4ta',
  http: 'POST /admin/keys/:id/revoke',
  action: 'keys.change',
  summary: 'Revoke a key',
  details:
    'Revokes a key and all its secrets at once. Revoking a key cannot be undone. Revoking the key again changes nothing. The last working admin key cannot be revoked.',
  output: ApiKey,
  answer: 'The key.',
  differs: { state: 'revoked', revoked_at: '2026-11-20T15:00:00.000Z' },
  errors: ['conflict'],
  isTagged: true,
  async run({ keys }, call) {
    // Revoking twice succeeds, so that a client that received no answer can try again.
    await revokeKey(call.by, keys, call.id);
    return shownKey(await found(call, keys), call.now);
  },
});

/** The part of the JSON answer that the command prints. */
interface PrintedGrant {
  readonly id: string;
  readonly wallet: string | null;
  readonly balance: Readonly<Record<'granted_credits' | 'left_credits', number>> & { readonly left_usd: string | null };
}

const grantCredits = operation({
  name: 'keys grant',
  use: 'to sell prepaid Credits.',
  example: 'keys grant k7mw2pq9x4ta 25 --note "invoice 1042"',
  http: 'POST /admin/keys/:id/grant',
  action: 'keys.grant',
  summary: 'Grant Credits to a key',
  details:
    'Adds Credits to the balance of a key, or removes Credits with a negative amount. The first grant makes a key prepaid: when its balance is used up, requests get 402 `insufficient_quota`. A grant to a key of a wallet goes to the balance of the wallet.',
  input: f.closed('What to grant.', {
    credits: terms.addedCredits,
    note: f.optional(terms.keptText('A note that is stored with the entry.', 'invoice 1042')),
  }),
  output: ApiKeyStatus,
  answer: 'The key.',
  errorField: 'credits',
  prints: ({ id, wallet: holder, balance }: PrintedGrant) =>
    `The balance of ${holder === null ? `key ${id}` : `wallet ${holder}`} is ${bothAmounts(balance.left_credits, balance.left_usd)}, of ${balance.granted_credits} that were granted.\n`,
  examples: {
    grant: { summary: 'Add Credits', value: { credits: 25, note: 'invoice 1042' } },
    usd: { summary: 'Add USD', value: { credits: '20 USD', note: 'invoice 1043' } },
    back: { summary: 'Remove Credits', value: { credits: -5 } },
  },
  async run(services, call, { credits, note = '' }) {
    const { keys, store, checkLedger, refresh } = services;
    const grant = terms.grantOf(credits, note);
    await checkLedger();
    if (!(await grantToKey(call.by, keys, store, call.id, grant, call.now))) notValid();
    // If the grant is stored and only the refresh fails, the answer must still report success.
    await refresh().catch(() => {});
    return status(call, services);
  },
});

const notValid = () => notFound('No valid key has this ID. It does not exist, was revoked or has expired.');
function absent(): never {
  throw notThere();
}

/** The operations of `/admin/keys` and `signalbox keys`. */
export const KEY_COMMANDS: readonly Operation<KeyServices & ImportServices & TrailReader>[] = [
  makeKey,
  importForeignKeys,
  listKeys,
  showKey,
  alterKey,
  grantCredits,
  renewKey,
  stopKey,
  resumeKey,
  endKey,
  KEYS_LOG,
];
