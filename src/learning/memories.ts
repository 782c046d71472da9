import type { Known, TellingWord } from '../contract/estimator.ts';
import type { Estimate } from '../core/estimate.ts';
import type { Facts } from '../core/facts.ts';
import type { Store, Write } from '../store/store.ts';
import { estimateBy, takeNote } from './estimates.ts';
import type { LearningPolicyInForce } from './learner.ts';
import { type Bound, type EstimatorFault, type Kept, Memory, type Saved, type Step, type Through } from './memory.ts';
import type { Secret } from './secret.ts';
import {
  beginThrough,
  deleteParts,
  putPart,
  putThrough,
  type ResetRow,
  SELECT_LAST,
  SELECT_PARTS,
  SELECT_RESETS,
  SELECT_TAIL,
  SELECT_THROUGH,
  type TaughtRow,
} from './tables.ts';

/** Outcomes that are learnt again at most. A checkpoint is never this far behind, but where a plugin cannot be saved. */
const TAIL_MAX = 100_000;

/** What was learnt, for whoever only asks. */
export interface Knowledge {
  read(policy: LearningPolicyInForce, text: string | null): Uint8Array | null;
  estimate(policy: LearningPolicyInForce, facts: Facts, features: Uint8Array | null): Estimate;
  known(policy: LearningPolicyInForce): readonly Known[];
  /** The words of a text that count most for or against a model, by its ID. */
  telling(
    policy: LearningPolicyInForce,
    asked: { readonly text: string; readonly task: string; readonly model: string },
    most: number,
  ): readonly TellingWord[];
}

export interface LoadOptions {
  readonly store: Pick<Store, 'query'>;
  readonly secret: Secret;
  readonly onFault: EstimatorFault;
}

/** The changes of a checkpoint. */
interface Changes {
  readonly writes: readonly Write[];
  readonly saved: readonly Memory[];
  readonly through: ReadonlyMap<string, Through>;
}

/** The memories of all estimator plugins that ever learnt here, by name. */
export class Memories implements Knowledge {
  readonly #secret: Secret;
  readonly #onFault: EstimatorFault;
  readonly #memories = new Map<string, Memory>();
  /** As the store has it. */
  readonly #through = new Map<string, Through>();
  #lastOutcome: number;
  #lastReset: number;

  constructor({ secret, onFault }: Omit<LoadOptions, 'store'>, last: Through) {
    this.#secret = secret;
    this.#onFault = onFault;
    this.#lastOutcome = last.outcome;
    this.#lastReset = last.reset;
  }

  /** Rejects with StoreError. */
  static async load({ store, secret, onFault }: LoadOptions): Promise<{ memories: Memories; resets: ResetRow[] }> {
    const parts = await store.query<{ estimator: string; part: string; bytes: Uint8Array }>(SELECT_PARTS);
    const through = await store.query<Through & { estimator: string }>(SELECT_THROUGH);
    const resets = await store.query<ResetRow>(SELECT_RESETS, [0]);
    const [last] = await store.query<{ id: number }>(SELECT_LAST);
    const reset = resets.at(-1)?.id ?? 0;
    const memories = new Memories({ secret, onFault }, { outcome: last?.id ?? 0, reset });
    for (const { estimator, ...known } of through) {
      const tail = await store.query<TaughtRow>(SELECT_TAIL, [estimator, known.outcome, TAIL_MAX]);
      const steps = inOrder(
        tail.reverse(),
        resets.filter(({ id }) => id > known.reset),
        known.outcome,
      );
      const own = parts.filter((one) => one.estimator === estimator).map(({ part, bytes }) => [part, bytes] as const);
      memories.#add(estimator, { parts: new Map(own), steps });
      memories.#through.set(estimator, known);
    }
    return { memories, resets };
  }

  /** ID of the last outcome. */
  get lastOutcome(): number {
    return this.#lastOutcome;
  }

  get lastReset(): number {
    return this.#lastReset;
  }

