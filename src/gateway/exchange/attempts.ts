import type { ProviderFailure, StreamPart } from '../../contract/parts.ts';
import type { EntryLine } from '../../core/accounting/entry.ts';
import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import type { AttemptRecord, SpreadRecord } from '../../core/decision/attempt.ts';
import type { Decision, InsteadOf, RankedModel } from '../../core/decision/decision.ts';
import type { EndpointShortage } from '../../core/policy/endpoint-room.ts';
import type { AnswerSignal } from '../../core/request/failure-kinds.ts';
import { type FallbackReason, reasonOfFailure } from '../../core/request/fallbacks.ts';
import type { AttemptReporter, EndpointHealth } from '../../providers/health/types.ts';
import type { AnswerRoom } from '../../providers/upstream-call.ts';
import { reasonsOfRejection } from '../../routing/decisive-group.ts';
import type { UnavailableEndpoint } from '../../routing/unavailable.ts';
import { entryLine } from '../money/charge.ts';
import { type FundedWay, fundedWay } from '../money/funded-way.ts';
import type { FundedHold } from '../money/funding.ts';
import { chargedTokens, failedUsage, type MeasuredUsage } from '../money/meter.ts';
import { paidOutput, type TrancheTerms } from '../money/tranches.ts';
import type { AnswerFailure } from './answer-check.ts';
import { Attempt, type EndedAnswer } from './attempt.ts';
import { AttemptShare } from './attempt-share.ts';
import { type FailedAttempt, isFinal, pauseOf, wasCalled } from './failure.ts';
import { FallbackOrder, skipped } from './fallback-order.ts';
import { calledBy } from './key-turns.ts';
import { Plan, type PlannedAttempt } from './plan.ts';
import { hasRoomFor, isRefusedAnswer, readToEnd } from './refused-answer.ts';
import { AttemptPause } from './retry-pause.ts';
import type { ExchangeParts, ExchangeRecorder, RunnableRequest } from './runnable-request.ts';
import { RequestEndpoints } from './spread.ts';

/** Most exchanges have no failed attempt, so they share these empty lists. */
const NO_KEYS: readonly string[] = [];
const NO_FAILURES: readonly FailedAttempt[] = [];

/** The exchange that the attempts belong to. */
interface AttemptsOwner extends AnswerRoom {
  readonly funded: Pick<FundedHold, 'hold'>;
  readonly recorder: Pick<ExchangeRecorder, 'logFailure'>;
  /** When the request must be answered, ms on the clock. */
  readonly deadlineAt: number;
  /** Whether the end of the exchange has begun, so that no other attempt may begin. */
  readonly isOver: boolean;
  /** Frees the memory for an answer that the caller does not get. */
  leaveRoom(): void;
}

/** An answer that has sent its first content. */
export interface OpenedAnswer {
  readonly running: Attempt;
  /** The batch with the first content part. */
  readonly first: readonly StreamPart[];
  /** The terms on which the answer is paid for while the model writes it; absent if its whole worst case is held. */
  readonly growth?: TrancheTerms | undefined;
}

/**
 * The attempts of an exchange: one endpoint after the other, in the order of the plan, until one sends content. Each attempt gets its share
 * of the endpoint's limits, its turn from the endpoint's health, and its money, and gives them back if it fails.
 */
export class Attempts {
  /** The attempts that have ended, in the order of time. An answer that the caller gets is the last one. */
  readonly records: AttemptRecord[] = [];
  failed = NO_FAILURES;
  /** The share of the running attempt in the limits of its endpoint; null before an endpoint with limits. */
  share: AttemptShare | null = null;
  /** The attempt in progress, or the attempt that answered. */
  running: Attempt | null = null;
  /** The attempt that failed last. */
  last: Attempt | null = null;
  /** Whether an attempt that did not answer was charged. */
  areBilled = false;
  /** The tokens of the paid answers around a second attempt that the caller does not get. */
  unseenTokens = 0;
  readonly #owner: AttemptsOwner;
  readonly #now: ExchangeParts['now'];
  readonly #runnable: RunnableRequest;
  /** The keys that failed attempts called, and the providers that were at fault. */
  #called = NO_KEYS;
  #plan: Plan;
  /** The order of listed fallbacks; null if the policy ranks the fallbacks itself. */
  #listed: FallbackOrder | null;
  /** The fault of the answer that the attempts follow; null before an answer. */
  #after: AnswerSignal | null = null;
  /** The position of that answer in the records. */
  #firstAt = 0;
  /** The endpoints that were unavailable when the exchange was about to try them; null for none. */
  #shut: Map<EndpointHealth, UnavailableEndpoint> | null = null;
  /** The pause before a further attempt; null before the first pause. */
  #pause: AttemptPause | null = null;

