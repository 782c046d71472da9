import type { ProviderFailure } from '../../contract/parts.ts';
import { HEALTH, type HealthState } from '../../core/readings.ts';
import { Breaker } from './breaker.ts';
import { CoolDown } from './cool-down.ts';
import { Figures } from './figures.ts';
import { Lockout } from './lockout.ts';
import { RetryBudget } from './retry-budget.ts';
import { Attempted } from './trial.ts';
import type { AttemptOutcome, EndpointHealth, EndpointSample, HealthOptions, Trial } from './types.ts';

/** A key that was refused is tried again after this time, in ms, by one attempt. */
const MISCONFIGURED_MS = 60_000;
/** So many doubtful refusals in a row are believed of an endpoint that has served. */
const DOUBTFUL_IN_A_ROW = 5;

/** What the endpoints of one process share. */
export interface Hub extends HealthOptions {
  /** Counts what the readings must show at once. */
  version: number;
  /** Whether a policy is in force; without one every endpoint counts as named. */
  hasPolicy: boolean;
}

/** What holds for a whole provider. */
export class ProviderState {
  readonly name: string;
  readonly id: string;
  readonly endpoints = new Set<Endpoint>();
  readonly budget = new RetryBudget();
  /** Locked while the provider refuses our key. */
  readonly key = new Lockout();
  /** Whether it has ever taken it. */
  hasWorked = false;
  /** Why it is locked. */
  why = '';

  /** `id`: what the registry knows it by. */
  constructor(name: string, id: string) {
    this.name = name;
    this.id = id;
  }
}

export class Endpoint implements EndpointHealth {
  readonly provider: ProviderState;
  readonly upstream: string;
  readonly model: string;
  readonly hub: Hub;
  readonly breaker: Breaker;
  readonly coolDown = new CoolDown();
  /** Locked while the provider refuses our key for this endpoint, though it takes it for others. */
  readonly key = new Lockout();
  readonly figures: Figures;
  /** Whether the policy in force names it; and when one last did, ms. */
  isNamed = false;
  namedAt: number;
  readonly #attempts = new Map<AttemptOutcome, number>();
  #retries = 0;
  #retriesDenied = 0;
  #ejections = 0;
  #hasWorked = false;
  #doubts = 0;
  /** The state that was told last. */
  #told: HealthState = 'healthy';
  readonly #why = { ejected: '', cooling: '', misconfigured: '' };

  constructor(provider: ProviderState, upstream: string, model: string, hub: Hub, figures = new Figures()) {
    this.provider = provider;
    this.figures = figures;
    this.upstream = upstream;
    this.model = model;
    this.hub = hub;
    this.breaker = new Breaker(hub.random);
    this.namedAt = hub.clock();
    provider.endpoints.add(this);
  }

  begin({ retry, force }: { readonly retry: boolean; readonly force: boolean }): Trial | 'shut' | 'no-budget' {
    const now = this.hub.clock();
    const { provider } = this;
    if (provider.key.shut(now) || this.key.shut(now) || now < this.coolDown.until) return 'shut';
    if (!force && this.breaker.lock.shut(now)) return 'shut';
    if (!provider.budget.begin(retry)) {
      this.#retriesDenied++;
      return 'no-budget';
    }
    if (retry) this.#retries++;
    return new Attempted(this, retry, now);
  }

  get state(): HealthState {
    return NAMES[this.healthAt(this.hub.clock())]!;
  }

  get retryAt(): number {
    return this.retryAtUnix(this.hub.clock());
  }

  /** A figure of `HEALTH`: what stands in the way at this time. */
  healthAt(now: number): number {
    if (this.provider.key.shut(now) || this.key.shut(now)) return HEALTH.misconfigured;
    if (now < this.coolDown.until) return HEALTH.cooling;
    return this.breaker.lock.shut(now) ? HEALTH.ejected : HEALTH.healthy;
  }

