import type { Known, TellingWord } from '../contract/estimator.ts';
import { declaredFor } from '../core/declared.ts';
import type { Estimate } from '../core/estimate.ts';
import type { Facts } from '../core/facts.ts';
import { timeOfId } from '../core/id.ts';
import type { Store, Write } from '../store/store.ts';
import { LearningCheckpoints } from './checkpoint.ts';
import { judge } from './checks.ts';
import { learntBy } from './estimates.ts';
import type {
  Example,
  LearningActivity,
  LearningPolicyInForce,
  Scored,
  ScoreRefusal,
  Scoring,
  Witnessed,
} from './learner.ts';
import type { Knowledge, Memories } from './memories.ts';
import { isNew } from './met.ts';
import type { KeptLearner, LearnerOptions } from './open.ts';
import { pruneExamples, pruneOutcomes } from './prune.ts';
import type { Standing } from './standing.ts';
import {
  applyReset,
  type ExampleRow,
  insertExample,
  insertOutcome,
  type OutcomeRow,
  type ResetRow,
  SELECT_EXAMPLE,
  SELECT_RESETS,
  SELECT_SCORE,
} from './tables.ts';

/** Answers whose looks are remembered, so that none counts twice. */
const WITNESSED_MAX = 10_000;

interface Parts {
  readonly memories: Memories;
  readonly standing: Standing;
  readonly faults: { readonly count: number };
  /** In the log, at the start. */
  readonly outcomes: number;
}

/** An outcome before it is known what it counts as. */
type Told = Pick<OutcomeRow, 'source' | 'score' | 'offered' | 'looked' | 'label'>;

/**
 * Learns in the order of the outcomes' IDs, in memory, and has them written in that order; what was learnt is never waited
 * for by a request.
 */
export class StoredLearner implements KeptLearner {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #nextId: () => number;
  readonly #onError: (error: unknown) => void;
  readonly #memories: Memories;
  readonly #standing: Standing;
  readonly #faults: Parts['faults'];
  readonly #checkpoints: LearningCheckpoints;
  readonly #timers: ReturnType<typeof setInterval>[] = [];
  /** `decision source` of the latest looks, the oldest first. */
  readonly #witnessed = new Set<string>();
  /** By decision: ends when its last score is dealt with. */
  readonly #scoring = new Map<number, Promise<unknown>>();
  /** By decision: scores that are learnt, and that a disk may not have yet. */
  readonly #unwritten = new Map<number, OutcomeRow>();
  readonly #outcomes = new Map<string, number>();
  #withheld = 0;
  #known: number;
  #version: number | null = null;

  constructor(options: LearnerOptions, { memories, standing, faults, outcomes }: Parts) {
    const { store, now, nextId, onError = () => {}, refreshMs, checkpointMs } = options;
    this.#store = store;
    this.#now = now;
    this.#nextId = nextId;
    this.#onError = onError;
    this.#memories = memories;
    this.#standing = standing;
    this.#faults = faults;
    this.#known = outcomes;
    this.#checkpoints = new LearningCheckpoints(store, memories, standing);
    if (refreshMs) this.#every(refreshMs, () => this.refresh());
    if (checkpointMs) this.#every(checkpointMs, () => this.checkpoint());
  }

  get activity(): LearningActivity {
    const { declared, estimated } = this.#standing.brier;
    return {
      outcomes: this.#outcomes,
      withheld: this.#withheld,
      brier: { declared, estimated },
      known: this.#known,
      faults: this.#faults.count,
    };
  }

  read(policy: LearningPolicyInForce, text: string | null): Uint8Array | null {
    return this.#memories.read(policy, text);
  }

  estimate(policy: LearningPolicyInForce, facts: Facts, features: Uint8Array | null): Estimate {
    return this.#memories.estimate(policy, facts, features);
  }

  asked(policy: LearningPolicyInForce, facts: Facts, features: Uint8Array | null): void {
    this.#memories.asked(policy, facts, features);
  }

