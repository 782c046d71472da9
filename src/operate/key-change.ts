import { differenceOf, type KeyPatch, patched } from '../access/key-patch.ts';
import type { Keys } from '../access/keys.ts';
import { type Caller, permissionsOf } from '../core/caller.ts';
import { SignalboxError } from '../core/errors.ts';
import type { KeyInfo } from '../store/keys.ts';
import type { Principal } from './principal.ts';
import { checkGivable, isWithin } from './reach.ts';
import { checkAction, type Reach } from './roles.ts';

/** Tags, as `keyTag` returns them, of which the key must have one; null for any. */
type Tags = readonly string[] | null;

/**
 * Changes the terms of a key.
 * @param patchOf returns the change of the key as it is; it may be called several times
 * @returns the key; null for one that does not exist, is revoked, or lies beyond the principal's reach
 * @throws SignalboxError `insufficient_permissions`, KeyTermsError and KeyConflict
 */
export async function changeKey(
  { caller, actor }: Principal,
  keys: Pick<Keys, 'change' | 'get'>,
  id: string,
  patchOf: (info: KeyInfo) => KeyPatch,
  tags: Tags = null,
): Promise<KeyInfo | null> {
  const reach = checkAction(caller, 'keys.change');
  if (reach !== 'all') {
    const info = await keys.get(id);
    if (!info || !isWithin(reach, caller, info)) return null;
  }
  const alter = (before: KeyInfo): KeyInfo => {
    const after = patched(before, patchOf(before));
    checkGain(caller, reach, before, after);
    return after;
  };
  return await keys.change(id, alter, actor, tags);
}

/** Suspends a key, or resumes it. As `changeKey`. */
export async function suspendKey(
  { caller, actor }: Principal,
  keys: Pick<Keys, 'suspend' | 'resume'>,
  id: string,
  isSuspended: boolean,
  tags: Tags = null,
): Promise<KeyInfo | null> {
  checkAction(caller, 'keys.suspend');
  return await (isSuspended ? keys.suspend(id, actor, tags) : keys.resume(id, actor, tags));
}

/**
 * The members that each reach may change. Rules and budgets of the policy go by labels, so that whoever sets them could take
 * what the policy gives to others.
 */
const CHANGEABLE: Readonly<Record<Exclude<Reach, 'all'>, ReadonlySet<string>>> = {
  team: new Set(['name', 'scopes', 'models', 'limits', 'budgets', 'expires_at']),
  own: new Set(['name']),
};

/** Refuses to give a key more than the caller may give, and others than operators to change what decides by the policy. */
function checkGain(caller: Caller, reach: Reach, before: KeyInfo, after: KeyInfo): void {
  const had = permissionsOf(before.scopes);
  checkGivable(
    caller,
    after.scopes.filter((scope) => !had.has(scope)),
  );
  if (reach === 'all') return;
  const differing = Object.keys(Object(differenceOf(before, after)?.after));
  const closed = differing.find((name) => !CHANGEABLE[reach].has(name));
  if (closed !== undefined) throw refused(closed, `change \`${closed}\` of this key`);
}

const refused = (param: string, deed: string) =>
  new SignalboxError('insufficient_permissions', `Your role does not let you ${deed}. Ask an administrator.`, {
    param,
  });
