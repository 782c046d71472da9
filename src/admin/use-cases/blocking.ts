import type { Log } from '../../host/telemetry/log.ts';
import type { Blocklist } from '../../payments/blocklist.ts';
import type { Repositories } from '../../store/repositories.ts';
import { requestOf } from '../../store/trail.ts';
import type { Principal } from './principal.ts';

/** Names that callers are blocked by, because their credentials cannot be revoked here: wallets, and subjects of tokens. */
export interface BlockingSource {
  readonly blocklist: Pick<Blocklist, 'add' | 'remove'>;
  readonly store: Pick<Repositories, 'trail'>;
  readonly log: Pick<Log, 'warn'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Refuses a caller, or admits it again, and notes that in the trail and the log. Repeating it changes nothing. The use case has
 * checked its principal. Rejects with StoreError.
 * @param note why it is refused; null admits it
 */
export async function changeBlock(
  { blocklist, store, log, now }: BlockingSource,
  { caller, actor }: Principal,
  kind: 'subject' | 'wallet',
  id: string,
  note: string | null,
): Promise<void> {
  const action = note === null ? 'unblock' : 'block';
  const details = note === null ? {} : { note };
  const line = store.trail.add({ time: now(), actor, action, subject: { kind, id }, details });
  const isChanged = await (note === null ? blocklist.remove(id, [line]) : blocklist.add(id, note, [line]));
  if (!isChanged) return;
  const request = requestOf(actor) ?? undefined;
  log.warn(`a ${kind} was ${action}ed`, { [kind]: id, ...details, key: caller.keyId, request });
}
