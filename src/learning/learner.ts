import { declaredFor } from '../core/declared.ts';
import { idAbove, idAt, timeOfId } from '../core/id.ts';
import type { Timer, Timers } from '../core/timers.ts';
import type { Cursor } from '../store/cursor.ts';
import { ALONE, type Lead } from '../store/leaders.ts';
import type { ExampleRow, OutcomeRow } from '../store/learning.ts';
import type { News } from '../store/news.ts';
import type { Repositories } from '../store/repositories.ts';
import { type Deferral, type Store, StoreError, type Write } from '../store/store.ts';
import { processTimers } from '../telemetry/process-timers.ts';
import type { AnswerScore, Example, LearningPolicyInForce, ScoreReceipt, ScoreRefusal } from './answer.ts';
import type { LearningState } from './learning-state.ts';
import type { Memories } from './memories.ts';
import type { OnEstimatorFault } from './memory.ts';
import { PAGE, pagesOf } from './pages.ts';
import { isScore } from './steps.ts';

/** Keeps the features of outcomes that no checkpoint includes yet, ms. */
const SLACK_MS = 600_000;

/** How often a checkpoint looks whether what was learned last has become part of the log. */
const FOLLOWS_MAX = 3;

/** The store of a server that learns. */
type LearningStore = Pick<Store, 'append' | 'commit' | 'flush'> &
  Deferral &
  Pick<Repositories, 'learning'> & { readonly news: News };

interface LearnerParts {
  readonly memories: Memories;
  readonly state: LearningState;
  readonly faults: { readonly count: number };
}

export interface LearnerOptions {
  readonly store: LearningStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Numbers that grow with time and never repeat. */
  readonly nextId: () => number;
  /** Called once for each kind of fault of each plugin. */
  readonly onFault?: OnEstimatorFault;
  /** A checkpoint, or the reading of a reset, failed; it will be repeated. */
  readonly onError?: (error: unknown) => void;
  /** The interval of checkpoints, ms; absent: on `checkpoint` and `close` only. */
  readonly checkpointMs?: number;
  /** Whether this instance stores what all have learned. Absent: it is alone. */
  readonly lead?: Lead;
  /** Sets its regular work; the process's own unless stated. */
  readonly timers?: Timers;
}

/** Figures of learning since the process began. */
export type LearningActivity = Learner['activity'];

/**
 * Learns the quality of models from the outcomes of answers: in memory in the order of their IDs, and writes them in that
 * order. Requests never wait for it. State: scores.
 */
export class Learner {
  readonly memories: Memories;
  readonly #options: LearnerOptions;
  readonly #store: LearningStore;
  readonly #state: LearningState;
  readonly #faults: LearnerParts['faults'];
  readonly #deafen: () => void;
  readonly #regular: Timer[] = [];
  /** By decision: settles after its last score. */
  readonly #scoring = new Map<number, Promise<unknown>>();
  /** By decision: learned scores that may not be durable yet. */
  readonly #unwritten = new Map<number, OutcomeRow>();
  #scores = 0;
  #withheld = 0;
  /** The place up to which all outcomes are learned, and the decisions whose own outcomes were learned beyond it. */
  #through: Cursor;
  readonly #ahead = new Set<number>();
  /** The state as the last checkpoint has it. */
  #stateWritten = '';
  #writing: Promise<void> | null = null;

