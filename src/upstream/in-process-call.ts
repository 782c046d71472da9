import type { ProviderFailure, StreamPart } from '../contract/parts.ts';
import type { InProcessAdapter, Pause, ProviderCall } from '../contract/provider.ts';
import type { Deadlines } from '../core/snapshot.ts';
import { Completion } from './completion.ts';
import { tidyFailure } from './failures.ts';
import type { UpstreamCall } from './upstream-call.ts';

/** Parts taken at once from an adapter that does not pause. */
const BATCH_MAX = 256;

/** Runs an adapter's own answer under the same deadlines as a call over the wire. */
export class InProcessCall implements UpstreamCall {
  readonly dropped: readonly string[];
  readonly sent = true;
  readonly requestId = null;
  readonly #parts: Iterator<StreamPart | Pause> | null;
  readonly #completion: Completion;
  readonly #deadlines: Deadlines;
  readonly #firstContentBy: number;
  readonly #totalBy: number;
  /** When the last pause ends; pauses follow one another on this schedule, not on the reader's. */
  #due: number;
  /** Length of that pause, in ms. */
  #lastPause = 0;
  #over = false;
  #wake: (() => void) | null = null;

  constructor(adapter: InProcessAdapter, call: ProviderCall, deadlines: Deadlines, totalDeadlineAt: number) {
    this.dropped = droppedBy(adapter, call);
    this.#completion = new Completion(call.request.n ?? 1);
    this.#deadlines = deadlines;
    this.#due = performance.now();
    this.#totalBy = totalDeadlineAt;
    this.#firstContentBy = Math.min(this.#due + deadlines.firstTokenMs, totalDeadlineAt);
    this.#parts = started(adapter, call);
  }

  async read(): Promise<readonly StreamPart[] | null> {
    const batch: StreamPart[] = [];
    while (!this.#over && batch.length === 0) {
      const failure = (await this.#wait()) ?? this.#take(batch);
      if (failure && !this.#over) {
        if (!this.#completion.finished) batch.push({ type: 'failure', failure: tidyFailure(failure, null) });
        this.#end();
      }
    }
    return batch.length > 0 ? batch : null;
  }

  abort(): void {
    this.#end();
    this.#wake?.();
  }

  /** Waits out the pause that is due, or until a deadline that comes before it. */
  async #wait(): Promise<ProviderFailure | null> {
    const now = performance.now();
    const idleBy = Math.max(now, this.#due - this.#lastPause) + this.#deadlines.idleMs;
    const limit = Math.min(this.#completion.started ? idleBy : this.#firstContentBy, this.#totalBy);
    const until = Math.min(this.#due, limit);
    if (until > now) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.ceil(until - now));
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = null;
    }
    const late = this.#due > limit || now > this.#totalBy;
    return late ? { kind: 'timeout', message: 'the answer was too slow' } : null;
  }

  /** Takes parts up to the next pause that is not over yet. */
  #take(batch: StreamPart[]): ProviderFailure | null {
    try {
      for (let taken = 0; taken < BATCH_MAX && !this.#over; taken++) {
        if (!this.#parts) throw new Error('no answer');
        const next = this.#parts.next();
        if (next.done) {
          if (!this.#completion.finished) return { kind: 'cut', message: 'the answer ended without a finish' };
          this.#end();
        } else if (next.value.type === 'pause') {
          this.#lastPause = Math.max(0, next.value.ms);
          this.#due += this.#lastPause;
          if (this.#due > performance.now()) return null;
        } else if (!this.#completion.add(next.value, batch)) {
          if (this.#completion.failure) return this.#completion.failure;
          this.#end();
        }
      }
      return null;
    } catch {
      return { kind: 'server', message: 'the adapter failed' };
    }
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    try {
      this.#parts?.return?.();
    } catch {
      // The call is over either way.
    }
  }
}

/** None where the adapter throws: what it does not heed is a note, and no reason to fail. */
function droppedBy(adapter: InProcessAdapter, call: ProviderCall): readonly string[] {
  try {
    return adapter.dropped?.(call) ?? [];
  } catch {
    return [];
  }
}

/** Null when the adapter throws. */
function started(adapter: InProcessAdapter, call: ProviderCall): Iterator<StreamPart | Pause> | null {
  try {
    return adapter.answer(call)[Symbol.iterator]();
  } catch {
    return null;
  }
}
