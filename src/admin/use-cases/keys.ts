import { BODY_NAMES } from '../../access/key-body.ts';
import type { IssuedKey, Keys } from '../../access/keys.ts';
import type { KeyGrant } from '../../access/terms.ts';
import { SignalboxError } from '../../core/errors.ts';
import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import type { Caller } from '../../core/people/caller.ts';
import { listedFor } from '../../routing/model-name.ts';
import { type KeyInfo, NO_KEY_TERMS } from '../../store/keys.ts';
import type { LedgerTable } from '../../store/ledger-table.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { Store } from '../../store/store.ts';
import type { Principal } from './principal.ts';
import { checkGivable, checkNoOperatorKey, isWithin, OWNER_TERMS } from './reach.ts';
import { checkAction, type Reach } from './roles.ts';

/** The operations on keys that operators need. */
export type KeyAdmin = Pick<
  Keys,
  | 'create'
  | 'rotate'
  | 'change'
  | 'suspend'
  | 'resume'
  | 'revoke'
  | 'grant'
  | 'get'
  | 'read'
  | 'known'
  | 'idsWhere'
  | 'idsOf'
  | 'named'
>;

/** Credits to add to the balance of a key or a wallet. */
export interface CreditGrant {
  /** The amount is negative to remove Credits, and never 0. */
  readonly amount: Microcredits;
  readonly note: string;
}

/** The part of the store that a grant needs. */
export interface GrantStore extends Pick<Store, 'commit'>, Pick<Repositories, 'trail'> {
  readonly ledger: Pick<LedgerTable, 'grant'>;
}

/** The details of a grant for the audit trail. */
export const grantDetails = ({ amount, note }: CreditGrant) => ({ credits: toCredits(amount), note });

/** Returns a key, or null if there is no key that the principal may see. Rejects with StoreError. */
export const findKey = ({ caller }: Principal, keys: Pick<KeyAdmin, 'get'>, id: string): Promise<KeyInfo | null> =>
  keyWithin(caller, checkAction(caller, 'keys.read'), keys, id);

/** Returns the keys with a name that the principal may see: those that are not revoked, if there are any. Rejects with StoreError. */
export async function findNamed(
  { caller }: Principal,
  keys: Pick<KeyAdmin, 'get' | 'idsOf'>,
  name: string,
): Promise<readonly KeyInfo[]> {
  const reach = checkAction(caller, 'keys.read');
  const ids = await keys.idsOf({ name });
  const found = await Promise.all(ids.map((id) => keyWithin(caller, reach, keys, id)));
  const named = found.filter((info) => info !== null);
  const live = named.filter(({ revokedAt }) => revokedAt === null);
  return live.length > 0 ? live : named;
}

async function keyWithin(caller: Caller, reach: Reach, keys: Pick<KeyAdmin, 'get'>, id: string) {
  const info = await keys.get(id);
  return info && isWithin(reach, caller, info) ? info : null;
}

/**
 * Creates a key. A key created by a lead belongs to the lead's team, and a key created by a member belongs to the member. The new key has
 * at most the scopes, models and labels of its creator. Labels are included because policy rules use them, so choosing your own labels
 * could bypass the policy.
 * @throws SignalboxError `insufficient_permissions` for terms that the principal does not have. Rejects with KeyTermsError.
 */
export async function createKey(
  { caller, actor }: Principal,
  keys: Pick<KeyAdmin, 'create'>,
  grant: KeyGrant,
): Promise<IssuedKey> {
  const reach = checkAction(caller, 'keys.change');
  const allowed = allowedGrant(caller, reach, grant);
  return await (reach === 'all'
    ? keys.create(allowed, actor)
    : keys.create(allowed, actor, { maker: caller.user ?? caller.keyId }));
}

/**
 * Returns the terms of a key that a caller creates.
 * @throws SignalboxError `insufficient_permissions` for terms that the caller does not have
 */
export function allowedGrant(caller: Caller, reach: Reach, grant: KeyGrant): KeyGrant {
  checkGivable(caller, grant.scopes);
  return reach === 'all' ? grant : ownedGrant(caller, reach, grant);
}

/** Finds a key whose secret the principal may renew and receive; null if there is no such key. */
export async function rotatableKey(
  { caller }: Principal,
  keys: Pick<KeyAdmin, 'get'>,
  id: string,
): Promise<KeyInfo | null> {
  const info = await keyWithin(caller, checkAction(caller, 'keys.change'), keys, id);
  if (info) checkGivable(caller, info.scopes);
  return info;
}

/** The principal receives the new secret of the key, so the principal must be allowed to give all the terms of the key. */
export async function rotateKey(
  by: Principal,
  keys: Pick<KeyAdmin, 'get' | 'rotate'>,
  id: string,
  overlapMs: number,
): Promise<IssuedKey | null> {
  return (await rotatableKey(by, keys, id)) && (await keys.rotate(id, overlapMs, by.actor));
}

/** Revokes a key. Returns false if there is no key that the principal may revoke. */
export async function revokeKey(
  { caller, actor }: Principal,
  keys: Pick<KeyAdmin, 'get' | 'revoke'>,
  id: string,
): Promise<boolean> {
  const reach = checkAction(caller, 'keys.change');
  const info = await keyWithin(caller, reach, keys, id);
  return info !== null && (await keys.revoke(id, actor, (before) => checkNoOperatorKey(reach, before)));
}

/**
 * Grants Credits to a valid key, or to its wallet if the key has one.
 * @returns false if no key has the ID
 * @throws KeyTermsError for a note that cannot be stored
 */
export async function grantToKey(
  { caller, actor }: Principal,
  keys: Pick<KeyAdmin, 'grant'>,
  { ledger }: Pick<GrantStore, 'ledger'>,
  id: string,
  grant: CreditGrant,
  now: number,
): Promise<boolean> {
  checkAction(caller, 'keys.grant');
  const write = (holder: string) => ledger.grant(holder, grant.amount, grant.note, now);
  return await keys.grant(id, write, grantDetails(grant), actor);
}

/** Returns the terms of a key that a lead or a member creates. */
function ownedGrant(caller: Caller, reach: Reach, grant: KeyGrant): KeyGrant {
  const { team, user } = caller;
  if (Object.entries(grant.labels ?? {}).some(([name, value]) => caller.labels[name] !== value)) {
    throw beyond('labels', 'Labels decide what a key may do, so only an operator can choose them.');
  }
  const closed = BODY_NAMES.find(
    ([term, member]) => !OWNER_TERMS.has(member) && (grant[term] ?? null) !== NO_KEY_TERMS[term],
  );
  if (closed) throw beyond(closed[1], 'Only an operator can set this.');
  // A user without a team does not belong to any lead.
  const isOfOther = grant.team == null ? grant.user != null && grant.user !== user : grant.team !== team;
  if (isOfOther) throw beyond('team', 'You can create keys only for your own team.');
  if (reach === 'own' && grant.user != null && grant.user !== user) {
    throw beyond('user', 'You can create keys only for yourself.');
  }
  const own = listedFor(caller);
  const isBeyond = (model: string) => own?.includes(model) === false;
  if (grant.models?.some(isBeyond)) throw beyond('models', 'You can allow only models that you may use yourself.');
  return {
    ...grant,
    labels: caller.labels,
    team: team ?? null,
    user: (reach === 'own' ? user : grant.user) ?? null,
    models: grant.models ?? (caller.models && [...caller.models]),
  };
}

const beyond = (param: string, message: string) => new SignalboxError('insufficient_permissions', message, { param });
