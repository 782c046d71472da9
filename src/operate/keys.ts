import type { IssuedKey, Keys } from '../access/keys.ts';
import type { KeyGrant } from '../access/terms.ts';
import type { KeyLimits } from '../core/caller.ts';
import { type Microcredits, toCredits } from '../core/credits.ts';
import type { KeyInfo } from '../store/keys.ts';
import type { LedgerTable } from '../store/ledger-table.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** The keys, as those see them who work with several. */
export type KeyAdmin = Pick<Keys, 'create' | 'rotate' | 'revoke' | 'grant' | 'get' | 'list' | 'known' | 'named'>;

/** Credits to add to the balance of a key or a wallet. */
export interface CreditGrant {
  /** Negative to take back; never 0. */
  readonly amount: Microcredits;
  readonly note: string;
}

/** The part of a store that grants are made with. */
export interface GrantStore extends Pick<Store, 'commit'>, Pick<Repositories, 'trail'> {
  readonly ledger: Pick<LedgerTable, 'grant'>;
}

/** The details of a grant in the trail. */
export const grantDetails = ({ amount, note }: CreditGrant) => ({ credits: toCredits(amount), note });

/** Returns the keys that a principal may see, revoked ones too, oldest first. Rejects with StoreError. */
export async function listKeys(by: Principal, keys: Pick<KeyAdmin, 'list'>): Promise<readonly KeyInfo[]> {
  checkAction(by.caller, 'keys.read');
  return await keys.list();
}

/** Returns a key; null where there is none that the principal may see. Rejects with StoreError. */
export async function findKey(by: Principal, keys: Pick<KeyAdmin, 'get'>, id: string): Promise<KeyInfo | null> {
  checkAction(by.caller, 'keys.read');
  return await keys.get(id);
}

/** Makes a key. Rejects with KeyTermsError. */
export async function createKey(by: Principal, keys: Pick<KeyAdmin, 'create'>, grant: KeyGrant): Promise<IssuedKey> {
  checkAction(by.caller, 'keys.change');
  return await keys.create(grant, by.actor);
}

/**
 * Gives a valid key another secret. The present one works for `overlapMs` more.
 * @returns null for no valid key. Rejects with KeyTermsError.
 */
export async function rotateKey(
  by: Principal,
  keys: Pick<KeyAdmin, 'rotate'>,
  id: string,
  overlapMs: number,
): Promise<IssuedKey | null> {
  checkAction(by.caller, 'keys.change');
  return await keys.rotate(id, overlapMs, by.actor);
}

/** Revokes a key. Returns false where there was none to revoke. */
export async function revokeKey(by: Principal, keys: Pick<KeyAdmin, 'revoke'>, id: string): Promise<boolean> {
  checkAction(by.caller, 'keys.change');
  return await keys.revoke(id, by.actor);
}

/**
 * Grants Credits to a valid key, or to its wallet if it has one.
 * @returns false without such a key.
 * @throws KeyTermsError for a note that cannot be kept.
 */
export async function grantToKey(
  by: Principal,
  keys: Pick<KeyAdmin, 'grant'>,
  { ledger }: Pick<GrantStore, 'ledger'>,
  id: string,
  grant: CreditGrant,
  now: number,
): Promise<boolean> {
  checkAction(by.caller, 'keys.grant');
  const write = (holder: string) => ledger.grant(holder, grant.amount, grant.note, now);
  return await keys.grant(id, write, grantDetails(grant), by.actor);
}

/** Limits of a key as they are kept: null where none is stated. */
export const statedLimits = (limits: KeyLimits): KeyLimits | null =>
  Object.values(limits).every((limit) => limit === null) ? null : limits;
