import type { ProviderFailure } from '../../contract/parts.ts';
import type { SpreadRecord } from '../../core/decision/attempt.ts';
import type { Decision, RankedModel } from '../../core/decision/decision.ts';
import { type RankedUpstream, type Upstream, type UpstreamTable, upstreamAt } from '../../policy/runtime/upstream.ts';
import { arePooled, inTurn, isOfKey } from './key-turns.ts';

/** The longest pause before a retry of the same endpoint, with full jitter, ms. */
const PAUSE_MAX_MS = 250;
/** A failure after this time, ms, has cost the caller as much time as a timeout, so another endpoint is tried next. */
const QUICK_MS = 1_000;
/**
 * The longest wait for a failed endpoint if no other is left, ms. If the wait would be longer, the caller gets the error of the endpoint
 * and can retry later.
 */
const WAIT_MAX_MS = 5_000;
/** The wait for the room of a full endpoint is longer by up to this time, ms, so that waiting requests do not all come at once. */
const ROOM_JITTER_MS = 50;
/**
 * How often a retry budget may deny a retry before the plan gives up. While the plan waits, other requests may show that the provider is
 * up.
 */
const DENIALS_MAX = 4;

const NO_MODELS: readonly number[] = [];
const NO_ENDPOINTS: readonly number[] = [];

/** The next attempt of a plan, until the plan returns another. */
export interface PlannedAttempt {
  readonly way: RankedUpstream;
  /** Whether the endpoint was already tried. */
  readonly again: boolean;
  /** Whether the endpoint is tried although its circuit breaker is open, because nothing else is left. */
  readonly force: boolean;
  /** The wait before the attempt, ms. */
  readonly waitMs: number;
  /** How the endpoint was chosen; absent if the endpoints of its model are tried in their order. */
  readonly spread: SpreadRecord | undefined;
}

/** An endpoint that was chosen among several. */
export interface SpreadPick {
  /** The index of the endpoint in its model. */
  readonly at: number;
  readonly record: SpreadRecord;
}

/** Chooses among the endpoints of a model that has several. */
export interface EndpointChoice {
  /** Whether the requests for a model are spread over its endpoints. */
  isSpread(ranked: RankedModel): boolean;
  /**
   * Chooses the next endpoint of a model whose requests are spread.
   * @param left the indexes of the endpoints that were not tried, at least one
   * @param draw the number of the choice in this request, from 0
   */
  pick(ranked: RankedModel, left: readonly number[], draw: number): SpreadPick;
  /** Returns the account at which the conversation stays, for the keys of a pool; null for none. */
  stayAt(pool: readonly Upstream[]): string | null;
}

interface Branch extends PlannedAttempt {
  /**
   * `shut`: the circuit breaker ejected the endpoint; `denied`: the retry budget denied a retry, or the provider failed with another key;
   * `failed`: the endpoint had a temporary fault; `full`: the endpoint has used its limits; `done`: the endpoint is not tried any more.
   */
  state: 'open' | 'shut' | 'denied' | 'failed' | 'full' | 'done';
  again: boolean;
  force: boolean;
  waitMs: number;
  /** The number of failed attempts. */
  tries: number;
  /** When the endpoint may be tried again, ms on the plan's clock. */
  readyAt: number;
  /** Whether the last failure took so long that other endpoints are tried first. */
  isSlow: boolean;
  /** Whether the endpoint was tried again after the wait for room. */
  isLast: boolean;
}

interface PlanOptions {
  /** The most attempts at each endpoint in addition to the first. */
  readonly retriesMax: number;
  readonly clock: () => number;
  /** Returns a number from 0 up to, but not including, 1. */
  readonly random: () => number;
  /** Absent if the endpoints of each model are tried in their order. */
  readonly choice?: EndpointChoice;
}

/**
 * The order in which endpoints are tried until one sends content: the endpoints of the choice, then the endpoints of each fallback. After a
 * temporary fault, an endpoint is tried once more at once. When all endpoints have failed, ejected endpoints are tried, then failed
 * endpoints that may be ready again within seconds. The plan knows no deadlines and no funds: to skip an endpoint, the exchange calls
 * `next` again.
 */
