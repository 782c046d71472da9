import { allMoved, type Estimate } from '../../core/decision/estimate.ts';
import { declaredByTask, declaredFor, type TaskFacts } from '../../core/policy/declared.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import { lengthsFrom, lengthsPart, type TaskLengths } from './question-lengths-part.ts';

/** How much a question that is one standard deviation longer than usual lowers the log odds of a good answer, for every model. */
const LOSS = 0.25;
/** The name for all tasks without declared qualities. No real task can have this name. */
const UNDECLARED = '*';
const TASKS_MAX = 256;
/** A running mean covers at most `WINDOW` requests. After `WARM_UP` requests, a difference from the mean counts half. */
const WINDOW = 500;
const WARM_UP = 20;

/** The facts about tasks in a snapshot. */
interface SnapshotTasks {
  /** Declared qualities by task, then by model. */
  readonly declared: readonly Float64Array[];
  /** For each task, the name under which the lengths of the task are stored. */
  readonly groups: readonly string[];
}

/**
 * The usual lengths of questions, by task. A question that is longer than usual for its task lowers the declared quality of all models
 * equally. The number of tasks is bounded: the task that was used least recently is replaced. State: question lengths.
 */
export class QuestionLengths {
  readonly #tasks: Map<string, TaskLengths>;
  readonly #snapshots = new WeakMap<PolicySnapshot, SnapshotTasks>();
  /** Counts the uses of all tasks. */
  #clock: number;
  readonly #mark: number;
  #isSaved = true;

  /** @param stored an earlier result of `save`; with null or unreadable bytes, there are no lengths at first */
  constructor(stored?: Uint8Array | null) {
    const { tasks, clock, mark } = lengthsFrom(stored ?? null);
    this.#tasks = tasks;
    this.#clock = clock;
    this.#mark = mark;
  }

  /**
   * Corrects the declared qualities for a question.
   * @param length the length of the question, as `questionLengthOf` returns it
   * @returns null if nothing needs a correction
   */
  estimate(snapshot: PolicySnapshot, facts: TaskFacts, length: number | null): Estimate | null {
    const group = length === null ? undefined : this.#tasks.get(this.#groupOf(snapshot, facts));
    if (length === null || group === undefined) return null;
    // Subtracting from 0 avoids −0 for a question of usual length.
    const by = 0 - LOSS * (group.requests / (group.requests + WARM_UP)) * (length - group.length);
    if (by === 0) return null;
    return { quality: allMoved(declaredFor(facts, snapshot, this.#of(snapshot).declared), by), length: by };
  }

  /** Counts the question of a request whose answer will be used. */
  note(snapshot: PolicySnapshot, facts: TaskFacts, length: number | null): void {
    if (length === null) return;
    const name = this.#groupOf(snapshot, facts);
    const task = this.#tasks.get(name) ?? this.#add(name);
    task.lastUsed = ++this.#clock;
    task.length += (1 / Math.min(task.requests + 1, WINDOW)) * (length - task.length);
    task.requests++;
    this.#isSaved = false;
  }

  /** Returns the lengths as bytes; null if nothing changed since the last call. */
  save(): Uint8Array | null {
    if (this.#isSaved) return null;
    this.#isSaved = true;
    return lengthsPart({ tasks: this.#tasks, clock: this.#clock, mark: this.#mark });
  }

  /** Makes the next `save` return the lengths again, because the last result was not stored. */
  markUnsaved(): void {
    this.#isSaved = false;
  }

  #add(name: string): TaskLengths {
    if (this.#tasks.size === TASKS_MAX) {
      const [oldest] = [...this.#tasks].reduce((one, other) => (other[1].lastUsed < one[1].lastUsed ? other : one));
      this.#tasks.delete(oldest);
    }
    const task = { lastUsed: 0, requests: 0, length: 0 };
    this.#tasks.set(name, task);
    return task;
  }

  #groupOf(snapshot: PolicySnapshot, { task }: TaskFacts): string {
    return this.#of(snapshot).groups[snapshot.taskIndex.get(task) ?? 0]!;
  }

  #of(snapshot: PolicySnapshot): SnapshotTasks {
    const known = this.#snapshots.get(snapshot);
    if (known) return known;
    const { tasks, models } = snapshot;
    const isDeclared = (task: number) => models.some(({ declared }) => declared.stated[task] === 1);
    const groups = tasks.map(({ name }, at) => (isDeclared(at) ? name : UNDECLARED));
    const read = { declared: declaredByTask(snapshot), groups };
    this.#snapshots.set(snapshot, read);
    return read;
  }
}