  over(policy: LearningPolicyInForce): Bound {
    const { name } = policy.estimator;
    return (this.#memories.get(name) ?? this.#add(name, { parts: new Map(), steps: [] })).over(policy);
  }

  read(policy: LearningPolicyInForce, text: string | null): Uint8Array | null {
    return text === null ? null : this.over(policy).memory.read(text, policy.snapshot.learning.mode === 'off');
  }

  estimate(policy: LearningPolicyInForce, facts: Facts, features: Uint8Array | null): Estimate {
    return estimateBy(policy, this.over(policy), facts, features);
  }

  /** Takes note of a request that somebody makes. */
  asked(policy: LearningPolicyInForce, facts: Facts, features: Uint8Array | null): void {
    takeNote(policy, this.over(policy), facts, features, policy.snapshot.learning.mode === 'off');
  }

  known(policy: LearningPolicyInForce): readonly Known[] {
    const { memory, estimator } = this.over(policy);
    try {
      return estimator?.known() ?? [];
    } catch (error) {
      memory.fault('known', error);
      return [];
    }
  }

  telling(
    policy: LearningPolicyInForce,
    { text, task, model }: { readonly text: string; readonly task: string; readonly model: string },
    most: number,
  ): readonly TellingWord[] {
    const { memory, estimator } = this.over(policy);
    const { taskIndex, modelIndex } = policy.snapshot;
    const at = modelIndex.get(model);
    if (at === undefined) return [];
    try {
      return estimator?.telling(text, taskIndex.get(task) ?? 0, at, most) ?? [];
    } catch (error) {
      memory.fault('telling', error);
      return [];
    }
  }

  /** The write that must come before the first outcome of an estimator; null after that. */
  begin(estimator: string): Write | null {
    if (this.#through.has(estimator)) return null;
    const through = { outcome: this.#lastOutcome, reset: this.#lastReset };
    this.#through.set(estimator, through);
    return beginThrough(estimator, through.outcome, through.reset);
  }

  /** An outcome has its ID, and is learnt. */
  learnt(id: number): void {
    this.#lastOutcome = id;
  }

  forget(reset: Pick<ResetRow, 'id' | 'model'>): void {
    this.#lastReset = reset.id;
    for (const memory of this.#memories.values()) memory.forget(reset);
  }

  /** What has changed since the last checkpoint, to be written in one commit. */
  changes(): Changes {
    const last = { outcome: this.#lastOutcome, reset: this.#lastReset };
    const writes: Write[] = [];
    const saved: Memory[] = [];
    const through = new Map<string, Through>();
    for (const [name, memory] of this.#memories) {
      const changes = memory.save();
      if (!changes && !memory.isSettled) continue;
      if (changes) saved.push(memory);
      const before = this.#through.get(name);
      const isBehind = !before || before.outcome < last.outcome || before.reset < last.reset;
      writes.push(...(changes ? partWrites(name, changes) : []));
      if (!isBehind) continue;
      writes.push(putThrough(name, last.outcome, last.reset));
      through.set(name, last);
    }
    return { writes, saved, through };
  }

  /** The changes are written. */
  written({ saved, through }: Changes): void {
    for (const memory of saved) memory.saved();
    for (const [name, one] of through) this.#through.set(name, one);
  }

  #add(name: string, kept: Kept): Memory {
    const memory = new Memory({ name, secret: this.#secret, onFault: this.#onFault }, kept);
    this.#memories.set(name, memory);
    return memory;
  }
}

/** What a memory's changed parts come to in the store. */
export function partWrites(name: string, { everything, parts }: Saved): Write[] {
  const kept = everything ? [...parts].filter(([, bytes]) => bytes !== null) : [...parts];
  const puts = kept.map(([part, bytes]) => putPart(name, part, bytes));
  return everything ? [deleteParts(name), ...puts] : puts;
}

/**
 * Outcomes, with each reset behind the last outcome that it made forgotten; one that no server has applied is the last.
 * Before them, by their IDs, which grow with time, what was asked since the last outcome of the checkpoint.
 */
function inOrder(outcomes: readonly TaughtRow[], resets: readonly ResetRow[], checkpoint: number): Step[] {
  const byDecision = new Map(outcomes.map((row) => [row.decision, row]));
  const asked = [...byDecision.values()]
    .filter(({ decision }) => decision > checkpoint)
    .sort((one, other) => one.decision - other.decision);
  const steps: Step[] = [];
  let at = 0;
  let question = 0;
  for (const row of outcomes) {
    for (; at < resets.length; at++) {
      const { applied } = resets[at]!;
      if (applied === null || applied >= row.id) break;
      steps.push({ kind: 'reset', reset: resets[at]! });
    }
    for (; question < asked.length && asked[question]!.decision < row.id; question++) {
      steps.push({ kind: 'question', row: asked[question]! });
    }
    steps.push({ kind: 'outcome', row });
  }
  for (const reset of resets.slice(at)) steps.push({ kind: 'reset', reset });
  return steps;
}
