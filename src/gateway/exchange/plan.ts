import type { ProviderFailure } from '../../contract/parts.ts';
import type { Decision, RankedEndpoint } from '../../core/decision.ts';

/** The longest pause before a retry of the same endpoint, with full jitter, ms. */
const PAUSE_MAX_MS = 250;
/** A failure after this time, ms, has cost the caller as much as a timeout: another endpoint is next. */
const QUICK_MS = 1_000;
/** The longest wait for a failed endpoint when no other is left, ms. A longer wait is left to the caller. */
const WAIT_MAX_MS = 5_000;
/** Denials by a retry budget before the plan stops asking it. Other requests may show meanwhile that the provider is up. */
const DENIALS_MAX = 4;

/** The next attempt of a plan. */
export interface PlannedAttempt {
  readonly way: RankedEndpoint;
  /** Whether the endpoint was tried before. */
  readonly again: boolean;
  /** Whether it is tried in spite of its circuit breaker, because nothing else is left. */
  readonly force: boolean;
  /** Milliseconds to wait first. */
  readonly waitMs: number;
}

interface Branch {
  readonly way: RankedEndpoint;
  /** `shut`: ejected; `denied`: by the retry budget; `failed`: by a passing fault; `done`: not tried any more. */
  state: 'open' | 'shut' | 'denied' | 'failed' | 'done';
  /** Attempts that failed. */
  tries: number;
  /** When it may be tried again, ms on the plan's clock. */
  readyAt: number;
  /** The last failure took so long that others come first. */
  isSlow: boolean;
}

interface PlanOptions {
  /** Attempts beyond the first of each endpoint, at most. */
  readonly retriesMax: number;
  readonly clock: () => number;
  /** 0 up to 1. */
  readonly random: () => number;
}

/**
 * The order in which endpoints are tried until one shows content: those of the choice, then those of each fallback. An
 * endpoint with a passing fault is tried once more at once. When all have failed, ejected endpoints are tried, then those
 * that may be ready again within seconds. The plan knows no deadlines and no funds: a caller skips a step by asking again.
 */
export class Plan {
  readonly #decision: Decision;
  readonly #options: PlanOptions;
  /** The branches that were handed out. */
  readonly #branches: Branch[] = [];
  /** The place of the next branch: its model among the ranked and the last resorts, and its endpoint. */
  #model = 0;
  #endpoint = 0;
  #retries = 0;
  #waits = 0;
  #denials = 0;
  /** The branch that was handed out last. */
  #current: Branch | null = null;

  constructor(decision: Decision, options: PlanOptions) {
    this.#decision = decision;
    this.#options = options;
  }

  /** Returns the next step; null when nothing is left. */
  next(): PlannedAttempt | null {
    const { random } = this.#options;
    const current = this.#current;
    if (current && isQuick(current) && this.#mayRetry()) return this.#retry(current, random() * PAUSE_MAX_MS);
    const fresh = this.#fresh();
    if (fresh) return this.#hand(fresh, false, false, 0);
    const shut = this.#first('shut');
    if (shut) return this.#hand(shut, false, true, 0);
    const denied = this.#first('denied');
    if (denied) return this.#hand(denied, false, false, random() * PAUSE_MAX_MS);
    return this.#mayRetry() ? this.#later() : null;
  }

  /** Whether anything but the step just handed out is left to try. */
  get hasOthers(): boolean {
    if (this.#peek() !== null) return true;
    for (const one of this.#branches) if (one !== this.#current && UNTRIED.has(one.state)) return true;
    return false;
  }

  /** The endpoint may not be tried now. */
  shut(): void {
    const current = this.#current!;
    // The second time the obstacle is not an ejection, and will not pass soon.
    current.state = current.state === 'open' ? 'shut' : 'done';
  }

  /** The provider's retry budget has no retry left for the step. */
  denied({ again, force }: PlannedAttempt): void {
    const isLast = again || force || ++this.#denials > DENIALS_MAX;
    this.#current!.state = isLast ? 'done' : 'denied';
  }

  /** There is no money for the endpoint. */
  drop(): void {
    this.#current!.state = 'done';
  }

  /** The attempt failed. `waitMs`: until its endpoint may be tried again; 0 for at once, null for not by this request. */
  failed({ kind }: ProviderFailure, waitMs: number | null, tookMs = 0): void {
    const current = this.#current!;
    current.tries++;
    current.isSlow = tookMs > QUICK_MS;
    if (waitMs === null || LASTING.has(kind)) {
      current.state = 'done';
      return;
    }
    current.state = 'failed';
    current.readyAt = waitMs > 0 ? this.#options.clock() + waitMs : 0;
  }

  /** Returns the next untried endpoint. Computed on demand: most requests need only one. */
  #peek(): RankedEndpoint | null {
    const { ranked, lastResorts } = this.#decision;
    for (;;) {
      const one = ranked[this.#model] ?? lastResorts[this.#model - ranked.length];
      if (!one) return null;
      const at = one.endpoints[this.#endpoint];
      if (at !== undefined) return { ranked: one, at };
      this.#model++;
      this.#endpoint = 0;
    }
  }

  #fresh(): Branch | null {
    const way = this.#peek();
    if (!way) return null;
    this.#endpoint++;
    const branch: Branch = { way, state: 'open', tries: 0, readyAt: 0, isSlow: false };
    this.#branches.push(branch);
    return branch;
  }

  #first(wanted: Branch['state']): Branch | undefined {
    return this.#branches.find(({ state }) => state === wanted);
  }

  #mayRetry(): boolean {
    return this.#retries < this.#options.retriesMax;
  }

  /** Returns the failed endpoint that is ready first, after a wait with jitter. */
  #later(): PlannedAttempt | null {
    const now = this.#options.clock();
    const failed = this.#branches.filter(({ state }) => state === 'failed');
    const [first] = failed.sort((a, b) => a.readyAt - b.readyAt);
    if (!first) return null;
    const spread = Math.min(WAIT_MAX_MS, PAUSE_MAX_MS * 2 ** this.#waits++);
    const waitMs = Math.max(0, first.readyAt - now) + this.#options.random() * spread;
    return waitMs > WAIT_MAX_MS ? null : this.#retry(first, waitMs);
  }

  #retry(branch: Branch, waitMs: number): PlannedAttempt {
    this.#retries++;
    return this.#hand(branch, true, false, waitMs);
  }

  #hand(branch: Branch, again: boolean, force: boolean, waitMs: number): PlannedAttempt {
    this.#current = branch;
    return { way: branch.way, again, force, waitMs };
  }
}

const UNTRIED: ReadonlySet<Branch['state']> = new Set(['shut', 'denied']);

/** Whether the same endpoint is next: it failed once, at once, by a passing fault, and asks for no pause. */
const isQuick = ({ state, tries, readyAt, isSlow }: Branch): boolean =>
  state === 'failed' && tries === 1 && readyAt === 0 && !isSlow;

/** Failures that another attempt at the same endpoint is likely to repeat. After a timeout it may succeed, but too much time is gone. */
const LASTING: ReadonlySet<ProviderFailure['kind']> = new Set([
  'auth',
  'credit',
  'not_found',
  'context',
  'rejected',
  'timeout',
]);
