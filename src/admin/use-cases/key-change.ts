import { differenceOf, type KeyPatch, patched } from '../../access/key-patch.ts';
import type { Keys, Tags } from '../../access/keys.ts';
import { SignalboxError } from '../../core/errors.ts';
import { type Caller, permissionsOf } from '../../core/people/caller.ts';
import { listedFor } from '../../routing/model-name.ts';
import type { KeyInfo } from '../../store/keys.ts';
import type { Principal } from './principal.ts';
import { checkGivable, checkNoOperatorKey, isWithin, OWNER_TERMS } from './reach.ts';
import { checkAction, type Reach } from './roles.ts';

/**
 * Changes the terms of a key.
 * @param patchOf returns the change for the current terms; it may be called several times
 * @returns the key; null if the key does not exist or is revoked
 * @throws SignalboxError `not_found` if the principal may not change the key, and `insufficient_permissions`; KeyTermsError and KeyConflict
 */
export async function changeKey(
  { caller, actor }: Principal,
  keys: Pick<Keys, 'change'>,
  id: string,
  patchOf: (info: KeyInfo) => KeyPatch,
  tags: Tags = null,
): Promise<KeyInfo | null> {
  const reach = checkAction(caller, 'keys.change');
  const alter = (before: KeyInfo): KeyInfo => {
    if (!isWithin(reach, caller, before)) throw notThere();
    checkNoOperatorKey(reach, before);
    const after = patched(before, patchOf(before));
    checkGain(caller, reach, before, after);
    return after;
  };
  return await keys.change(id, alter, actor, tags);
}

/** Suspends or resumes a key. `suspendKey` returns and throws like `changeKey`. */
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
 * Refuses a change that gives a key more than the caller may give, or that changes terms which the caller may not change.
 * @throws SignalboxError `insufficient_permissions`
 */
function checkGain(caller: Caller, reach: Reach, before: KeyInfo, after: KeyInfo): void {
  const had = permissionsOf(before.scopes);
  checkGivable(
    caller,
    after.scopes.filter((scope) => !had.has(scope)),
  );
  if (reach === 'all') return;
  const differing = Object.keys(differenceOf(before, after)?.after ?? {});
  const closed = differing.find((name) => !OWNER_TERMS.get(name)?.includes(reach));
  if (closed !== undefined) throw refused(closed, `Your role does not let you change \`${closed}\` of this key.`);
  const own = listedFor(caller);
  const gained = after.models?.filter((model) => before.models?.includes(model) === false);
  const isAll = after.models === null && before.models !== null;
  if (own && (isAll || gained?.some((model) => !own.includes(model)))) {
    throw refused('models', 'You can allow only models that you may use yourself.');
  }
}

const refused = (param: string, message: string) =>
  new SignalboxError('insufficient_permissions', `${message} Ask an operator.`, { param });

/** The error does not repeat the ID, because the caller may have sent a whole key by mistake. */
export const notThere = () =>
  new SignalboxError('not_found', 'No key that can be changed has this ID. It does not exist or was revoked.');
