import type { Authentication } from '../../access/key-entry.ts';
import { refuse, SignalboxError } from '../../core/errors.ts';
import type { Principal } from './principal.ts';
import { isWithin, type OwnedKey } from './reach.ts';
import { checkAction } from './roles.ts';

/** The keys as this instance knows them. */
interface KnownKeys {
  known(id: string): OwnedKey | null;
  actAs(id: string): Pick<Authentication, 'caller' | 'reason'>;
}

/**
 * Judges whether a principal may send a request as a key: one of a person's own, or the key itself.
 * @returns who sends it, as its record and the log name it
 * @throws SignalboxError `not_found` for another key; `key_suspended`, or `invalid_value` for one that has ended
 */
export function senderAs({ caller }: Principal, keys: KnownKeys, id: string): { keyId: string; sentBy: string } {
  const reach = checkAction(caller, 'playground.send');
  const key = keys.known(id);
  if (!key || !isWithin(reach, caller, key)) {
    throw new SignalboxError('not_found', 'You have no key with this ID. Requests are sent as a key of your own.');
  }
  const { caller: sender, reason } = keys.actAs(id);
  if (sender) return { keyId: id, sentBy: caller.keyId };
  if (reason === 'suspended') {
    throw new SignalboxError('key_suspended', 'This key is suspended. Ask those who gave it to you to resume it.');
  }
  refuse('key', 'This key has expired, or was revoked. Choose another one.');
}