  constructor(options: LearnerOptions, { memories, state, faults }: LearnerParts) {
    const { store, checkpointMs } = options;
    this.#options = options;
    this.#store = store;
    this.memories = memories;
    this.#state = state;
    this.#faults = faults;
    this.#through = memories.last.outcome;
    this.#deafen = store.news.on('learning', async () => {
      await this.refresh().catch((error: unknown) => {
        options.onError?.(error);
        throw error;
      });
    });
    if (checkpointMs) this.#every(checkpointMs, () => this.checkpoint());
  }

  get activity() {
    const { declared, estimated } = this.#state.brier;
    return {
      /** Number of callers' scores, learned or kept. */
      scores: this.#scores,
      /** Outcomes that did not count because their key had reached its share. */
      withheld: this.#withheld,
      /** Mean squared errors of declared and estimated qualities, over the latest callers' scores; NaN before any. */
      brier: { declared, estimated },
      /** Number of failures of estimator plugins, after which declared qualities applied. */
      faults: this.#faults.count,
    };
  }

  /** Makes a decision scorable; writes behind the answer, with its record. Nothing while learning is off. */
  keepExample(policy: LearningPolicyInForce, example: Example): void {
    const row = this.#rowOf(policy, example);
    if (row) this.#store.defer(this.#store.learning.examples.add(row));
  }

  /** The same of an answered chat, which counts towards the traffic of its key. */
  noteAnswer(policy: LearningPolicyInForce, example: Example): void {
    const row = this.#rowOf(policy, example);
    if (!row) return;
    this.#state.influence.noteChat(row.keyId, this.#options.now());
    this.#store.defer(this.#store.learning.examples.add(row));
  }

  /** Learns from a caller's score. Resolves once it is durable; rejects with StoreError. */
  async score(policy: LearningPolicyInForce, score: AnswerScore): Promise<ScoreReceipt | ScoreRefusal> {
    const { decision } = score;
    // Of two concurrent scores, the second sees the result of the first.
    const before = this.#scoring.get(decision) ?? Promise.resolve();
    const work = before.then(() => this.#score(policy, score));
    const ended = work.catch(() => {});
    this.#scoring.set(decision, ended);
    try {
      return await work;
    } finally {
      if (this.#scoring.get(decision) === ended) this.#scoring.delete(decision);
    }
  }

  /** Applies the resets of other processes. Rejects with StoreError. */
  async refresh(): Promise<void> {
    const resets = await this.#store.learning.resets.after(this.memories.last.reset);
    // A concurrent refresh may have applied some.
    const fresh = resets.filter(({ id }) => id > this.memories.last.reset);
    for (const reset of fresh) {
      this.memories.forget(reset);
      if (reset.model === null) this.#state.brier.restart();
      this.#store.append([this.#store.learning.resets.apply(reset.id, this.memories.last.outcome)]);
    }
    if (fresh.length > 0) await this.checkpoint();
  }

  /** Learns the outcomes of others; as the leader, writes a checkpoint, so that a start learns only the outcomes since. One at a time: none lands without an earlier one. Rejects with StoreError. */
  async checkpoint(): Promise<void> {
    // Changes during a write belong to the next checkpoint.
    while (this.#writing) await this.#writing.catch(() => {});
    this.#writing = this.#writeCheckpoint().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  /** Deletes unscorable examples and outcomes older than `ageMs`, in batches. Rejects with StoreError. */
  async prune(ageMs: number): Promise<void> {
    const { examples, outcomes } = this.#store.learning;
    await examples.prune(this.#options.now() - SLACK_MS);
    await outcomes.prune(idAt(this.#options.now() - ageMs));
  }

  /** Writes a last checkpoint. Rejects with StoreError. */
  async close(): Promise<void> {
    this.#deafen();
    for (const timer of this.#regular) timer.close();
    await this.checkpoint();
  }

  async #writeCheckpoint(): Promise<void> {
    const { learning } = this.#store;
    for (let tries = 0; tries < FOLLOWS_MAX; tries++) if ((await this.#follow()) && this.#ahead.size === 0) break;
    // A memory with outcomes beyond its place in the log would learn them again. The next checkpoint has them.
    if (this.#ahead.size > 0) return;
    this.memories.last.outcome = this.#through;
    const { lead = ALONE } = this.#options;
    if (!lead.isHeld) return;
    const changes = this.memories.changes(learning);
    const { text } = this.#state;
    const writes = [...changes.writes];
    if (text !== this.#stateWritten) writes.push(learning.memories.putState(this.memories.last.outcome, text));
    try {
      if (writes.length > 0) await this.#store.commit([...lead.conditions(), ...writes]);
    } catch (cause) {
      // Another instance leads by now, or has come further: its memories are stored, and these once they have followed it.
      if (cause instanceof StoreError && cause.reason === 'unmet') return;
      throw cause;
    }
    this.memories.markWritten(changes);
    this.#stateWritten = text;
  }

  /**
   * Learns the outcomes of others that have become visible. Rejects with StoreError.
   * @returns whether all that was learned lies in the part of the log in which nothing will appear
   */
  async #follow(): Promise<boolean> {
    const { outcomes } = this.#store.learning;
    const written = [...this.#ahead];
    if (written.length > 0) await this.#store.flush();
    const horizon = await outcomes.horizon();
    for await (const rows of pagesOf((last) => outcomes.after(last, PAGE), this.#through)) {
      const others = rows.filter(({ id, decision }) => id <= horizon && !this.#ahead.has(decision));
      for (const row of others.filter(isScore)) {
        this.memories.follow(row);
        this.#state.replay(row);
      }
      const last = rows.at(-1)?.id ?? 0;
      for (const { id, decision } of rows) if (id <= horizon) this.#ahead.delete(decision);
      this.#through = Math.max(this.#through, Math.min(last, horizon));
      if (last >= horizon) break;
    }
    // Another instance's score of the same decision may have come first, and have been passed before this one was given.
    for (const decision of written.filter((one) => this.#ahead.has(one)))
      if (((await outcomes.findScore(decision))?.id ?? Infinity) <= this.#through) this.#ahead.delete(decision);
    return this.#ahead.size === 0;
  }

  #every(ms: number, work: () => Promise<void>): void {
    const { timers = processTimers, onError } = this.#options;
    const timer = timers.every(ms, () => void work().catch((error: unknown) => onError?.(error)));
    timer.unref();
    this.#regular.push(timer);
  }

  /** Null while learning is off, or if the policy lacks the model. */
  #rowOf(policy: LearningPolicyInForce, example: Example): ExampleRow | null {
    const { snapshot, estimator } = policy;
    const { decision, keyId, model, facts, features, draw } = example;
    const at = snapshot.modelIndex.get(model);
    if (snapshot.learning.mode === 'off' || at === undefined) return null;
    const { byTask } = this.memories.over(policy);
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

  async #score(
    policy: LearningPolicyInForce,
    { decision, score, label }: AnswerScore,
  ): Promise<ScoreReceipt | ScoreRefusal> {
    const { mode, feedbackWindowMs, feedbackWeight } = policy.snapshot.learning;
    const example = await this.#findExample(decision);
    const until = example ? Math.min(example.until, timeOfId(decision) + feedbackWindowMs) : 0;
    if (!example || this.#options.now() > until) return 'unknown';
    const earlier = this.#unwritten.get(decision) ?? (await this.#store.learning.outcomes.findScore(decision));
    if (earlier && earlier.score !== score) return 'contradicts';
    if (earlier) {
      await this.#flush();
      return { result: 'repeated', weight: earlier.weight, label: earlier.label };
    }
    const offered = mode === 'off' ? 0 : feedbackWeight;
    const { outcome, writes } = this.#learn(policy, example, { score, offered, label });
    this.#unwritten.set(decision, outcome);
    // A commit could be rejected after the outcome is already learned.
    this.#store.append(writes);
    await this.#flush();
    return { result: outcome.weight > 0 ? 'learnt' : 'kept', weight: outcome.weight, label };
  }

  /** An example may wait for a later commit; a reader that needs it now flushes. */
  async #findExample(decision: number): Promise<ExampleRow | null> {
    const { examples } = this.#store.learning;
    const found = await examples.find(decision);
    if (found) return found;
    await this.#store.flush();
    return examples.find(decision);
  }

  /** Rejects with StoreError; unwritten scores stay for the next attempt. */
  async #flush(): Promise<void> {
    const waiting = [...this.#unwritten.keys()];
    await this.#store.flush();
    for (const decision of waiting) this.#unwritten.delete(decision);
  }

  /** Takes an ID and learns synchronously, so that outcomes are learned in the order of their IDs. */
  #learn(
    policy: LearningPolicyInForce,
    { until: _, ...example }: ExampleRow,
    given: Pick<OutcomeRow, 'score' | 'offered' | 'label'>,
  ): { outcome: OutcomeRow; writes: Write[] } {
    const { outcomes } = this.#store.learning;
    const { name } = policy.estimator;
    const bound = this.memories.over(policy);
    // The last one may be another instance's, a moment ahead.
    const id = idAbove(this.#options.nextId(), this.memories.last.outcome);
    const { influenceMax } = policy.snapshot.learning;
    const weight = this.#state.influence.admit(example.keyId, given.offered, influenceMax, timeOfId(id));
    // A weightless outcome may never be written.
    const begin = weight > 0 ? this.memories.beginWrite(name, this.#through, this.#store.learning) : null;
    // Features of another plugin are unreadable.
    const features = example.estimator === name ? example.features : null;
    const lesson = { ...example, ...given, weight, features };
    const estimated = (weight > 0 ? bound.memory.learn(bound, lesson) : null) ?? example.declared;
    this.memories.last.outcome = id;
    this.#ahead.add(example.decision);
    const outcome = { ...lesson, id, source: 'caller' as const, estimator: name, estimated, looked: 0 };
    this.#state.note(outcome);
    this.#scores++;
    if (weight === 0 && given.offered > 0) this.#withheld++;
    return { outcome, writes: begin ? [begin, outcomes.add(outcome)] : [outcomes.add(outcome)] };
  }
}