  /** When nothing will stand in the way, Unix ms; 0 when nothing does now. */
  retryAtUnix(now: number): number {
    let until = this.coolDown.until;
    if (this.provider.key.locked) until = Math.max(until, this.provider.key.until);
    if (this.key.locked) until = Math.max(until, this.key.until);
    if (this.breaker.lock.locked) until = Math.max(until, this.breaker.lock.until);
    return until > now ? Math.ceil(this.hub.now() + until - now) : 0;
  }

  /** When `healthAt` will next differ if nothing happens; infinite for never. */
  nextChange(now: number): number {
    let next = Number.POSITIVE_INFINITY;
    if (now < this.coolDown.until) next = this.coolDown.until;
    if (this.provider.key.shut(now)) next = Math.min(next, this.provider.key.until);
    if (this.key.shut(now)) next = Math.min(next, this.key.until);
    return this.breaker.lock.shut(now) ? Math.min(next, this.breaker.lock.until) : next;
  }

  /** The first content of an attempt came: the key is good, the budget full, and the breaker closes if it was open. */
  works(trial: Attempted, now: number): void {
    const { provider } = this;
    provider.budget.succeeded(trial.isRetry);
    provider.hasWorked = true;
    this.#hasWorked = true;
    this.#doubts = 0;
    this.coolDown.succeeded(trial.coolDownEpoch);
    const closed = this.breaker.answered(trial.breakerEpoch, now);
    // It is the one attempt from before the closing whose end still counts.
    if (closed) trial.breakerEpoch = this.breaker.lock.epoch;
    // An answer to what was sent before the refusal says nothing of the key that was refused since.
    const isWide = provider.key.locked && trial.providerEpoch === provider.key.epoch;
    const isOwn = this.key.locked && trial.keyEpoch === this.key.epoch;
    // Forgotten by a reload, and good: that is told only now.
    const isMended = this.#told === 'misconfigured' && !provider.key.locked && !this.key.locked;
    if (!closed && !isWide && !isOwn && !isMended) return;
    if (isWide) provider.key.unlock();
    if (isOwn) this.key.unlock();
    this.#changed(now, isWide || isMended);
  }

  failed(trial: Attempted, failure: ProviderFailure, blame: boolean, now: number): void {
    switch (failure.kind) {
      case 'rate_limited':
        this.#limited(trial, failure, now);
        break;
      case 'auth':
        this.#refused(trial, failure, now);
        break;
      case 'rejected':
      case 'context':
        break;
      default:
        if (blame) this.#faulty(trial, failure, now);
    }
    this.ended(trial, failure.kind, now);
  }

  /** An attempt is over; a probe that has decided nothing makes way. */
  ended(trial: Attempted, outcome: AttemptOutcome, now: number): void {
    this.#attempts.set(outcome, (this.#attempts.get(outcome) ?? 0) + 1);
    this.provider.budget.ended(trial.isRetry && !trial.hasAnswered);
    if (!trial.isProbe) return;
    this.breaker.lock.release(trial.breakerTurn, now);
    this.key.release(trial.keyTurn, now);
    this.provider.key.release(trial.providerTurn, now);
    this.hub.version++;
  }

  /** Tells of what has ended by time alone. */
  lookAgain(now: number): void {
    if (this.#told === 'cooling') this.#tell(now);
  }

  /** A new policy: a refused key may be good now. Whether it is, the next answer tells. */
  forgetKey(): void {
    this.key.forget();
  }

  sample(): EndpointSample {
    return {
      provider: this.provider.name,
      model: this.model,
      upstream: this.upstream,
      state: this.#told,
      ttftMs: this.figures.ttft.quantiles(),
      warmTtftMs: this.figures.warmTtft.quantiles(),
      tokensPerSecond: this.figures.rate.quantiles(),
      attempts: this.#attempts,
      retries: this.#retries,
      retriesDenied: this.#retriesDenied,
      ejections: this.#ejections,
    };
  }

  #faulty(trial: Attempted, failure: ProviderFailure, now: number): void {
    const ejection = this.breaker.failed(trial.breakerEpoch, trial.breakerTurn, now);
    if (ejection === null) return;
    this.#ejections++;
    this.#why.ejected = `${ejection.why}; the last: ${textOf(failure)}`;
    this.#changed(now, false, 'ejected');
  }

