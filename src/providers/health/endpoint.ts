import type { ProviderFailure } from '../../contract/parts.ts';
import { HEALTH, type HealthState } from '../../core/decision/readings.ts';
import type { StoppedBilling } from '../../core/money/abort-billing.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type { EndpointRoom } from '../../core/policy/endpoint-room.ts';
import type { DeclaredLatency } from '../../core/policy/snapshot.ts';
import { isOfProvider } from '../../core/request/failure-kinds.ts';
import type { EndpointName } from '../../store/endpoints.ts';
import { AttemptCounts } from './attempt-counts.ts';
import { Breaker } from './breaker.ts';
import { CoolDown } from './cool-down.ts';
import type { Declarations } from './declarations.ts';
import { EndpointAttempt } from './endpoint-attempt.ts';
import { EndpointSpeed } from './endpoint-speed.ts';
import { Lockout } from './lockout.ts';
import { RetryBudget } from './retry-budget.ts';
import type { NamesByProvider } from './served-names.ts';
import { ShareWindow } from './share-window.ts';
import type {
  AttemptOutcome,
  CountPause,
  EndpointHealth,
  EndpointSample,
  HealthAccount,
  HealthOptions,
  KeyTurn,
} from './types.ts';

/** The time in ms after which one attempt tries a rejected key, or an account without credit, again. */
const REFUSED_MS = 60_000;
/** The number of consecutive doubtful rejections that lock the key of an endpoint that has worked before. */
const DOUBTFUL_IN_A_ROW = 5;

/** The number of minutes that count as recent, including the current one. */
const RECENT_MINUTES = 15;

/** State that all endpoints of one process share. */
export interface Hub extends HealthOptions {
  /** Incremented by every change that readings must show at once. */
  version: number;
  /** Whether a policy is active. While no policy is active, all endpoints count as named by the policy. */
  hasPolicy: boolean;
  readonly declarations: Declarations;
  /** Which models the servers of the operator have. */
  readonly served: NamesByProvider;
}

/** The reason why no attempt may use a key: the provider rejects it, or its account has no credit. */
interface KeyRefusal {
  readonly state: 'misconfigured' | 'out_of_credit';
  /** The reason for the refusal, as the log shows it. */
  readonly why: string;
}

const NO_REFUSAL: KeyRefusal = { state: 'misconfigured', why: '' };

/** The state of a key of a provider. */
export class TrackedProvider {
  readonly id: string;
  /** The name of the provider in logs and metrics. */
  readonly name: string;
  /** The name of the key in its pool; undefined for a provider with one key. */
  label: string | undefined;
  /** The ID of the key with which the server's models are listed. */
  listedBy: string;
  readonly turn: KeyTurn = { credit: 0 };
  readonly endpoints = new Set<TrackedEndpoint>();
  readonly budget = new RetryBudget();
  /** Locked while the provider rejects our key, or our account has no credit. */
  readonly key = new Lockout();
  /** Whether the provider has ever accepted the key. */
  hasWorked = false;
  /** The reason why the key is locked. */
  refusal = NO_REFUSAL;

  /** @param id the name of the key in the registry */
  constructor(id: string, { name, label }: Pick<HealthAccount, 'name' | 'label'>) {
    this.id = id;
    this.name = name;
    this.label = label;
    this.listedBy = id;
  }
}

/** The health of one model at one provider. */
export class TrackedEndpoint implements EndpointHealth {
  readonly provider: TrackedProvider;
  readonly name: EndpointName;
  readonly hub: Hub;
  readonly breaker: Breaker;
  readonly coolDown = new CoolDown();
  /** Locked while the provider rejects our key, or reports too little credit, for this endpoint only. */
  readonly key = new Lockout();
  readonly speed: EndpointSpeed;
  countPause: CountPause | null = null;
  busy = 0;
  recoveredAt = Number.NEGATIVE_INFINITY;
  /** The limits that the active policy states; null for none. */
  room: EndpointRoom | null = null;
  /** Whether the active policy names the endpoint, and when a policy last did, in ms. */
  isNamed = false;
  namedAt: number;
  /** The speed that the active policy declares. */
  declared: DeclaredLatency | null = null;
  readonly #recent = new ShareWindow(RECENT_MINUTES, 60_000);
  /** The tokens of prompts, and the part that the provider read from its cache. */
  readonly #prompts = new ShareWindow(RECENT_MINUTES, 60_000);
  readonly #attempts = new AttemptCounts();
  #retries = 0;
  #retriesDenied = 0;
  #ejections = 0;
  #hasWorked = false;
  #doubts = 0;
  /** The last state that was reported. */
  #reported: HealthState = 'healthy';
  /** The time at which the reported state last changed, in Unix ms; 0 if it never did. */
  #reportedAt = 0;
  /** The reason why the key is locked for this endpoint only. */
  #refusal = NO_REFUSAL;
  readonly #why = { ejected: '', cooling: '' };
  /** The locks that an answer releases. */
  readonly #locks: readonly Lockout[];