export class Plan {
  readonly #decision: Pick<Decision, 'ranked' | 'lastResorts'>;
  readonly #upstreams: UpstreamTable;
  readonly #options: PlanOptions;
  /** The branches that `next` has returned. */
  readonly #branches: Branch[] = [];
  /** The position of the model of the next branch, among the ranked models and the last resorts. */
  #model = 0;
  /** The endpoints of that model that are left, in the order in which they are tried; null before the first. */
  #left: readonly number[] | null = null;
  /** How often an endpoint of a spread model was chosen. */
  #draws = 0;
  /** The models of which no endpoint is tried any more. */
  #dropped = NO_MODELS;
  /** The upstreams whose provider was at fault. The other keys of their pools are tried last. */
  readonly #faulty: Upstream[] = [];
  #retries = 0;
  #waits = 0;
  #denials = 0;
  /** When the plan stops waiting for full endpoints, ms on the plan's clock; 0 before the first full endpoint. */
  #roomBy = 0;
  /** The branch that `next` returned last. */
  #current: Branch | null = null;

  /** @param upstreams by model, then by endpoint, as a runtime has them */
  constructor(decision: Pick<Decision, 'ranked' | 'lastResorts'>, upstreams: UpstreamTable, options: PlanOptions) {
    this.#decision = decision;
    this.#upstreams = upstreams;
    this.#options = options;
  }