  #limited(trial: Attempted, failure: ProviderFailure, now: number): void {
    if (this.coolDown.limited(trial.coolDownEpoch, now, failure.retryAfterMs) === null) return;
    this.#why.cooling = textOf(failure);
    this.#changed(now, false);
  }

  /**
   * The key was refused. A 401 says so for all of the provider; unless others there have been let in and this endpoint
   * never was: then the key lacks a right for it alone. Anything else may be about what the caller sent (a 403 of a
   * moderation, a 402 for an answer too long, a 400 that repeats a prompt about keys). Nobody's request may shut out
   * those of others.
   */
  #refused(trial: Attempted, failure: ProviderFailure, now: number): void {
    const { provider } = this;
    const isDoubtful = failure.status !== 401;
    const isAlone = provider.hasWorked && !this.#hasWorked && !provider.key.isProbe(trial.providerTurn);
    const isOwn = isDoubtful || isAlone;
    const lock = isOwn ? this.key : provider.key;
    // What was sent before the last refusal, or under an earlier policy, was sent with what we know to be bad.
    if ((isOwn ? trial.keyEpoch : trial.providerEpoch) !== lock.epoch) return;
    if (isDoubtful && this.#hasWorked && ++this.#doubts < DOUBTFUL_IN_A_ROW) return;
    // Doubt does not take back that it has served: the next doubtful refusal alone must not shut it again.
    if (!isDoubtful) this.#hasWorked = false;
    // A 401 for all: what was let in before was let in with what is refused now.
    if (!isOwn) provider.hasWorked = false;
    this.#doubts = 0;
    lock.lock(now, MISCONFIGURED_MS);
    if (isOwn) this.#why.misconfigured = textOf(failure);
    else provider.why = textOf(failure);
    this.#changed(now, !isOwn, 'misconfigured');
  }

  /** The readings must show it, and whoever listens hears of it; `again`: even if it was told that state before. */
  #changed(now: number, isWide: boolean, again?: HealthState): void {
    this.hub.version++;
    this.#tell(now, again);
    if (isWide) for (const one of this.provider.endpoints) if (one !== this) one.#tell(now);
  }

  #tell(now: number, again?: HealthState): void {
    const to = this.#certain(now);
    const from = this.#told;
    if (to === from && to !== again) return;
    this.#told = to;
    // What no policy in force names is nobody's news: a removed model, or one of a policy that was refused.
    if (this.hub.hasPolicy && !this.isNamed) return;
    const { model, upstream, provider } = this;
    if (to === 'healthy') {
      this.hub.onChange({ provider: provider.name, model, upstream, from, to, why: null, forMs: null });
      return;
    }
    const why = to === 'misconfigured' && provider.key.locked ? provider.why : this.#why[to];
    const forMs = Math.max(0, Math.round(this.#untilOf(to) - now));
    this.hub.onChange({ provider: provider.name, model, upstream, from, to, why, forMs });
  }

  /** As `healthAt`, but an ejection and a refused key last until an answer came. */
  #certain(now: number): HealthState {
    if (this.provider.key.locked || this.key.locked) return 'misconfigured';
    if (now < this.coolDown.until) return 'cooling';
    return this.breaker.lock.locked ? 'ejected' : 'healthy';
  }

  #untilOf(state: Exclude<HealthState, 'healthy'>): number {
    if (state === 'ejected') return this.breaker.lock.until;
    if (state === 'cooling') return this.coolDown.until;
    return this.provider.key.locked ? this.provider.key.until : this.key.until;
  }
}

const NAMES = Object.keys(HEALTH) as readonly HealthState[];

/** Without the words of the upstream: some repeat what they were asked. */
const textOf = ({ kind, status }: ProviderFailure): string => (status === undefined ? kind : `${kind} ${status}`);
