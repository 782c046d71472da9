import type { Estimator, ModelKnowledge, TellingWord } from '../contract/estimator.ts';
import type { TaskFacts } from '../core/declared.ts';
import type { Estimate } from '../core/estimate.ts';
import type { Facts } from '../core/facts.ts';
import type { Cursor } from '../store/cursor.ts';
import type {
  EstimatorMemories,
  LearningTables,
  OutcomeWithFeatures,
  ResetRow,
  StoredPosition,
} from '../store/learning.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Write } from '../store/store.ts';
import type { LearningPolicyInForce } from './answer.ts';
import { countRequest, estimateFor } from './estimates.ts';
import { type BoundMemory, HostedMemory, type MemoryChanges, type MemoryOptions, type StoredMemory } from './memory.ts';
import { isScore, orderSteps } from './steps.ts';

/** The maximum number of outcomes to learn again at a start. Checkpoints are more frequent. */
const TAIL_MAX = 100_000;

/** The memories of all estimator plugins that have learned here, by name. State: memories. */
export class Memories {
  readonly #options: MemoryOptions;
  readonly #memories = new Map<string, HostedMemory>();
  /** As stored. */
  readonly #through = new Map<string, StoredPosition>();
  /** The place up to which the log is learned, or the last outcome beyond it, and the last reset that took effect. */
  readonly last: { outcome: number; reset: number };

  constructor(options: MemoryOptions, last: StoredPosition) {
    this.#options = options;
    this.last = { ...last };
  }

  /** @throws StoreError */
  static async load(
    { learning }: Pick<Repositories, 'learning'>,
    options: MemoryOptions,
  ): Promise<{ memories: Memories; resets: ResetRow[] }> {
    const parts = await learning.memories.parts();
    const through = await learning.memories.positions();
    const resets = await learning.resets.after(0);
    // Its last rows may be pruned.
    const last = Math.max(await learning.outcomes.horizon(), ...through.map(({ outcome }) => outcome));
    const reset = resets.at(-1)?.id ?? 0;
    const memories = new Memories(options, { outcome: last, reset });
    for (const { estimator, ...position } of through) {
      const tail = await learning.outcomes.tail(estimator, position.outcome, TAIL_MAX);
      const later = resets.filter(({ id }) => id > position.reset);
      const steps = orderSteps(
        tail.filter((row) => isScore(row) && row.id <= last),
        later,
        position.outcome,
      );
      const own = parts.filter((one) => one.estimator === estimator).map(({ part, bytes }) => [part, bytes] as const);
      memories.#add(estimator, { parts: new Map(own), steps });
      memories.#through.set(estimator, position);
    }
    return { memories, resets };
  }

  over(policy: LearningPolicyInForce): BoundMemory {
    const { name } = policy.estimator;
    return (this.#memories.get(name) ?? this.#add(name)).over(policy);
  }

  /** The features of a question; null without text. */
  read(policy: LearningPolicyInForce, text: string | null): Uint8Array | null {
    return text === null ? null : this.over(policy).memory.read(text, policy.snapshot.learning.mode === 'off');
  }

  /** Estimates Q of every model for a request. */
  estimate(policy: LearningPolicyInForce, facts: Facts, features: Uint8Array | null): Estimate {
    return estimateFor(policy, this.over(policy), facts, features);
  }

  /** Counts a request whose answer will be used in the estimator's means. */
  noteRequest(policy: LearningPolicyInForce, facts: TaskFacts, features: Uint8Array | null): void {
    countRequest(policy, this.over(policy), facts, features);
  }

  known(policy: LearningPolicyInForce): readonly ModelKnowledge[] {
    return this.#asked(policy, 'known', (estimator) => estimator.known());
  }

  /** The words of a text with the most influence on the estimate for a model, by its ID. */
  telling(
    policy: LearningPolicyInForce,
    { text, task, model }: { readonly text: string; readonly task: string; readonly model: string },
    most: number,
  ): readonly TellingWord[] {
    const { taskIndex, modelIndex } = policy.snapshot;
    const at = modelIndex.get(model);
    if (at === undefined) return [];
    return this.#asked(policy, 'telling', (estimator) => estimator.telling(text, taskIndex.get(task) ?? 0, at, most));
  }

  /** Learns an outcome that another instance has written. */
  follow(row: OutcomeWithFeatures): void {
    this.last.outcome = Math.max(this.last.outcome, row.id);
    if (row.weight > 0) (this.#memories.get(row.estimator) ?? this.#add(row.estimator)).follow(row);
  }

  /** The write to precede the first outcome of an estimator; null after that. @param outcome the place up to which the log is learned */
  beginWrite(estimator: string, outcome: Cursor, { memories }: Pick<LearningTables, 'memories'>): Write | null {
    if (this.#through.has(estimator)) return null;
    const through = { ...this.last, outcome };
    this.#through.set(estimator, through);
    return memories.beginPosition(estimator, through);
  }

  forget(reset: Pick<ResetRow, 'id' | 'model'>): void {
    this.last.reset = reset.id;
    for (const memory of this.#memories.values()) memory.forget(reset);
  }

  /** The changes since the last checkpoint, to write in one commit. */
  changes({ memories }: Pick<LearningTables, 'memories'>) {
    const last = { ...this.last };
    const writes: Write[] = [];
    const saved: HostedMemory[] = [];
    const through = new Map<string, StoredPosition>();
    for (const [name, memory] of this.#memories) {
      const changes = memory.save();
      if (!changes && !memory.isUpToDate) continue;
      if (changes) saved.push(memory);
      const before = this.#through.get(name);
      const isBehind = !before || before.outcome < last.outcome || before.reset < last.reset;
      const parts = changes ? partWrites(memories, name, changes) : [];
      if (parts.length === 0 && !isBehind) continue;
      // Parts of a memory that has come less far would go beside those of another's: outcomes would count twice, or not.
      writes.push(...parts, memories.advance(name, last));
      through.set(name, last);
    }
    return { writes, saved, through };
  }

  /** Marks changes as written. */
  markWritten({ saved, through }: Omit<ReturnType<Memories['changes']>, 'writes'>): void {
    for (const memory of saved) memory.markSaved();
    for (const [name, one] of through) this.#through.set(name, one);
  }

  /** Nothing if the plugin failed. */
  #asked<T>(policy: LearningPolicyInForce, where: string, ask: (estimator: Estimator) => readonly T[]): readonly T[] {
    const { memory, estimator } = this.over(policy);
    return (estimator && memory.attempt(where, () => ask(estimator))) ?? [];
  }

  #add(name: string, stored?: StoredMemory): HostedMemory {
    const memory = new HostedMemory(name, this.#options, stored);
    this.#memories.set(name, memory);
    return memory;
  }
}

/** The writes for the changed parts of a memory. */
export function partWrites(memories: EstimatorMemories, name: string, { everything, parts }: MemoryChanges): Write[] {
  const changed = everything ? [...parts].filter(([, bytes]) => bytes !== null) : [...parts];
  const puts = changed.map(([part, bytes]) => memories.putPart(name, part, bytes));
  return everything ? [memories.deleteParts(name), ...puts] : puts;
}