  constructor(owner: AttemptsOwner, { now }: Pick<ExchangeParts, 'now'>, runnable: RunnableRequest) {
    const { decision, runtime } = runnable;
    const { fallbacks } = decision.facts;
    this.#owner = owner;
    this.#now = now;
    this.#runnable = runnable;
    this.#listed = fallbacks ? new FallbackOrder(decision, fallbacks, runtime.snapshot) : null;
    this.#plan = this.#planOf(this.#listed ?? decision);
  }

  #planOf(order: Pick<Decision, 'ranked' | 'lastResorts'>): Plan {
    const { clock, runtime } = this.#runnable;
    const { retriesMax } = runtime.snapshot.gateway;
    const choice = new RequestEndpoints(this.#runnable);
    return new Plan(order, runtime.upstreams, { retriesMax, clock, random: Math.random, choice });
  }

  /** The endpoints that were unavailable when the exchange was about to try them. */
  get shut(): readonly UnavailableEndpoint[] {
    return this.#shut ? [...this.#shut.values()] : [];
  }

  /** The model that the request names, if a fallback was tried and it was not; undefined otherwise. */
  get insteadOf(): InsteadOf | undefined {
    const { facts, insteadOf } = this.#runnable.decision;
    return facts.fallbacks && (insteadOf ?? skipped(facts, this.records, this.shut));
  }

