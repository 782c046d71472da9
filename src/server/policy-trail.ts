import type { PolicyCandidate } from '../policy/runtime/candidate.ts';
import type { ReloadAttempt } from '../policy/runtime/status.ts';
import type { OpenStore } from '../store/driver.ts';
import { type Actor, SERVER } from '../store/trail.ts';

/** The parts of a server by which changes of its policy come into the trail. */
export interface PolicyTrail {
  readonly store: Pick<OpenStore, 'append' | 'trail'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Puts a revision that has come into force into the trail. It is appended: the policy serves while the disk is full, too. */
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

/** Notes the revision of a start, where it is not the one that the trail has last. Rejects with StoreError. */
export async function noteFirstPolicy(trail: PolicyTrail, { runtime }: PolicyCandidate): Promise<void> {
  const { revision } = runtime.snapshot;
  const [last] = await trail.store.trail.list({ keyId: null, kind: 'policy', limit: 1 });
  const before = last?.subject.id ?? null;
  if (before !== revision) notePolicy(trail, { revision, cause: 'start' }, before, SERVER);
}
