import type { Log } from '../../host/telemetry/log.ts';
import type { Blocklist } from '../../payments/blocklist.ts';
import type { Repositories } from '../../store/repositories.ts';
import { requestOf } from '../../store/trail.ts';
import type { Principal } from './principal.ts';

/** The services for blocking. Callers are blocked by ID if Signalbox cannot revoke their credentials: wallets, and subjects of tokens. */
export interface BlockingSource {
  readonly blocklist: Pick<Blocklist, 'add' | 'remove'>;
  readonly store: Pick<Repositories, 'trail'>;
  readonly log: Pick<Log, 'warn'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Blocks a caller or unblocks it, and records the change in the audit trail and the log. Blocking or unblocking a caller again changes
 * nothing. The calling use case must have checked the permissions of its principal. Rejects with StoreError.
 * @param note why the caller is blocked; null to unblock
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