  /** Tries the endpoints of the plan until one sends content. Returns null if none does, or if the exchange has ended. */
  async open(): Promise<OpenedAnswer | null> {
    const owner = this.#owner;
    for (let step = this.#plan.next(); step !== null; step = this.#plan.next()) {
      if (step.waitMs > 0 && !(await this.#hasWaited(step.waitMs))) return null;
      if (owner.isOver) return null;
      const admitted = this.#admitted(step);
      const reporter = admitted instanceof Promise ? await admitted : admitted;
      if (owner.isOver) {
        reporter?.dropped();
        return null;
      }
      if (!reporter) continue;
      const { hold } = owner.funded;
      // In most cases the hold covers the most expensive endpoint of the model.
      const isCovered = !hold.grows && step.way.ranked.bound <= hold.left;
      const funding: FundedWay | Promise<FundedWay | null> = isCovered
        ? step.way
        : fundedWay(this.#runnable, hold, step.way);
      const way = funding instanceof Promise ? await this.#awaited(funding, reporter) : funding;
      if (owner.isOver) return null;
      if (way === null) {
        this.share?.undo();
        this.#plan.drop();
        this.#listed?.failed(step.way.ranked, ['error']);
        continue;
      }
      const running = this.#begin(way, reporter, step.spread);
      let opened = running.content();
      for (; opened instanceof Promise; opened = running.content()) await opened;
      if (owner.isOver) return null;
      if (!('kind' in opened)) {
        const isReplaced = this.#listed !== null && (await this.#leaveRefused(running, this.#listed));
        if (owner.isOver) return null;
        if (isReplaced) continue;
        return { running, first: opened, growth: way.growth };
      }
      const mayFollow = await this.#failedAt(running, opened);
      if (owner.isOver || !mayFollow || this.#runnable.clock() >= owner.deadlineAt) return null;
    }
    return null;
  }

  /** Pays for a complete answer that failed, before a second attempt. */
  async leaveFirst(answer: EndedAnswer, failure: AnswerSignal): Promise<void> {
    this.#firstAt = this.records.length;
    this.unseenTokens += this.#tokensOf(answer);
    await this.#leave(answer, failure);
    this.#after = failure;
  }

  /** Tries the endpoints of one other model until one sends content. Returns null if none does, or if the exchange has ended. */
  openSecond(second: RankedModel): Promise<OpenedAnswer | null> {
    this.#listed = null;
    this.#plan = this.#planOf({ ranked: [second], lastResorts: [] });
    return this.open();
  }

  /** Pays for a complete answer of the second attempt that the caller does not get. */
  leaveSecond(answer: EndedAnswer, failure: AnswerFailure): Promise<void> {
    this.unseenTokens += this.#tokensOf(answer);
    return this.#leave(answer, failure);
  }

  /** Pays for an answer of the second attempt that broke off. */
  async breakSecond(running: Attempt, failure: ProviderFailure, measured: MeasuredUsage): Promise<void> {
    this.note(running, failure);
    this.running = null;
    this.unseenTokens += this.#tokensOf({ running, measured });
    this.share?.leave(running, measured, this.#runnable.decision.facts, failure);
    await this.#charge({ running, measured });
  }

  /** Makes a paid answer the last one again, because the second attempt failed. */
  restore({ running, record, measured }: EndedAnswer): void {
    const { charged } = this.records[this.#firstAt]!;
    this.records.splice(this.#firstAt, 1);
    this.records.push(charged === undefined ? record : { ...record, charged });
    this.#runnable.context.exchange.removeFailedUsage(measured.usage);
    this.unseenTokens -= this.#tokensOf({ running, measured });
    this.running = running;
  }

  #tokensOf({ running, measured }: Pick<EndedAnswer, 'running' | 'measured'>): number {
    return chargedTokens(measured, running.model, this.#runnable.decision.facts);
  }

  /** Keeps the record of an attempt that has ended. */
  keep(record: AttemptRecord): void {
    this.records.push(this.#after ? { ...record, after: this.#after } : record);
  }

  /** Ends a pause before an attempt. */
  endPause(): void {
    this.#pause?.end();
  }

  /** Notes the failure of an attempt, before or after its first content. */
  note(running: Attempt, failure: ProviderFailure): FailedAttempt {
    const { model, endpoint, meter, call } = running;
    const { provider, upstream } = endpoint;
    const failed = { model: model.id, provider, upstream, failure, requestId: call.requestId, sent: call.sent };
    const record = running.failed(failure);
    const message = this.#owner.recorder.logFailure({
      ...failed,
      key: record.key,
      hasBegun: meter.firstContentAt !== null,
    });
    this.keep({ ...record, status: failure.status, message });
    return failed;
  }

  /** Waits before the attempt. Returns false if the deadline comes first. */
  async #hasWaited(waitMs: number): Promise<boolean> {
    if (this.#runnable.clock() + waitMs >= this.#owner.deadlineAt) return false;
    this.#pause ??= new AttemptPause();
    await this.#pause.wait(waitMs, this.#runnable.runtime.alarms.timers);
    return true;
  }

  /** Takes the attempt's share of the endpoint's limits, and checks the endpoint's health; null if no attempt may begin. */
  #admitted(step: PlannedAttempt): Awaitable<AttemptReporter | null> {
    return step.way.upstream.room === null ? this.#begun(step) : this.#admittedByRoom(step);
  }

  #admittedByRoom(step: PlannedAttempt): Awaitable<AttemptReporter | null> {
    this.share ??= new AttemptShare();
    const { share } = this;
    return whenReady(share.take(step.way, this.#runnable), (shortage) => {
      if (shortage !== null) return this.#noteFull(step, shortage);
      const reporter = this.#owner.isOver ? null : this.#begun(step);
      if (reporter === null) share.undo();
      return reporter;
    });
  }

  #noteShut(health: EndpointHealth, shut: UnavailableEndpoint): void {
    this.#shut ??= new Map();
    this.#shut.set(health, shut);
  }

  /** An endpoint that has used its limits would answer 429, so the fallbacks for rate limits follow. */
  #noteFull({ way }: PlannedAttempt, shortage: EndpointShortage): null {
    const { health, model } = way.upstream;
    const at = this.#now() + shortage.waitMs;
    this.#noteShut(health, { model: model.id, state: 'full', shortage, at });
    this.#plan.full(shortage.waitMs);
    this.#listed?.failed(way.ranked, ['rate_limit']);
    return null;
  }

  /**
   * Checks with the endpoint's health whether an attempt may begin; null if no attempt may begin. A second attempt at the same provider
   * uses up its retry budget.
   */
  #begun(step: PlannedAttempt): AttemptReporter | null {
    const { way, again, force } = step;
    const { health, model, key, provider } = way.upstream;
    const reporter = health.begin({
      retry: again || this.#called.includes(key) || this.#called.includes(provider.name),
      force,
    });
    if (reporter === 'no-budget') this.#plan.denied(step);
    else if (reporter === 'shut') {
      // The endpoint may have recovered since `begin`.
      const state = health.state === 'healthy' ? 'ejected' : health.state;
      this.#noteShut(health, { model: model.id, state, at: health.retryAt });
      this.#plan.shut();
    } else return reporter;
    this.#listed?.failed(way.ranked, reasonsOfRejection('health'));
    return null;
  }

  /**
   * Waits for the money of an attempt. If there is no money for the attempt, the attempt is reported to the endpoint's health as dropped.
   */
  async #awaited(funding: Promise<FundedWay | null>, reporter: AttemptReporter): Promise<FundedWay | null> {
    let funded: FundedWay | null = null;
    try {
      funded = await funding;
    } finally {
      if (funded === null || this.#owner.isOver) reporter.dropped();
    }
    return funded;
  }

  /** Begins an attempt: when this method returns, the request to the provider is on its way. */
  #begin(way: FundedWay, reporter: AttemptReporter, spread: SpreadRecord | undefined): Attempt {
    const { deadlineAt, funded } = this.#owner;
    const limits = {
      deadlineAt,
      hasOthers: this.#plan.hasOthers || this.#hasListed('error'),
      room: this.#owner,
      outputPaid: way.growth ? paidOutput(way.growth, funded.hold.left) : undefined,
      spread,
    };
    try {
      this.running = new Attempt(way, reporter, this.#runnable, limits);
    } catch (cause) {
      // An attempt whose end is never reported would keep other requests from the endpoint.
      reporter.dropped();
      throw cause;
    }
    return this.running;
  }

  /** Whether a listed fallback would follow if the attempt failed for this reason. */
  #hasListed(reason: FallbackReason): boolean {
    return this.#listed !== null && this.#listed.first(reason) !== null;
  }

