import type { Store } from '../store/store.ts';
import type { Memories } from './memories.ts';
import type { Standing } from './standing.ts';
import { putStanding } from './tables.ts';

/** Brings what is stored of the memories up to the log of outcomes, so that a start learns only what came after. */
export class LearningCheckpoints {
  readonly #store: Store;
  readonly #memories: Memories;
  readonly #standing: Standing;
  #standingWritten = '';
  #writing: Promise<void> | null = null;

  constructor(store: Store, memories: Memories, standing: Standing) {
    this.#store = store;
    this.#memories = memories;
    this.#standing = standing;
  }

  /** One at a time: a later one must not be written where an earlier one was not. Rejects with StoreError. */
  async write(): Promise<void> {
    // What changes while one is being written is for the next.
    while (this.#writing) await this.#writing.catch(() => {});
    this.#writing = this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    const changes = this.#memories.changes();
    const standing = this.#standing.text;
    const writes = [...changes.writes];
    if (standing !== this.#standingWritten) writes.push(putStanding(this.#memories.lastOutcome, standing));
    if (writes.length > 0) await this.#store.commit(writes);
    this.#memories.written(changes);
    this.#standingWritten = standing;
  }
}
