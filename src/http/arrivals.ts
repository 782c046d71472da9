import type { ErrorCode } from '../core/errors.ts';
import type { Observation } from '../gateway/observe/observation.ts';
import type { Observer } from '../gateway/observe/observer.ts';
import { isGuarded, routeOf } from './guard.ts';
import type { Visit } from './visit.ts';

interface Arrival {
  readonly seen: Observation;
  /** What it was let in with; null until then, and on open routes. */
  visit: Visit | null;
}

/** Whether an error has come up after its caller had left. A defect stays one, and so does what was refused at the door. */
function isDeserted({ signal }: Request, { visit, seen: { settled } }: Arrival, code: ErrorCode): boolean {
  if (visit === null || code === 'internal_error' || !signal.aborted) return false;
  return settled === null || settled.outcome.status === 'abandoned';
}

/** The requests that have come, each with what it was let in with and what is seen of it. */
export class Arrivals {
  readonly #observer: Observer;
  readonly #arrivals = new WeakMap<Request, Arrival>();

  constructor(observer: Observer) {
    this.#observer = observer;
  }

  /** A request has come, and nothing of it was looked at yet. */
  come(request: Request): Observation {
    const seen = this.#observer.begin(request, () => isGuarded(request));
    this.#arrivals.set(request, { seen, visit: null });
    return seen;
  }

  /** It was let in. It is over once its visit is, which may be long after its handler is done. */
  letIn(request: Request, visit: Visit): void {
    const arrival = this.#arrivalOf(request);
    const { seen } = arrival;
    arrival.visit = visit;
    visit.whenOver(() => {
      seen.route = visit.route;
      // A wallet is known once it has proved itself.
      seen.keyId ??= visit.caller?.keyId ?? null;
      this.#observer.ended(seen);
    });
  }

  /** Its handler is done, well or with an error; what comes last counts. */
  handled(request: Request, status: number, code: ErrorCode | null): void {
    const arrival = this.#arrivalOf(request);
    const { seen, visit } = arrival;
    // An error that comes of the caller's leaving is neither told to anybody nor anybody's fault.
    const isUntold = code !== null && isDeserted(request, arrival, code);
    seen.status = isUntold ? 0 : status;
    // An error that was kept is answered like any other answer.
    const told = code ?? (seen.isReplayed ? seen.code : null);
    seen.code = isUntold ? null : told;
    if (visit) {
      visit.handled();
      return;
    }
    seen.route = routeOf(request);
    this.#observer.ended(seen);
  }

  readonly visitOf = (request: Request): Visit => {
    const { visit } = this.#arrivalOf(request);
    if (!visit) throw new Error('a request that nobody let in came to a handler');
    return visit;
  };

  readonly seenOf = (request: Request): Observation => this.#arrivalOf(request).seen;

  #arrivalOf(request: Request): Arrival {
    const arrival = this.#arrivals.get(request);
    if (!arrival) throw new Error('a request that nobody saw come came to a handler');
    return arrival;
  }
}
