import type { ProviderFailure } from '../contract/parts.ts';
import type { Decision, RankedModel } from '../core/decision.ts';

/** A retry of the same endpoint comes after up to so long, by full jitter, ms. */
const PAUSE_MAX_MS = 250;
/** What failed later than this has cost the caller's time, as a timeout does: the same endpoint is not next, ms. */
const QUICK_MS = 1_000;
/** When nobody is left, whoever failed gets so long to come to itself, ms; longer waits are the caller's. */
const WAIT_MAX_MS = 5_000;
/** A retry budget is asked so often whether others have shown meanwhile that the provider lives. */
const DENIALS_MAX = 4;

/** An endpoint of one of the decision's models. */
export interface Way {
  readonly ranked: RankedModel;
  /** Index of the endpoint in its model. */
  readonly at: number;
}

/** What to do next. */
export interface Step {
  readonly way: Way;
  /** The way was tried before. */
  readonly again: boolean;
  /** Nothing else is left: a circuit breaker's ejection does not count. */
  readonly force: boolean;
  /** Milliseconds to wait first. */
  readonly waitMs: number;
}

interface Branch {
  readonly way: Way;
  /** `shut`: an ejection was in the way. `denied`: the retry budget. `failed`: by what may pass. `done`: not to be tried any more. */
  state: 'open' | 'shut' | 'denied' | 'failed' | 'done';
  /** Attempts that failed. */
  tries: number;
  /** When it may be tried again, ms on the plan's clock. */
  readyAt: number;
  /** The last failure took so long that others come first. */
  isSlow: boolean;
}

export interface PlanOptions {
  /** Attempts beyond the first of each endpoint, at most. */
  readonly retriesMax: number;
  readonly clock: () => number;
  /** 0 up to 1. */
  readonly random: () => number;
}

/**
 * In which order endpoints are tried until one shows content: the choice's, then those of each fallback; what failed
 * by a passing fault is tried once more at once. When all have failed, ejected ones get their chance, and then whoever
 * may be ready again within seconds. Knows no deadlines and no funds: who asks may pass a step over by asking again.
 */
export class Plan {
  readonly #decision: Decision;
  readonly #options: PlanOptions;
  /** Those that were handed out. */
  readonly #branches: Branch[] = [];
  /** Where the next one stands: its model among the ranked and the last resorts, and its endpoint. */
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

  /** The next step; null when nothing is left. */
  next(): Step | null {
    const { random } = this.#options;
    const current = this.#current;
    if (current && isQuick(current) && this.#mayRetry()) return this.#retry(current, random() * PAUSE_MAX_MS);
    const fresh = this.#fresh();
    if (fresh) return this.#hand(fresh, { again: false, force: false, waitMs: 0 });
    const shut = this.#first('shut');
    if (shut) return this.#hand(shut, { again: false, force: true, waitMs: 0 });
    const denied = this.#first('denied');
    if (denied) return this.#hand(denied, { again: false, force: false, waitMs: random() * PAUSE_MAX_MS });
    return this.#mayRetry() ? this.#later() : null;
  }

  /** Whether anything but the step just handed out is left to try. */
  get hasOthers(): boolean {
    if (this.#peek() !== null) return true;
    return this.#branches.some((one) => one !== this.#current && UNTRIED.has(one.state));
  }

  /** The endpoint may not be tried now. */
  shut(): void {
    const current = this.#current!;
    // The second time it was no ejection that stood in the way, and what did will not pass soon.
    current.state = current.state === 'open' ? 'shut' : 'done';
  }

  /** The provider's retry budget has nothing left for the step. */
  denied({ again, force }: Step): void {
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
    if (waitMs === null || !isPassing(kind)) {
      current.state = 'done';
      return;
    }
    current.state = 'failed';
    current.readyAt = waitMs > 0 ? this.#options.clock() + waitMs : 0;
  }

  /** The endpoint that is next for the first time. Most requests need one: the others are not looked at before. */
  #peek(): Way | null {
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

  /** Of those that failed, who is ready first; with jitter, so that not everybody comes at once. */
  #later(): Step | null {
    const now = this.#options.clock();
    const failed = this.#branches.filter(({ state }) => state === 'failed');
    const [first] = failed.sort((a, b) => a.readyAt - b.readyAt);
    if (!first) return null;
    const spread = Math.min(WAIT_MAX_MS, PAUSE_MAX_MS * 2 ** this.#waits++);
    const waitMs = Math.max(0, first.readyAt - now) + this.#options.random() * spread;
    return waitMs > WAIT_MAX_MS ? null : this.#retry(first, waitMs);
  }

  #retry(branch: Branch, waitMs: number): Step {
    this.#retries++;
    return this.#hand(branch, { again: true, force: false, waitMs });
  }

  #hand(branch: Branch, how: Omit<Step, 'way'>): Step {
    this.#current = branch;
    return { way: branch.way, ...how };
  }
}

const UNTRIED: ReadonlySet<Branch['state']> = new Set(['shut', 'denied']);

/** Whether the same endpoint is next: it failed once, by what may pass, at once, and asks for no time. */
const isQuick = ({ state, tries, readyAt, isSlow }: Branch): boolean =>
  state === 'failed' && tries === 1 && readyAt === 0 && !isSlow;

/** Faults that another attempt at the same endpoint may well not meet. A timeout may: but it has cost too much of the time. */
function isPassing(kind: ProviderFailure['kind']): boolean {
  return kind !== 'auth' && kind !== 'not_found' && kind !== 'context' && kind !== 'rejected' && kind !== 'timeout';
}
