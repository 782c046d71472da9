import type { Log } from '../../../host/telemetry/log.ts';
import type { Trace } from '../../../host/telemetry/trace.ts';
import { RequestContext } from '../request-context.ts';
import { requestSpan } from './spans.ts';
import { isTurnedAway, strangersLimit } from './strangers.ts';

/** Reports a request that is over: in the log, metrics or a trace. `now`: ms on the gateway's clock. */
export type RequestReporter = (request: RequestContext, now: number) => void;

interface ObserverOptions {
  /** Begins a trace; null while nothing is traced. */
  readonly trace: ((headers: Headers) => Trace) | null;
  readonly reporters: readonly RequestReporter[];
  readonly log: Log;
  /** Milliseconds on a clock that never goes back. */
  readonly clock: () => number;
  nextId(): number;
  /** Resolves once all settlements so far outlive this process: the last step of a trace. Never rejects. */
  written(): Promise<unknown>;
}

/**
 * Makes the contexts of requests and has each reported at its end. Requests that end in one turn of the event loop are reported
 * together behind it: the code of a report is then warm for all but the first. Nothing here throws: a report must not fail a
 * request. State: observer.
 */
export class Observer {
  readonly #options: ObserverOptions;
  /** Bounds the traces of strangers: any caller can ask for a sampled one, and the queue for the collector is short. */
  readonly #strangers = strangersLimit();
  /** Requests that have ended in this turn. */
  #ended: RequestContext[] = [];
  #hasFailed = false;

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  /**
   * Makes the context of a request that has just arrived.
   * @param route pattern of its route
   * @param isTraced whether it may be traced; false for probes
   */
  open(request: Request, route: string, isTraced: boolean): RequestContext {
    const { nextId, clock, trace } = this.#options;
    const begun = trace && isTraced ? trace(request.headers) : null;
    begun?.step('admit');
    return new RequestContext(request, nextId(), clock(), route, begun, this.#end);
  }

  readonly #end = (request: RequestContext): void => {
    request.endedAt = this.#options.clock();
    if (request.trace?.isSampled) this.#try(this.#endTrace, request);
    if (this.#ended.push(request) === 1) setImmediate(this.#reportEnded);
  };

  readonly #reportEnded = (): void => {
    const { reporters } = this.#options;
    const ended = this.#ended;
    this.#ended = [];
    for (const report of reporters) for (const request of ended) this.#try(report, request);
  };

  /** One reporter's defect must not keep the others from reporting. */
  #try(report: RequestReporter, request: RequestContext): void {
    try {
      report(request, request.endedAt);
    } catch (cause) {
      if (this.#hasFailed) return;
      this.#hasFailed = true;
      const message = 'a request could not be reported; further failures of this kind are not logged';
      this.#options.log.error(message, { error: String(cause) });
    }
  }

  readonly #endTrace: RequestReporter = (request, now) => {
    if (request.caller === null && isTurnedAway(request) && this.#strangers(now) === null) return;
    const { trace, result } = request;
    const span = requestSpan(request);
    // The last step ends when the charge is on the disk.
    if (result) void this.#options.written().then(() => trace?.end(span));
    else trace?.end(span);
  };
}
