import type { Timer, Timers } from '../../core/time/timers.ts';
import type { Lead } from '../../store/leaders.ts';
import type { Repositories } from '../../store/repositories.ts';
import { isUnmet, type Store } from '../../store/store.ts';
import { QuestionLengths } from './question-lengths.ts';

const SAVE_EVERY_MS = 60_000;

interface KeptLengthsOptions {
  readonly store: Pick<Store, 'commit'> & Pick<Repositories, 'learning'>;
  /** Whether this instance stores its lengths. */
  readonly lead: Lead;
  readonly timers: Timers;
  /** A function that is called if the lengths could not be stored. The next attempt stores the lengths. */
  readonly onError: (error: unknown) => void;
}

/** The lengths of questions on a server. They are stored, so that they survive a restart. */
export class KeptLengths extends QuestionLengths {
  readonly #options: KeptLengthsOptions;
  readonly #saving: Timer;

  constructor(options: KeptLengthsOptions, stored: Uint8Array | null) {
    super(stored);
    this.#options = options;
    this.#saving = options.timers.every(SAVE_EVERY_MS, () => void this.#store().catch(options.onError));
    this.#saving.unref();
  }

  /** Reads the stored lengths. Rejects with StoreError. */
  static async open(options: KeptLengthsOptions): Promise<KeptLengths> {
    return new KeptLengths(options, await options.store.learning.lengths.find());
  }

  /** Stores the lengths a last time. Rejects with StoreError. */
  async close(): Promise<void> {
    this.#saving.close();
    await this.#store();
  }

  async #store(): Promise<void> {
    const { store, lead } = this.#options;
    const bytes = lead.isHeld ? this.save() : null;
    if (bytes === null) return;
    try {
      await store.commit([...lead.conditions(), store.learning.lengths.put(bytes)]);
    } catch (cause) {
      this.markUnsaved();
      // If the commit's condition failed, another instance leads now, and stores its own lengths.
      if (!isUnmet(cause)) throw cause;
    }
  }
}
