import type { Authentication } from '../../access/key-entry.ts';
import { refuse, SignalboxError } from '../../core/errors.ts';
import type { Principal } from './principal.ts';
import { isWithin, type OwnedKey } from './reach.ts';
import { checkAction } from './roles.ts';

/** The keys that this instance knows. */
interface KnownKeys {
  known(id: string): OwnedKey | null;
  actAs(id: string): Pick<Authentication, 'caller' | 'reason'>;
}

/**
 * Checks that a principal may send a request as a key: a person as one of their own keys, a key only as itself.
 * @returns who sends the request, for its record and the log
 * @throws SignalboxError `not_found` for another key; `key_suspended`, or `invalid_value` for a key that has ended
 */
export function senderAs({ caller }: Principal, keys: KnownKeys, id: string): { keyId: string; sentBy: string } {
  const reach = checkAction(caller, 'playground.send');
  const key = keys.known(id);
  if (!key || !isWithin(reach, caller, key)) {
    throw new SignalboxError(
      'not_found',
      'You have no key with this ID. You can send requests only as one of your own keys.',
    );
  }
  const { caller: sender, reason } = keys.actAs(id);
  if (sender) return { keyId: id, sentBy: caller.keyId };
  if (reason === 'suspended') {
    throw new SignalboxError('key_suspended', 'This key is suspended. Ask your administrator to resume it.');
  }
  refuse('key', 'This key has expired or was revoked. Choose another key.');
}
