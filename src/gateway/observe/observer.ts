import type { Log } from '../../telemetry/log.ts';
import type { Trace } from '../../telemetry/trace.ts';
import { Observation } from './observation.ts';
import { requestSpan } from './spans.ts';
import { isStranger, Strangers } from './strangers.ts';

/** Told of each request once, when it is over. `now`: ms on the gateway's clock. */
export type Witness = (seen: Observation, now: number) => void;

export interface ObserverOptions {
  /** Begins a trace; null while nothing is traced. */
  readonly trace: ((headers: Headers) => Trace) | null;
  readonly witnesses: readonly Witness[];
  readonly log: Log;
  /** Milliseconds on a clock that never goes back. */
  readonly clock: () => number;
  nextId(): number;
  /** Resolves once all settlements so far outlive this process: the last step of a trace. Never rejects. */
  written(): Promise<unknown>;
}

/** Watches requests come and go. What looks on must not fail what it looks at: nothing here throws. */
export class Observer {
  readonly #options: ObserverOptions;
  /** Whose traces are kept: anybody can say that his is sampled, and the queue for the collector is short. */
  readonly #strangers = new Strangers();
  #hasFailed = false;

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  /** A request has come. `isTraced` false: it is one of those that nobody wants to find among traces, such as a probe. */
  begin({ method, headers }: Request, isTraced: () => boolean): Observation {
    const { nextId, clock, trace } = this.#options;
    const begun = trace && isTraced() ? trace(headers) : null;
    begun?.step('admit');
    return new Observation(nextId(), clock(), method, begun);
  }

  /** It is answered, and whatever it began has ended. Harmless after the first time. */
  ended(seen: Observation): void {
    if (seen.isOver) return;
    seen.isOver = true;
    const { clock, witnesses } = this.#options;
    const now = clock();
    // Each for itself: what one cannot tell, the others still do.
    for (let i = 0; i < witnesses.length; i++) this.#tell(witnesses[i]!, seen, now);
    if (seen.trace?.isSampled) this.#tell(this.#endTrace, seen, now);
  }

  #tell(witness: Witness, seen: Observation, now: number): void {
    try {
      witness(seen, now);
    } catch (cause) {
      if (this.#hasFailed) return;
      this.#hasFailed = true;
      const error = String(cause);
      this.#options.log.error('a request could not be reported; further failures of this kind are not logged', {
        error,
      });
    }
  }

  readonly #endTrace: Witness = (seen, now) => {
    if (isStranger(seen) && this.#strangers.next(now) === null) return;
    const { trace, settled } = seen;
    const told = requestSpan(seen);
    // What was charged must be on the disk before anybody is answered: that is a part of the last step.
    if (settled) void this.#options.written().then(() => trace?.end(told));
    else trace?.end(told);
  };
}