  constructor(provider: TrackedProvider, name: EndpointName, hub: Hub, speed = new EndpointSpeed()) {
    this.provider = provider;
    this.speed = speed;
    this.name = name;
    this.hub = hub;
    this.breaker = new Breaker(hub.random);
    this.#locks = [provider.key, this.key, this.breaker.lock];
    this.namedAt = hub.clock();
    provider.endpoints.add(this);
  }

  begin({ retry, force }: Parameters<EndpointHealth['begin']>[0]): ReturnType<EndpointHealth['begin']> {
    const now = this.hub.clock();
    const { provider } = this;
    if (now < provider.key.until || now < this.key.until || now < this.coolDown.until || this.#isAbsent) return 'shut';
    if (!force && now < this.breaker.lock.until) return 'shut';
    if (!provider.budget.begin(retry)) {
      this.#retriesDenied++;
      return 'no-budget';
    }
    if (retry) this.#retries++;
    this.busy++;
    return new EndpointAttempt(this, retry, now);
  }

  get turn(): KeyTurn {
    return this.provider.turn;
  }

  get measuredAnswers(): number {
    return this.speed.answers;
  }

  get state(): HealthState {
    return NAMES[this.healthAt(this.hub.clock())]!;
  }

  get retryAt(): number {
    return this.retryAtUnix(this.hub.clock());
  }

  hasBroken(declared: StoppedBilling): boolean {
    return this.hub.declarations.hasBroken(this.name, declared);
  }

  recordBroken(declared: StoppedBilling, excess: Microcredits): void {
    this.hub.declarations.record(this.name, declared, excess, this.hub.now());
  }

  /** Returns the value of `HEALTH` at `now`. */
  healthAt(now: number): number {
    if (now < this.provider.key.until) return HEALTH[this.provider.refusal.state];
    if (now < this.key.until) return HEALTH[this.#refusal.state];
    if (now < this.coolDown.until) return HEALTH.cooling;
    if (this.#isAbsent) return HEALTH.absent;
    return now < this.breaker.lock.until ? HEALTH.ejected : HEALTH.healthy;
  }

  /** Returns the time from which attempts are allowed, in Unix ms; 0 if they are allowed now. */
  retryAtUnix(now: number): number {
    const until = Math.max(this.coolDown.until, ...this.#locks.map((lock) => lock.until));
    return until > now ? Math.ceil(this.hub.now() + until - now) : 0;
  }

  /** Returns the time at which `healthAt` next changes without an event; Infinity if it never does. */
  nextChange(now: number): number {
    const ends = [this.coolDown.until, ...this.#locks.map((lock) => lock.until)];
    return Math.min(...ends.filter((until) => now < until));
  }

  /** Records the first content: the key works, the retry budget is refilled, and an open breaker closes. */
  answered(attempt: EndpointAttempt, now: number): void {
    const { provider } = this;
    provider.budget.succeeded(attempt.isRetry);
    provider.hasWorked = true;
    this.#hasWorked = true;
    this.#doubts = 0;
    if (this.coolDown.until > 0) this.coolDown.succeeded(attempt.coolDownEpoch);
    const closed = this.breaker.answered(attempt.breaker, now);
    // Of the attempts that began before the breaker closed, only the attempt that closed the breaker still counts.
    if (closed) attempt.breaker = this.breaker.lock.pass;
    // An answer to an attempt that began before the rejection does not prove that the key works now.
    const isWide = provider.key.locked && provider.key.isCurrent(attempt.provider);
    const isOwn = this.key.locked && this.key.isCurrent(attempt.key);
    // A reload of the policy unlocked the provider's key. Signalbox reports the endpoint as healthy only once the provider has accepted the
    // key.
    const wasRefused = this.#reported === 'misconfigured' || this.#reported === 'out_of_credit';
    const hasRecovered = wasRefused && !provider.key.locked && !this.key.locked;
    if (!closed && !isWide && !isOwn && !hasRecovered) return;
    if (isWide) provider.key.unlock();
    if (isOwn) this.key.unlock();
    this.#changed(now, isWide || hasRecovered);
  }

  failed(attempt: EndpointAttempt, failure: ProviderFailure, blame: boolean, now: number): void {
    switch (failure.kind) {
      case 'rate_limited':
        this.#recordLimit(attempt, failure, now);
        break;
      case 'auth':
      case 'credit':
        this.#recordRefusal(attempt, failure, now);
        break;
      default:
        if (blame && isOfProvider(failure.kind)) this.#recordFault(attempt, failure, now);
    }
    this.ended(attempt, failure.kind, now);
  }

  /** Records the end of an attempt. If a probe ends without a result, the next probe may begin. */
  ended(attempt: EndpointAttempt, outcome: AttemptOutcome, now: number): void {
    this.busy--;
    this.#attempts.add(outcome, now);
    this.#recent.add(now, outcome === 'ok' || outcome === 'dropped' ? 0 : 1);
    this.provider.budget.ended(attempt.isRetry && !attempt.hasAnswered);
    if (!attempt.isProbe) return;
    this.breaker.lock.release(attempt.breaker, now);
    this.key.release(attempt.key, now);
    this.provider.key.release(attempt.provider, now);
    this.hub.version++;
  }

  /** Counts the prompt of a complete answer. */
  read(tokens: number, cached: number, now: number): void {
    this.#prompts.add(now, cached, tokens);
  }

  get #isAbsent(): boolean {
    return this.hub.served.isAbsent(this.provider.listedBy, this.name.upstream);
  }

  /** Reports whether the server has the model, after its list has changed. */
  listed(now: number): void {
    this.#report(now);
  }

  /** Reports that a cool-down is over. */
  reportExpiry(now: number): void {
    if (this.#reported === 'cooling') this.#report(now);
  }

  sample(): EndpointSample {
    const now = this.hub.clock();
    const { total, part: faults } = this.#recent.sums(now);
    const prompts = this.#prompts.sums(now);
    return {
      ...this.name,
      provider: this.provider.name,
      ...keyOf(this.provider),
      state: this.#reported,
      since: this.#reportedAt,
      why: this.#reported === 'healthy' ? null : this.#whyOf(this.#reported),
      retryAt: this.retryAtUnix(now),
      breaker: this.breaker.termsAt(now),
      declared: this.declared,
      recent: { total, faults },
      prompts: { tokens: prompts.total, cached: prompts.part },
      ttftMs: this.speed.ttft.quantiles(),
      warmTtftMs: this.speed.warmTtft.quantiles(),
      tokensPerSecond: this.speed.rate.quantiles(),
      attempts: this.#attempts.byOutcome,
      series: this.#attempts.series(this.hub.now() - now),
      retries: this.#retries,
      retriesDenied: this.#retriesDenied,
      ejections: this.#ejections,
      limits: this.room?.uses() ?? [],
      broken: this.hub.declarations.of(this.name),
    };
  }

  #recordFault(attempt: EndpointAttempt, failure: ProviderFailure, now: number): void {
    const ejection = this.breaker.failed(attempt.breaker, now);
    if (ejection === null) return;
    this.#ejections++;
    this.#why.ejected = `${ejection.why}; the last: ${failureText(failure)}`;
    this.#changed(now, false, 'ejected');
  }

  #recordLimit(attempt: EndpointAttempt, failure: ProviderFailure, now: number): void {
    if (this.coolDown.limited(attempt.coolDownEpoch, now, failure.retryAfterMs) === null) return;
    this.#why.cooling = failureText(failure);
    this.#changed(now, false);
  }

  /**
   * Records a rejected key, or an account without credit. A 401 locks the key for the whole provider, unless other endpoints of the
   * provider have worked and the rejecting endpoint never has: the key then lacks a permission for that endpoint. An account without credit
   * always locks the key for the whole provider.
   *
   * A rejection other than a 401 or a missing credit is doubtful, because it may concern the caller's content: a 403 from moderation, a 402
   * for a long answer, a 400 that quotes a prompt about keys. A single caller's request must not lock other callers out of the endpoint.
   */
  #recordRefusal(attempt: EndpointAttempt, failure: ProviderFailure, now: number): void {
    const { provider } = this;
    const isUnpaid = failure.kind === 'credit';
    const isDoubtful = isUnpaid ? !failure.ofAccount : failure.status !== 401;
    const isAlone = provider.hasWorked && !this.#hasWorked && !provider.key.isProbe(attempt.provider);
    const isOwn = isDoubtful || (isAlone && !isUnpaid);
    const lock = isOwn ? this.key : provider.key;
    // An attempt that began before the last rejection, or under an earlier policy, used a key that is already known to be bad.
    if (!lock.isCurrent(isOwn ? attempt.key : attempt.provider)) return;
    if (isDoubtful && this.#hasWorked && ++this.#doubts < DOUBTFUL_IN_A_ROW) return;
    // Missing credit does not make the key bad, and after a doubtful rejection the next rejection alone must not lock the endpoint.
    if (!isDoubtful && !isUnpaid) {
      this.#hasWorked = false;
      // The provider accepted its key in the past, but rejects the key now.
      if (!isOwn) provider.hasWorked = false;
    }
    this.#doubts = 0;
    const refusal: KeyRefusal = { state: isUnpaid ? 'out_of_credit' : 'misconfigured', why: failureText(failure) };
    lock.lock(now, REFUSED_MS, isUnpaid ? REFUSED_MS : 0);
    if (isOwn) this.#refusal = refusal;
    else provider.refusal = refusal;
    this.#changed(now, !isOwn, refusal.state);
  }

  /** Updates the readings and reports the change. @param again a state to report even if it was the last one */
  #changed(now: number, isWide: boolean, again?: HealthState): void {
    this.hub.version++;
    this.#report(now, again);
    if (isWide) for (const one of this.provider.endpoints) if (one !== this) one.#report(now);
  }

  #report(now: number, again?: HealthState): void {
    const to = this.#lastingState(now);
    const from = this.#reported;
    if (to === from && to !== again) return;
    this.#reported = to;
    if (to !== from) this.#reportedAt = this.hub.now();
    // A cool-down is no fault, so an endpoint does not recover from it.
    if (to === 'healthy' && from !== 'cooling' && from !== to) this.recoveredAt = now;
    // Endpoints outside of the active policy are not reported: their model was removed, or a rejected policy named them.
    if (this.hub.hasPolicy && !this.isNamed) return;
    const name = { ...this.name, ...keyOf(this.provider) };
    if (to === 'healthy') {
      this.hub.onChange({ ...name, from, to, why: null, forMs: null });
      return;
    }
    const why = this.#whyOf(to);
    const forMs = Math.max(0, Math.round(this.#untilOf(to) - now));
    this.hub.onChange({ ...name, from, to, why, forMs });
  }

  /** Returns the same as `healthAt`, except that an ejection and a rejected key last until an answer. */
  #lastingState(now: number): HealthState {
    if (this.provider.key.locked) return this.provider.refusal.state;
    if (this.key.locked) return this.#refusal.state;
    if (now < this.coolDown.until) return 'cooling';
    if (this.#isAbsent) return 'absent';
    return this.breaker.lock.locked ? 'ejected' : 'healthy';
  }

  #whyOf(state: Exclude<HealthState, 'healthy'>): string {
    if (state === 'absent') return this.hub.served.remedyFor(this.provider.listedBy, this.name.upstream);
    if (state === 'ejected' || state === 'cooling') return this.#why[state];
    return (this.provider.key.locked ? this.provider.refusal : this.#refusal).why;
  }

  #untilOf(state: Exclude<HealthState, 'healthy'>): number {
    if (state === 'ejected') return this.breaker.lock.until;
    if (state === 'cooling') return this.coolDown.until;
    if (state === 'absent') return this.hub.clock();
    return this.provider.key.locked ? this.provider.key.until : this.key.until;
  }
}

/** Returns the name of a key of a pool as a field, without the field for a provider with one key. */
const keyOf = ({ label }: TrackedProvider): { readonly key?: string } => (label === undefined ? {} : { key: label });

const NAMES = Object.keys(HEALTH) as readonly HealthState[];

/** Describes a failure without the upstream's message, which may quote the prompt. */
const failureText = ({ kind, status }: ProviderFailure): string => (status === undefined ? kind : `${kind} ${status}`);
