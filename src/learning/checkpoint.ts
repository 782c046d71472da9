import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';
import type { LearningState } from './learning-state.ts';
import type { Memories } from './memories.ts';

/** Writes checkpoints of the memories, so that a start learns only the outcomes since. */
export class LearningCheckpoints {
  readonly #store: Pick<Store, 'commit'> & Pick<Repositories, 'learning'>;
  readonly #memories: Memories;
  readonly #state: LearningState;
  #stateWritten = '';
  #writing: Promise<void> | null = null;

  constructor(store: Pick<Store, 'commit'> & Pick<Repositories, 'learning'>, memories: Memories, state: LearningState) {
    this.#store = store;
    this.#memories = memories;
    this.#state = state;
  }

  /** Writes one checkpoint at a time, so that none lands without an earlier one. Rejects with StoreError. */
  async write(): Promise<void> {
    // Changes during a write belong to the next checkpoint.
    while (this.#writing) await this.#writing.catch(() => {});
    this.#writing = this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    const changes = this.#memories.changes(this.#store.learning);
    const state = this.#state.text;
    const writes = [...changes.writes];
    if (state !== this.#stateWritten)
      writes.push(this.#store.learning.memories.putState(this.#memories.lastOutcome, state));
    if (writes.length > 0) await this.#store.commit(writes);
    this.#memories.markWritten(changes);
    this.#stateWritten = state;
  }
}
