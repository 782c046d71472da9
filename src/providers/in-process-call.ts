import type { ProviderFailure, StreamPart } from '../contract/parts.ts';
import type { InProcessAdapter, Pause, ProviderCall } from '../contract/provider.ts';
import { orElse } from '../core/thrown.ts';
import { AnswerCompletion, USAGE_WAIT_MS } from './completion.ts';
import { sanitizeFailure } from './failures.ts';
import type { CallTerms, NextParts, UpstreamCall } from './upstream-call.ts';

/** The maximum number of parts read at once from an adapter that does not pause. */
const BATCH_MAX = 256;

/** Runs an in-process adapter with the same deadlines as a call over the network. */
export class InProcessCall implements UpstreamCall {
  readonly dropped: readonly string[];
  readonly sent = true;
  readonly requestId = null;
  readonly #parts: Iterator<StreamPart | Pause> | null;
  readonly #completion: AnswerCompletion;
  readonly #terms: CallTerms;
  readonly #firstContentBy: number;
  /** The time at which the last pause ends. The adapter's pauses follow this schedule regardless of the reader's speed. */
  #due: number;
  /** The length of the last pause, in ms. */
  #lastPause = 0;
  /** The time by which the usage must arrive; Infinity until every choice has finished. */
  #usageBy = Number.POSITIVE_INFINITY;
  #over = false;
  /** The wait for the end of a pause: its start, and the deadline at that time. */
  #wait: { readonly since: number; readonly limit: number } | null = null;
  #wake: (() => void) | null = null;

  constructor(adapter: InProcessAdapter, call: ProviderCall, terms: CallTerms) {
    // The list of omitted fields is only informational, so an adapter that throws here does not fail the call.
    this.dropped = orElse(() => adapter.dropped?.(call), undefined) ?? [];
    this.#completion = new AnswerCompletion(call.request.settings.choices ?? 1);
    this.#terms = terms;
    this.#due = performance.now();
    this.#firstContentBy = Math.min(this.#due + terms.deadlines.firstTokenMs, terms.totalBy);
    this.#parts = orElse(() => adapter.answer(call)[Symbol.iterator](), null);
  }

  read(): NextParts {
    const batch: StreamPart[] = [];
    while (!this.#over && batch.length === 0) {
      const waiting = this.#pause();
      if (waiting instanceof Promise) return waiting;
      const failure = waiting ?? this.#take(batch);
      if (failure && !this.#over) {
        if (!this.#completion.finished) batch.push({ type: 'failure', failure: sanitizeFailure(failure, null) });
        this.#end();
      }
    }
    return batch.length > 0 ? batch : null;
  }

  abort(): void {
    this.#end();
    this.#wake?.();
  }

  /**
   * Returns a promise until the end of the current pause or an earlier deadline, a failure if the deadline has passed, or null if there is
   * no pause.
   */
  #pause(): Promise<void> | ProviderFailure | null {
    const now = performance.now();
    this.#wait ??= { since: now, limit: this.#limitAt(now) };
    const { since, limit } = this.#wait;
    const until = Math.min(this.#due, limit);
    if (until > now) return this.#sleep(until - now);
    this.#wait = null;
    const isLate = this.#due > limit || since > this.#terms.totalBy;
    return isLate ? { kind: 'timeout', message: 'the answer was too slow' } : null;
  }

  #limitAt(now: number): number {
    const idleBy = Math.max(now, this.#due - this.#lastPause) + this.#terms.deadlines.idleMs;
    return Math.min(this.#completion.started ? idleBy : this.#firstContentBy, this.#usageBy, this.#terms.totalBy);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#terms.alarms.timers.after(Math.ceil(ms), resolve);
      this.#wake = () => {
        timer.close();
        resolve();
      };
    });
  }

  /** Reads parts up to the next pause that is not over yet. */
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
        } else if (this.#completion.finished) this.#usageBy = Math.min(this.#usageBy, this.#due + USAGE_WAIT_MS);
      }
      return null;
    } catch {
      return { kind: 'server', message: 'the adapter failed' };
    }
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    // The call is over even if the adapter throws while it ends.
    orElse(() => this.#parts?.return?.(), undefined);
  }
}