  known(policy: LearningPolicyInForce): readonly Known[] {
    return this.#memories.known(policy);
  }

  telling(
    policy: LearningPolicyInForce,
    asked: Parameters<Knowledge['telling']>[1],
    most: number,
  ): readonly TellingWord[] {
    return this.#memories.telling(policy, asked, most);
  }

  keep(policy: LearningPolicyInForce, example: Example): Write[] {
    if (policy.snapshot.learning.mode === 'off') return [];
    const row = this.#rowOf(policy, example);
    return row ? [insertExample(row)] : [];
  }

  witness(policy: LearningPolicyInForce, example: Example, witnessed: Witnessed): Write[] {
    if (policy.snapshot.learning.mode === 'off') return [];
    try {
      return this.#witness(policy, example, witnessed);
    } catch (error) {
      this.#onError(error);
      return [];
    }
  }

  async score(policy: LearningPolicyInForce, scored: Scored): Promise<Scoring | ScoreRefusal> {
    const { decision } = scored;
    // Of two at once the second sees what became of the first.
    const before = this.#scoring.get(decision) ?? Promise.resolve();
    const work = before.then(() => this.#score(policy, scored));
    const ended = work.catch(() => {});
    this.#scoring.set(decision, ended);
    try {
      return await work;
    } finally {
      if (this.#scoring.get(decision) === ended) this.#scoring.delete(decision);
    }
  }

  async refresh(): Promise<void> {
    const version = await this.#store.version();
    if (version === this.#version) return;
    const resets = await this.#store.query<ResetRow>(SELECT_RESETS, [this.#memories.lastReset]);
    // Others may have looked meanwhile.
    const fresh = resets.filter(({ id }) => id > this.#memories.lastReset);
    for (const reset of fresh) {
      this.#memories.forget(reset);
      if (reset.model === null) this.#standing.brier.restart();
      this.#store.append([applyReset(reset.id, this.#memories.lastOutcome)]);
    }
    this.#version = version;
    if (fresh.length > 0) await this.checkpoint();
  }

  checkpoint(): Promise<void> {
    return this.#checkpoints.write();
  }

  async prune(ageMs: number): Promise<void> {
    await pruneExamples(this.#store, this.#now());
    this.#known -= await pruneOutcomes(this.#store, this.#now() - ageMs);
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.checkpoint();
  }

  #every(ms: number, work: () => Promise<void>): void {
    const timer = setInterval(() => work().catch((error: unknown) => this.#onError(error)), ms);
    timer.unref();
    this.#timers.push(timer);
  }

  /** Null for a model that the policy does not have. */
  #rowOf({ snapshot, estimator }: LearningPolicyInForce, example: Example): ExampleRow | null {
    const { decision, keyId, model, facts, features, draw } = example;
    const at = snapshot.modelIndex.get(model);
    if (at === undefined) return null;
    const { byTask } = this.#memories.over({ snapshot, estimator });
    return {
      decision,
      until: timeOfId(decision) + snapshot.learning.feedbackWindowMs,
      keyId,
      estimator: estimator.name,
      model,
      task: facts.task,
      declared: declaredFor(facts, snapshot, byTask)[at]!,
      probability: draw?.probability ?? 1,
      among: draw?.among ?? 1,
      features,
    };
  }

  #witness(policy: LearningPolicyInForce, example: Example, witnessed: Witnessed): Write[] {
    const { snapshot } = policy;
    const isLook = witnessed.retry === undefined;
    const name = `${example.decision} ${isLook ? 'checks' : 'retry'}`;
    const row = this.#rowOf(policy, example);
    if (!row || !isNew(this.#witnessed, name, WITNESSED_MAX)) return [];
    if (isLook) this.#standing.influence.seen(example.keyId, this.#now());
    const modelAt = snapshot.modelIndex.get(example.model)!;
    const quality = learntBy(policy, this.#memories.over(policy), example.facts, example.features)[modelAt]!;
    const verdict = judge(witnessed, snapshot.learning.signals, this.#standing.signals, quality);
    if (!verdict) return [];
    const { weight: offered, blamed: label, ...rest } = verdict;
    const { outcome, writes } = this.#learn(policy, row, { ...rest, offered, label });
    // What is withheld of what nobody sent is of no use to anybody.
    return outcome.weight > 0 ? writes : [];
  }

  async #score(policy: LearningPolicyInForce, { decision, score, label }: Scored): Promise<Scoring | ScoreRefusal> {
    const { mode, feedbackWindowMs, feedbackWeight } = policy.snapshot.learning;
    const example = await this.#find<ExampleRow>(() => this.#store.query(SELECT_EXAMPLE, [decision]));
    const until = example ? Math.min(example.until, timeOfId(decision) + feedbackWindowMs) : 0;
    if (!example || this.#now() > until) return 'unknown';
    const known = this.#unwritten.get(decision) ?? (await this.#store.query<OutcomeRow>(SELECT_SCORE, [decision]))[0];
    if (known && known.score !== score) return 'contradicts';
    if (known) {
      await this.#flush();
      return { result: 'repeated', weight: known.weight, label: known.label };
    }
    const offered = mode === 'off' ? 0 : feedbackWeight;
    const { outcome, writes } = this.#learn(policy, example, { source: 'caller', score, offered, looked: 0, label });
    this.#unwritten.set(decision, outcome);
    // Not as a commit: that may be refused when it is learnt already.
    this.#store.append(writes);
    await this.#flush();
    return { result: outcome.weight > 0 ? 'learnt' : 'kept', weight: outcome.weight, label };
  }

  /** An example rides with a later commit; whoever asks for it at once waits for that. */
  async #find<Row>(query: () => Promise<Row[]>): Promise<Row | undefined> {
    const [found] = await query();
    if (found) return found;
    await this.#store.flush();
    return (await query())[0];
  }

  /** Rejects with StoreError; what is unwritten is tried again then. */
  async #flush(): Promise<void> {
    const waiting = [...this.#unwritten.keys()];
    await this.#store.flush();
    for (const decision of waiting) this.#unwritten.delete(decision);
  }

  /** Takes an ID and learns in the same turn, so that the order of IDs is that of what was learnt. */
  #learn(
    policy: LearningPolicyInForce,
    row: ExampleRow,
    { source, score, offered, looked, label }: Told,
  ): { outcome: OutcomeRow; writes: Write[] } {
    const { influence } = this.#standing;
    const { estimator, snapshot } = policy;
    const { decision, keyId, model, task, declared, probability, among } = row;
    const bound = this.#memories.over(policy);
    const id = Math.max(this.#nextId(), this.#memories.lastOutcome + 1);
    const weight = influence.admit(keyId, offered, snapshot.learning.influenceMax, timeOfId(id));
    // Not for what counts for nothing: that may never be written.
    const begin = weight > 0 ? this.#memories.begin(estimator.name) : null;
    // Another plugin reads questions in another way.
    const features = row.estimator === estimator.name ? row.features : null;
    const lesson = { model, task, declared, score, weight, probability, among, features };
    const estimated = (weight > 0 ? bound.memory.learn(bound, lesson) : null) ?? declared;
    this.#memories.learnt(id);
    const place = { decision, keyId, model, task, declared, probability, among };
    const outcome: OutcomeRow = {
      id,
      source,
      estimator: estimator.name,
      score,
      offered,
      weight,
      estimated,
      looked,
      label,
      ...place,
    };
    this.#standing.note(outcome);
    this.#count(outcome);
    return { outcome, writes: begin ? [begin, insertOutcome(outcome)] : [insertOutcome(outcome)] };
  }

  #count({ source, weight, offered }: OutcomeRow): void {
    this.#outcomes.set(source, (this.#outcomes.get(source) ?? 0) + 1);
    if (weight > 0 || source === 'caller') this.#known++;
    if (weight === 0 && offered > 0) this.#withheld++;
  }
}