  /** Gives up a failed attempt, and posts its usage as far as it is known. Returns whether another attempt may follow. */
  #failedAt(running: Attempt, failure: ProviderFailure): Awaitable<boolean> {
    const { meter, call, health, way } = running;
    const failed = this.note(running, failure);
    this.failed = [...this.failed, failed];
    if (wasCalled(failed)) this.#called = [...this.#called, ...calledBy(way.upstream, failure)];
    call.abort();
    this.#owner.leaveRoom();
    this.running = null;
    this.last = running;
    const measured = failedUsage(meter, running.expected);
    this.share?.leave(running, measured, this.#runnable.decision.facts, failure);
    // Only a model that is listed for refusals can answer a prompt that a content filter of the provider refuses.
    const isFollowed = failure.ofFilter === true && this.#hasListed('refused');
    this.#listed?.failed(way.ranked, [reasonOfFailure(failure.kind, failure.ofFilter)]);
    this.#plan.failed(failure, pauseOf(health, failure, this.#now()), this.records.at(-1)!.ms);
    if (isFollowed) this.#plan.dropModel();
    const mayFollow = isFollowed || !isFinal(failure, call.sent);
    if (!measured) return mayFollow;
    return this.#charge({ running, measured }).then(() => mayFollow);
  }

  /** Charges the attempt that was recorded last, which the caller gets nothing from. */
  async #charge({ running, measured }: Pick<EndedAnswer, 'running' | 'measured'>): Promise<void> {
    const at = this.records.length - 1;
    this.#runnable.context.exchange.addFailedUsage(measured.usage);
    const line = entryLine(running, measured, this.#now);
    this.notePrice(line);
    const charged = await this.#owner.funded.hold.post(line);
    if (charged === 0) return;
    this.areBilled = true;
    this.records[at] = { ...this.records[at]!, charged };
  }

  /** Notes the cost of the last attempt at the policy's price if its answer states a cost, and the tier of the price if it states none. */
  notePrice({ stated, cost, assumedTier }: EntryLine): void {
    if (stated === undefined && assumedTier === undefined) return;
    this.records.push({ ...this.records.pop()!, ...(stated !== undefined && { atPrice: cost }), assumedTier });
  }

  /** Ends and pays for a complete answer that the caller does not get. */
  async #leave({ running, record, measured }: EndedAnswer, failure: AnswerFailure): Promise<void> {
    this.share?.leave(running, measured, this.#runnable.decision.facts);
    this.keep({ ...record, failure });
    running.meter.forget();
    this.running = null;
    await this.#charge({ running, measured });
  }

  /**
   * Pays for a refused answer that the caller does not get, because a listed fallback follows it. Returns false if the caller gets the
   * answer: if it is not refused, no fallback is listed for it, or there is no money or time for one.
   */
  async #leaveRefused(running: Attempt, listed: FallbackOrder): Promise<boolean> {
    const { decision, clock } = this.#runnable;
    const owner = this.#owner;
    const { hold } = owner.funded;
    const next = isRefusedAnswer(running, decision.facts) ? listed.first('refused') : null;
    if (next === null || clock() >= owner.deadlineAt) return false;
    if (!(await hasRoomFor(next, running, hold, decision.facts, this.#now)) || owner.isOver) return false;
    await readToEnd(running, () => owner.isOver);
    if (owner.isOver) return false;
    this.#plan.dropModel();
    listed.failed(running.way.ranked, ['refused']);
    owner.leaveRoom();
    await this.#leave(running.completed(), 'refused');
    return true;
  }
}
