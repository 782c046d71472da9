import type { ModelKnowledge } from '../../contract/estimator.ts';
import { iso } from '../../core/clock.ts';
import type { LearningPolicy } from '../../core/learning-policy.ts';
import { messageOf } from '../../core/thrown.ts';
import type { LearningPolicyInForce } from '../../learning/answer.ts';
import type { LearningActivity } from '../../learning/learner.ts';
import type { Memories } from '../../learning/memories.ts';
import { openLearningReader } from '../../learning/open.ts';
import { type KeyShare, type LearningOverview, overviewOf } from '../../learning/overview.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';

/** The results of learning so far. */
export interface LearningStatus extends LearningOverview {
  readonly learning: LearningPolicy;
  readonly brier: LearningActivity['brier'];
  /** Models with outcomes. */
  readonly known: readonly ModelKnowledge[];
  /** Failures of the estimator, as sentences. */
  readonly faults: readonly string[];
}

/** The memories of a server, or of a database. */
type LearningMemory = Pick<Memories, 'known'> & Pick<LearningActivity, 'brier'>;

/** Reads the status of learning with the memories at hand. Rejects with StoreError. */
export async function learningStatus(
  by: Principal,
  store: Pick<Repositories, 'learning'>,
  memory: LearningMemory | null,
  policy: LearningPolicyInForce,
  now: number,
): Promise<Omit<LearningStatus, 'faults'>> {
  checkAction(by.caller, 'learning.read');
  const { learning } = policy.snapshot;
  const { estimator, influenceMax } = learning;
  return {
    ...(await overviewOf(store, { estimator, influenceMax, now })),
    learning,
    brier: memory?.brier ?? { declared: Number.NaN, estimated: Number.NaN },
    known: memory?.known(policy).filter(({ outcomes }) => outcomes > 0) ?? [],
  };
}

/** Reads the status of learning that a database tells, beside a server or without one. Rejects with StoreError. */
export async function storedLearningStatus(
  by: Principal,
  store: Pick<Repositories, 'learning'>,
  policy: LearningPolicyInForce,
  now: number,
): Promise<LearningStatus> {
  checkAction(by.caller, 'learning.read');
  const faults: string[] = [];
  const memory = await openLearningReader(store, (estimator, where, error) =>
    faults.push(`The estimator ${estimator} failed (${where}): ${messageOf(error)}.`),
  );
  return { ...(await learningStatus(by, store, memory, policy, now)), faults };
}

/** A key with less than this left of its bound is at it. */
const LEFT_MIN = 0.01;

export const isAtBound = ({ learnt, bound }: KeyShare): boolean => bound - learnt < LEFT_MIN;

/** The difference that outcomes make to a quality, in points of a hundred. */
export const points = ({ declared, learnt }: ModelKnowledge): number => 100 * (learnt - declared);

/** JSON has neither infinity nor NaN. */
const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** The status as the admin API and `signalbox learn status --json` show it. */
export function learningBody({ learning, sources, examples, checkpoint, brier, keys, known, faults }: LearningStatus) {
  return {
    mode: learning.mode,
    estimator: learning.estimator,
    outcomes: sources,
    examples,
    checkpoint: checkpoint && { through: iso(checkpoint.at), behind: checkpoint.behind },
    brier: { declared: finite(brier.declared), estimated: finite(brier.estimated) },
    models: known.map((one) => ({ ...one, difference_points: points(one) })),
    keys: keys.map((one) => ({
      key_id: one.keyId || null,
      learnt: one.learnt,
      share: one.share,
      share_of_chats: one.chats,
      bound: finite(one.bound),
      is_at_bound: isAtBound(one),
    })),
    faults,
  };
}