  /** Returns the next attempt of the plan; null when nothing is left to try. */
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
    return this.#later();
  }

  /** Whether anything is left to try except the step that `next` just returned. */
  get hasOthers(): boolean {
    if (this.#nextModel() !== null) return true;
    for (const one of this.#branches) if (one !== this.#current && UNTRIED.has(one.state)) return true;
    return false;
  }

  /** Notes that the endpoint's circuit breaker does not allow an attempt now. */
  shut(): void {
    const current = this.#current!;
    // If an endpoint is refused a second time, the reason is not an ejection, and the refusal will not end soon.
    const isFirst = current.state === 'open' || (current.state === 'full' && !current.force && current.tries === 0);
    current.state = isFirst ? 'shut' : 'done';
  }

  /** Notes that the endpoint has used its limits. @param waitMs the time until it may have room */
  full(waitMs: number): void {
    const current = this.#current!;
    const now = this.#options.clock();
    if (this.#roomBy === 0) this.#roomBy = now + WAIT_MAX_MS;
    current.state = 'full';
    current.readyAt = now + waitMs;
  }

  /** Notes that the provider's retry budget has no retry left for this attempt. */
  denied({ again, force }: PlannedAttempt): void {
    const isLast = again || force || ++this.#denials > DENIALS_MAX;
    this.#current!.state = isLast ? 'done' : 'denied';
  }

  /** Notes that the funds have no money for an attempt at the endpoint. */
  drop(): void {
    this.#current!.state = 'done';
  }

  /** Notes that the other endpoints of the model would give the same answer or error, so that none of them is tried any more. */
  dropModel(): void {
    const { model } = this.#current!.way.ranked;
    for (const branch of this.#branches) if (branch.way.ranked.model === model) branch.state = 'done';
    this.#dropped = [...this.#dropped, model];
  }

  /**
   * Notes that the attempt failed.
   * @param waitMs the time until the endpoint may be tried again; 0 for at once, null if this request should not try the endpoint again
   */
  failed({ kind }: ProviderFailure, waitMs: number | null, tookMs = 0): void {
    const current = this.#current!;
    if (!isOfKey({ kind })) this.#faulty.push(current.way.upstream);
    current.tries++;
    current.isSlow = tookMs > QUICK_MS;
    // The prompt is as long for the other endpoints and keys of the model.
    if (kind === 'context') this.dropModel();
    if (waitMs === null || LASTING.has(kind)) {
      current.state = 'done';
      return;
    }
    current.state = 'failed';
    current.readyAt = waitMs > 0 ? this.#options.clock() + waitMs : 0;
  }

  /** Returns the model of the next untried endpoint. It is computed on demand, because most requests need only one endpoint. */
  #nextModel(): RankedModel | null {
    const { ranked, lastResorts } = this.#decision;
    for (;;) {
      const one = ranked[this.#model] ?? lastResorts[this.#model - ranked.length];
      if (!one) return null;
      const { length } = this.#left ?? one.endpoints;
      if (length > 0 && !this.#dropped.includes(one.model)) return one;
      this.#model++;
      this.#left = null;
    }
  }

  #fresh(): Branch | null {
    for (let ranked = this.#nextModel(); ranked !== null; ranked = this.#nextModel()) {
      const branch = this.#take(ranked);
      this.#branches.push(branch);
      if (!this.#isLate(branch.way.upstream)) return branch;
      branch.state = 'denied';
    }
    return null;
  }

  /** Whether the provider was at fault with another key of the pool. */
  #isLate(upstream: Upstream): boolean {
    for (const one of this.#faulty) if (one.model === upstream.model && arePooled(one, upstream)) return true;
    return false;
  }

  /** Takes the next endpoint of a model. */
  #take(ranked: RankedModel): Branch {
    const { choice } = this.#options;
    const { endpoints } = ranked;
    const picked = choice?.isSpread(ranked) ? choice.pick(ranked, this.#left ?? endpoints, this.#draws++) : null;
    const left = this.#left ?? (picked || endpoints.length < 2 ? endpoints : this.#ordered(ranked));
    const at = picked?.at ?? left[0]!;
    this.#left = left.length === 1 ? NO_ENDPOINTS : without(left, at);
    return {
      way: { ranked, upstream: upstreamAt(this.#upstreams, ranked.model, at) },
      spread: picked?.record,
      state: 'open',
      again: false,
      force: false,
      waitMs: 0,
      tries: 0,
      readyAt: 0,
      isSlow: false,
      isLast: false,
    };
  }

  #ordered({ model, endpoints }: RankedModel): readonly number[] {
    return inTurn(endpoints, this.#upstreams[model] ?? [], (pool) => this.#options.choice?.stayAt(pool) ?? null);
  }

  #first(wanted: Branch['state']): Branch | undefined {
    return this.#branches.find(({ state }) => state === wanted);
  }

  #mayRetry(): boolean {
    return this.#retries < this.#options.retriesMax;
  }

  /** Returns the failed or full endpoint that is ready first, after a wait with jitter. */
  #later(): PlannedAttempt | null {
    const now = this.#options.clock();
    const mayRetry = this.#mayRetry();
    const waiting = this.#branches.filter(({ state }) => state === 'full' || (state === 'failed' && mayRetry));
    const [first] = waiting.sort((a, b) => a.readyAt - b.readyAt);
    if (!first) return null;
    if (first.state === 'full') {
      const roomMs = Math.max(0, first.readyAt - now) + this.#options.random() * ROOM_JITTER_MS;
      if (now + roomMs <= this.#roomBy) return this.#hand(first, first.tries > 0, first.force, roomMs);
      return this.#lastRoom();
    }
    const spread = Math.min(WAIT_MAX_MS, PAUSE_MAX_MS * 2 ** this.#waits++);
    const waitMs = Math.max(0, first.readyAt - now) + this.#options.random() * spread;
    return waitMs > WAIT_MAX_MS ? null : this.#retry(first, waitMs);
  }

  /** Returns a full endpoint that has got room since it was tried. After the wait for room, each is tried once more. */
  #lastRoom(): PlannedAttempt | null {
    const roomy = this.#branches.find(({ state, isLast, way: { ranked, upstream } }) => {
      return state === 'full' && !isLast && upstream.room?.hasRoom(Math.ceil(ranked.tokens));
    });
    if (!roomy) return null;
    roomy.isLast = true;
    return this.#hand(roomy, roomy.tries > 0, roomy.force, 0);
  }

  #retry(branch: Branch, waitMs: number): PlannedAttempt {
    this.#retries++;
    return this.#hand(branch, true, false, waitMs);
  }

  #hand(branch: Branch, again: boolean, force: boolean, waitMs: number): PlannedAttempt {
    this.#current = branch;
    branch.again = again;
    branch.force = force;
    branch.waitMs = waitMs;
    return branch;
  }
}

const without = (endpoints: readonly number[], tried: number): readonly number[] =>
  endpoints.filter((at) => at !== tried);

const UNTRIED: ReadonlySet<Branch['state']> = new Set(['shut', 'denied']);

/** Whether the same endpoint is tried next: it failed once, quickly, with a temporary fault, and requests no pause. */
const isQuick = ({ state, tries, readyAt, isSlow }: Branch): boolean =>
  state === 'failed' && tries === 1 && readyAt === 0 && !isSlow;

/**
 * The failures after which the same endpoint is not tried again at once, because the failure is likely to repeat. A timeout might not
 * repeat, but a second attempt would take too much time.
 */
const LASTING: ReadonlySet<ProviderFailure['kind']> = new Set([
  'auth',
  'credit',
  'not_found',
  'context',
  'rejected',
  'timeout',
]);
