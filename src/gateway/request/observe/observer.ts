import type { Log } from '../../../host/telemetry/log.ts';
import type { Trace } from '../../../host/telemetry/trace.ts';
import { RequestContext, type RequestRule } from '../request-context.ts';
import { requestSpan } from './spans.ts';
import { isTurnedAway, strangersLimit } from './strangers.ts';

/** Reports a request that has ended: in the log, metrics or a trace. `now`: ms on the gateway's clock. */
export type RequestReporter = (request: RequestContext, now: number) => void;

interface ObserverOptions {
  /** Begins the trace of a request; null while nothing is traced. */
  readonly trace: ((headers: Headers) => Trace) | null;
  /** The reporters of all requests. */
  readonly reporters: readonly RequestReporter[];
  /** The reporters of requests that may do work for a model. They report before the others. */
  readonly workReporters: readonly RequestReporter[];
  readonly log: Log;
  /** Milliseconds on a clock whose value never decreases. */
  readonly clock: () => number;
  nextId(): number;
  /** Resolves once all settlements until now are durable, which is the last step of a trace. Never rejects. */
  written(): Promise<unknown>;
}

/**
 * Makes the contexts of requests, and reports each request at its end. Requests that end in one turn of the event loop are reported
 * together after that turn, because reports in a batch run faster than single ones. No method of the observer throws, because a report must
 * not fail a request. State: observer.
 */
export class Observer {
  readonly #options: ObserverOptions;
  /** Limits the traces of unknown callers: anyone can request a sampled trace, and the queue for the collector is short. */
  readonly #strangers = strangersLimit();
  /** The requests that have ended in this turn of the event loop. */
  #ended: RequestContext[] = [];
  #hasFailed = false;

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  /**
   * Makes the context of a request that has just arrived.
   * @param route the pattern of the request's route; `other` for an unknown path
   * @param rule undefined for an unknown path or method
   * @param isTraced whether the request may be traced; false for health checks
   */
  open(origin: Request, route: string, rule: RequestRule | undefined, isTraced: boolean): RequestContext {
    const { nextId, clock, trace } = this.#options;
    const begun = trace && isTraced ? trace(origin.headers) : null;
    begun?.step('admit');
    return new RequestContext(origin, nextId(), clock(), route, rule, begun, this.#end);
  }

  readonly #end = (request: RequestContext): void => {
    request.endedAt = this.#options.clock();
    if (request.trace?.isSampled) this.#try(this.#endTrace, request);
    if (this.#ended.push(request) === 1) setImmediate(this.#reportEnded);
  };

  readonly #reportEnded = (): void => {
    const { reporters, workReporters } = this.#options;
    const ended = this.#ended;
    this.#ended = [];
    for (const report of workReporters) for (const request of ended) if (request.hasWork) this.#try(report, request);
    for (const report of reporters) for (const request of ended) this.#try(report, request);
  };

  /** If a reporter throws, the other reporters must still report. */
  #try(report: RequestReporter, request: RequestContext): void {
    try {
      report(request, request.endedAt);
    } catch (cause) {
      if (this.#hasFailed) return;
      this.#hasFailed = true;
      const message =
        'a request could not be added to the log, metrics or traces; further failures of this kind are not logged';
      this.#options.log.error(message, { error: String(cause) });
    }
  }

  readonly #endTrace: RequestReporter = (request, now) => {
    if (request.caller === null && isTurnedAway(request) && this.#strangers(now) === null) return;
    const { trace, exchange } = request;
    const span = requestSpan(request);
    // The trace's last step ends when the charge is on the disk.
    if (exchange.result) void this.#options.written().then(() => trace?.end(span));
    else trace?.end(span);
  };
}
