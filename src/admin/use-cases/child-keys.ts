import type { IssuedKey, Keys } from '../../access/keys.ts';
import type { Caller } from '../../core/caller.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { KeyInfo } from '../../store/keys.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** The keys, as far as they make and end keys below them. */
export type ChildKeys = Pick<Keys, 'createBelow' | 'below' | 'above' | 'known' | 'get' | 'revoke'>;

/** The terms of a key that another one makes. */
export type ChildGrant = Parameters<ChildKeys['createBelow']>[1];

/**
 * Makes a key below the principal's own.
 * @param credentials the principal's, as the request presents them: the new key ends with their secret
 * @throws SignalboxError `insufficient_permissions`, or `invalid_api_key` where the key has ended meanwhile
 * @throws KeyTermsError for terms beyond its own, or where its line has no room
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
  throw new SignalboxError('invalid_api_key', 'This API key has ended, so it makes no other.');
}

/** The keys that the principal's own has made and that may still be used, with their terms in force; oldest first. */
export function childKeys({ caller }: Principal, keys: ChildKeys): Promise<readonly KeyInfo[]> {
  checkDelegates(caller);
  return keys.below(caller.keyId);
}

/**
 * Revokes a key below the principal's own, however far, and so all below that. Repeating it changes nothing.
 * @throws SignalboxError `not_found` for any other key
 */
export async function revokeChildKey({ caller, actor }: Principal, keys: ChildKeys, id: string): Promise<KeyInfo> {
  checkDelegates(caller);
  const info = await keys.get(id);
  if (!info || !(await keys.above(id)).includes(caller.keyId)) {
    throw new SignalboxError('not_found', 'This API key has made no key with this ID.');
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
