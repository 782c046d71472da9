import type { IssuedKey, Keys } from '../../access/keys.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { KeyInfo } from '../../store/keys.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** The part of `Keys` that creates and revokes child keys. */
export type ChildKeys = Pick<Keys, 'createBelow' | 'below' | 'above' | 'known' | 'get' | 'revoke'>;

/** The terms of a key that another key creates. */
export type ChildGrant = Parameters<ChildKeys['createBelow']>[1];

/**
 * Creates a child key of the principal's own key.
 * @param credentials of the request; the child key stops working when this secret stops working
 * @throws SignalboxError `insufficient_permissions`, or `invalid_api_key` if the principal's key has ended in the meantime
 * @throws KeyTermsError for terms that the principal's key does not have itself, or if there are too many child keys
 */
export async function makeChildKey(
  { caller, actor }: Principal,
  keys: ChildKeys,
  credentials: string | null,
  grant: ChildGrant,
): Promise<IssuedKey> {
  checkDelegates(caller);
  const made = await keys.createBelow(credentials, grant, actor);
  if (made) return made;
  throw new SignalboxError('invalid_api_key', 'This API key no longer works, so it cannot create another key.');
}

/** Returns the child keys that the principal's own key has created and that still work, with their effective terms; oldest first. */
export function childKeys({ caller }: Principal, keys: ChildKeys): Promise<readonly KeyInfo[]> {
  checkDelegates(caller);
  return keys.below(caller.keyId);
}

/**
 * Revokes a descendant of the principal's own key, and all keys that descend from it. Revoking the same key again changes nothing.
 * @throws SignalboxError `not_found` for any other key
 */
export async function revokeChildKey({ caller, actor }: Principal, keys: ChildKeys, id: string): Promise<KeyInfo> {
  checkDelegates(caller);
  const info = await keys.get(id);
  if (!info || !(await keys.above(id)).includes(caller.keyId)) {
    throw new SignalboxError('not_found', 'This API key has created no key with this ID.');
  }
  await keys.revoke(id, actor);
  const { inForce: _, ...stored } = info;
  return { ...stored, ...keys.known(id) };
}

function checkDelegates(caller: Caller): void {
  checkAction(caller, 'keys.delegate');
  if (caller.scopes.has('delegate')) return;
  throw new SignalboxError('insufficient_permissions', 'This API key lacks the scope `delegate`.');
}
