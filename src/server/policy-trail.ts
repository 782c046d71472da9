import type { PolicyCandidate } from '../policy/runtime/candidate.ts';
import type { ReloadAttempt } from '../policy/runtime/status.ts';
import type { OpenStore } from '../store/driver.ts';
import { type Actor, SERVER } from '../store/trail.ts';

/** The parts of a server that write policy changes to the audit trail. */
export interface PolicyTrail {
  readonly store: Pick<OpenStore, 'append' | 'trail'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Enters the revision that became active in the audit trail. The server appends the entry without waiting, because the policy must also
 * become active while the disk is full.
 */
export function notePolicy(
  { store, now }: PolicyTrail,
  { revision, cause }: Pick<ReloadAttempt, 'revision' | 'cause'>,
  before: string | null,
  actor: Actor,
): void {
  const subject = { kind: 'policy', id: revision };
  const details = { cause, before: { revision: before }, after: { revision } };
  store.append([store.trail.add({ time: now(), actor, action: 'load', subject, details })]);
}

/**
 * Enters the revision of a start in the audit trail, unless it is the trail's latest revision. `noteFirstPolicy` rejects with StoreError.
 */
export async function noteFirstPolicy(trail: PolicyTrail, { runtime }: PolicyCandidate): Promise<void> {
  const { revision } = runtime.snapshot;
  const [last] = await trail.store.trail.list({ keyId: null, kind: 'policy', limit: 1 });
  const before = last?.subject.id ?? null;
  if (before !== revision) notePolicy(trail, { revision, cause: 'start' }, before, SERVER);
}
