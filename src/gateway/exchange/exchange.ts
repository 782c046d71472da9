import type { ProviderFailure, StreamPart } from '../../contract/parts.ts';
import type { Settlement } from '../../core/accounting/entry.ts';
import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import type { ByteHold } from '../../core/byte-room.ts';
import type { AttemptRecord, DecisionOutcome, SpreadRecord } from '../../core/decision/record.ts';
import type { EndpointShortage } from '../../core/endpoint-room.ts';
import type { SignalboxError } from '../../core/errors.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { rootOf } from '../../core/people/caller.ts';
import type { GatewayPolicy } from '../../core/policy/snapshot.ts';
import type { Receipt } from '../../core/request/answer.ts';
import { type FallbackReason, reasonOfFailure } from '../../core/request/fallbacks.ts';
import { type AlarmOwner, DeadlineAlarm } from '../../providers/alarm.ts';
import type { AttemptReporter, EndpointHealth } from '../../providers/health/types.ts';
import type { AnswerRoom, NextParts } from '../../providers/upstream-call.ts';
import { reasonsOfRejection } from '../../routing/decisive-group.ts';
import type { UnavailableEndpoint } from '../../routing/unavailable.ts';
import type { Write } from '../../store/store.ts';
import { entryLine } from '../money/charge.ts';
import { type FundedWay, fundedWay } from '../money/funded-way.ts';
import type { FundedHold } from '../money/funding.ts';
import { chargedTokens, failedUsage, type MeasuredUsage } from '../money/meter.ts';
import { withoutPrice } from '../money/receipt.ts';
import { paidOutput, type TrancheTerms } from '../money/tranches.ts';
import type { RunningAnswer } from './answer-source.ts';
import { Attempt } from './attempt.ts';
import { AttemptShare } from './attempt-share.ts';
import {
  brokenError,
  callerGone,
  crowdedError,
  type FailedAttempt,
  failureIn,
  isFinal,
  pauseOf,
  unansweredError,
  unreadError,
  wasCalled,
  wasCut,
} from './failure.ts';
import { FallbackOrder } from './fallback-order.ts';
import { GrowingAnswer } from './growing-answer.ts';
import { calledBy } from './key-turns.ts';
import { isBookedInTime, outcomeOf, receiptOf } from './outcome.ts';
import { Plan, type PlannedAttempt } from './plan.ts';
import { hasRoomFor, isRefusedAnswer, readToEnd } from './refused-answer.ts';
import { AttemptPause } from './retry-pause.ts';
import type { ExchangeParts, ExchangeRecorder, RunnableRequest } from './runnable-request.ts';
import { spreadOf } from './spread.ts';

/** Most exchanges have no failed attempt, so they share this empty list. */
const NO_KEYS: readonly string[] = [];

/** The reader of an answer gets the error of the deadline at most this long after the deadline. */
const UNREAD_GRACE_MS = 1_000;

/**
 * An exchange is steps 7 and 8 of a request: it carries out the decision and pays for the answer. The end of the answer, a failure, a
 * disconnect of the caller and a shutdown all end the exchange through `#settle`, which runs exactly once.
 */
export class Exchange implements RunningAnswer, AlarmOwner, AnswerRoom {
  /** When the request was admitted, Unix time in seconds. */
  readonly created: number;
  readonly funded: FundedHold;
  readonly recorder: ExchangeRecorder;
  receipt: Receipt | null = null;
  error: SignalboxError | null = null;
  isDeserted = false;
  mayBeCut = false;
  readonly #parts: ExchangeParts;
  readonly #runnable: RunnableRequest;
  readonly #attempts: AttemptRecord[] = [];
  readonly #failed: FailedAttempt[] = [];
  /** The keys that failed attempts called, and the providers that were at fault. */
  #called = NO_KEYS;
  readonly #deadlineAt: number;
  readonly #plan: Plan;
  /** The order of listed fallbacks; null if the policy ranks the fallbacks itself. */
  readonly #listed: FallbackOrder | null;
  /** The attempt in progress, or the attempt that answered. */
  #running: Attempt | null = null;
  /** The attempt's answer, if the hold grows while it is written. */
  #growing: GrowingAnswer | null = null;
  /** The attempt that failed last. */
  #last: Attempt | null = null;
  /** The endpoints that were unavailable when the exchange was about to try them. */
  readonly #shut = new Map<EndpointHealth, UnavailableEndpoint>();
  readonly #share = new AttemptShare();
  readonly #pause = new AttemptPause();
  /** The batch with the first content part, until the reader gets the batch. */
  #first: readonly StreamPart[] | null = null;
  /** The tokens of the charged usage; 0 before the end. */
  #tokens = 0;
  /** Whether a failed attempt was charged. */
  #billed = false;
  /** The memory of an answer without streaming; null before its first bytes. */
  #bytes: ByteHold | null = null;
  /** Whether the end of the exchange has begun. The receipt follows once the ledger's books have answered. */
  #isOver = false;
  /** A promise that resolves once the ledger's books have answered; null if the books have already answered, or were not yet called. */
  #answering: Promise<unknown> | null = null;
  /** Whether Signalbox knows that the settlement is durable, or that the settlement may be lost. */
  #isConfirmed = false;
  readonly #alarm: DeadlineAlarm;

  /** @param funded the money that is set aside for the request */
  constructor(parts: ExchangeParts, runnable: RunnableRequest, funded: FundedHold, recorder: ExchangeRecorder) {
    const { decision, clock, startedAt } = runnable;
    const { models, gateway: policy } = runnable.runtime.snapshot;
    this.created = Math.floor(parts.now() / 1000);
    this.funded = funded;
    this.#alarm = new DeadlineAlarm(this, runnable.runtime.alarms);
    this.#parts = parts;
    this.#runnable = runnable;
    this.recorder = recorder;
    this.#deadlineAt = startedAt + models[decision.ranked[0].model]!.deadlines.totalMs;
    const { fallbacks } = decision.facts;
    this.#listed = fallbacks ? new FallbackOrder(decision, fallbacks, runnable.runtime.snapshot) : null;
    this.#plan = new Plan(this.#listed ?? decision, runnable.runtime.upstreams, {
      retriesMax: policy.retriesMax,
      clock,
      random: Math.random,
      stayAt: (model) => runnable.history.accountFor(model, runnable.runtime.snapshot),
      ...spreadOf(runnable),
    });
    // An attempt reports the same deadline to its reader, but an answer may have no reader, so this alarm also ends the exchange at the
    // deadline.
    this.#alarm.set(performance.now() + this.#deadlineAt - clock() + UNREAD_GRACE_MS);
  }

  get decision(): number {
    return this.#runnable.decision.id;
  }
  get inputTokens(): number {
    return Math.ceil(this.#running?.expected.inputTokens ?? 0);
  }
  get dropped(): readonly string[] {
    return this.#running?.dropped ?? [];
  }
  get policy(): GatewayPolicy {
    return this.#runnable.runtime.snapshot.gateway;
  }
  get model(): string {
    const { runtime, decision } = this.#runnable;
    return (this.#running?.model ?? runtime.snapshot.models[decision.ranked[0].model]!).id;
  }

  /**
   * Tries the endpoints of the plan until one sends content.
   * @throws SignalboxError of the last attempt
   */
  async open(): Promise<void> {
    this.#runnable.context.step('dispatch');
    try {
      for (let step = this.#plan.next(); step !== null; step = this.#plan.next()) {
        if (step.waitMs > 0 && !(await this.#hasWaited(step.waitMs))) break;
        if (this.#ended()) throw this.error;
        const admitted = this.#admitted(step);
        const reporter = admitted instanceof Promise ? await admitted : admitted;
        if (this.#ended()) throw this.error;
        if (!reporter) continue;
        const { hold } = this.funded;
        // In most cases the hold covers the most expensive endpoint of the model.
        const isCovered = !hold.grows && step.way.ranked.bound <= hold.left;
        const funding: FundedWay | Promise<FundedWay | null> = isCovered
          ? step.way
          : fundedWay(this.#runnable, hold, step.way);
        const way = funding instanceof Promise ? await this.#awaited(funding, reporter) : funding;
        if (way === null) {
          if (this.#ended()) throw this.error;
          this.#share.undo();
          this.#plan.drop();
          this.#listed?.failed(step.way.ranked, ['error']);
          continue;
        }
        const running = this.#begin(way, reporter, step.spread);
        let opened = running.content();
        for (; opened instanceof Promise; opened = running.content()) await opened;
        if (!('kind' in opened)) {
          const isReplaced = this.#listed !== null && (await this.#leaveRefused(running, this.#listed));
          if (this.#ended()) throw this.error;
          if (isReplaced) continue;
          return this.#show(running, opened, way.growth);
        }
        if (this.#ended()) throw this.error;
        const posted = this.#giveUp(running, opened);
        // Only a model that is listed for refusals can answer a prompt that a content filter of the provider refuses.
        const isFollowed = opened.ofFilter === true && this.#hasListed('refused');
        this.#listed?.failed(step.way.ranked, [reasonOfFailure(opened.kind, opened.ofFilter)]);
        this.#plan.failed(opened, pauseOf(running.health, opened, this.#parts.now()), this.#attempts.at(-1)!.ms);
        if (isFollowed) this.#plan.dropModel();
        await posted;
        if (this.#ended()) throw this.error;
        const isOver = isFinal(opened, running.call.sent) && !isFollowed;
        if (isOver || this.#runnable.clock() >= this.#deadlineAt) break;
      }
      throw this.#fail();
    } catch (cause) {
      // If a defect of the program is caught here, the exchange ends, because an exchange without a reader would hold money and a slot
      // until the deadline.
      if (!this.#ended()) this.abandon('caller-gone');
      await this.#confirm();
      throw cause;
    }
  }

  /**
   * Pays for a refused answer that the caller does not get, because a listed fallback follows it. Returns false if the caller gets the
   * answer: if it is not refused, no fallback is listed for it, or there is no money or time for one.
   */
  async #leaveRefused(running: Attempt, listed: FallbackOrder): Promise<boolean> {
    const { decision, context, clock } = this.#runnable;
    const { hold } = this.funded;
    const next = isRefusedAnswer(running, decision.facts) ? listed.first('refused') : null;
    if (next === null || clock() >= this.#deadlineAt) return false;
    if (!(await hasRoomFor(next, running, hold, decision.facts)) || this.#ended()) return false;
    await readToEnd(running, () => this.#ended());
    if (this.#ended()) return false;
    const { record, measured } = running.completed();
    this.#share.leave(running, measured, decision.facts);
    this.#attempts.push({ ...record, failure: 'refused' });
    this.#called = [...this.#called, running.way.upstream.account];
    this.#plan.dropModel();
    listed.failed(running.way.ranked, ['refused']);
    this.#bytes?.leave();
    running.meter.forget();
    this.#running = null;
    context.exchange.addFailedUsage(measured.usage);
    if ((await hold.post(entryLine(running.model, running.endpoint, measured))) > 0) this.#billed = true;
    return true;
  }

  /** Stores the first content, which the reader receives next. */
  #show(running: Attempt, first: readonly StreamPart[], growth: TrancheTerms | undefined): void {
    this.#first = first;
    if (!growth) return;
    this.mayBeCut = true;
    const room = this.#runnable.request.stream ? null : this;
    this.#growing = new GrowingAnswer(running, growth, { first, hold: this.funded.hold, room });
  }

  read(): NextParts {
    const first = this.#first;
    if (first) {
      this.#first = null;
      return this.#seen(this.#running!, first);
    }
    const running = this.#running;
    if (!running || this.#ended()) return this.#confirmed();
    const source = this.#growing ?? running;
    const batch = source.read();
    if (batch instanceof Promise) return batch;
    if (this.#ended()) return this.#confirmed();
    if (batch === null) {
      const { record, measured } = source.completed();
      this.#attempts.push(record);
      this.#settle('completed', running, measured);
      return this.#confirmed();
    }
    const failure = running.meter.failure === null ? null : failureIn(batch);
    const seen = this.#seen(running, batch);
    if (failure === null || this.#ended()) return seen;
    this.#note(running, failure);
    // The caller already has the complete answer if the answer reached its stop sequences and the exchange only continued reading from the
    // provider.
    const isWhole = running.fitted.rewrite?.isOver ?? false;
    if (!isWhole) this.error = brokenError(running.model.id, failure);
    this.#settle(isWhole ? 'completed' : 'broken', running, source.broken(failure));
    return seen;
  }

  /**
   * Returns the parts of a batch that the caller may see. An answer that has ended at its stop sequences is charged like an answer whose
   * caller disconnected.
   */
  #seen(running: Attempt, batch: readonly StreamPart[]): readonly StreamPart[] {
    const seen = running.fitted.rewrite?.read(batch) ?? batch;
    this.recorder.hear(seen);
    if (running.isOver) this.#leave('completed', running);
    return seen;
  }

  abandon(reason: SignalboxError | 'caller-gone'): void {
    if (this.#ended()) return;
    this.isDeserted = reason === 'caller-gone';
    this.error = reason === 'caller-gone' ? callerGone() : reason;
    this.#pause.end();
    this.#leave('abandoned', this.#running);
  }

  /** Ends the attempt before its provider does. */
  #leave(status: DecisionOutcome['status'], running: Attempt | null): void {
    const measured = running?.call.sent ? (this.#growing ?? running).broken(null) : null;
    if (running) this.#attempts.push(running.left(this.isDeserted, status === 'completed' ? measured : null));
    this.#settle(status, running, measured);
  }

  onDeadline(): void {
    this.abandon(unreadError());
  }

  /** Reserves memory for the answer. Without free memory the exchange ends, and no endpoint is blamed. */
  makeRoom(bytes: number): boolean {
    if (this.#ended()) return false;
    this.#bytes ??= this.#parts.answers.hold(rootOf(this.#runnable.caller));
    if (this.#bytes.take(bytes, this.policy.answersBytesMax)) return true;
    this.abandon(crowdedError(this.#runnable.request.names.outputTokensMax));
    return false;
  }

  #ended(): boolean {
    return this.#isOver;
  }

  /** Waits before the attempt. Returns false if the deadline comes first. */
  async #hasWaited(waitMs: number): Promise<boolean> {
    if (this.#runnable.clock() + waitMs >= this.#deadlineAt) return false;
    await this.#pause.wait(waitMs, this.#runnable.runtime.alarms.timers);
    return true;
  }

  /** Takes the attempt's share of the endpoint's limits, and checks the endpoint's health; null if no attempt may begin. */
  #admitted(step: PlannedAttempt): Awaitable<AttemptReporter | null> {
    if (step.way.upstream.room === null) return this.#begun(step);
    return whenReady(this.#share.take(step.way, this.#runnable), (shortage) => {
      if (shortage !== null) return this.#noteFull(step, shortage);
      const reporter = this.#ended() ? null : this.#begun(step);
      if (reporter === null) this.#share.undo();
      return reporter;
    });
  }

  #noteFull({ way }: PlannedAttempt, shortage: EndpointShortage): null {
    const { health, model } = way.upstream;
    const at = this.#parts.now() + shortage.waitMs;
    this.#shut.set(health, { model: model.id, state: 'full', shortage, at });
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
      this.#shut.set(health, { model: model.id, state: health.state, at: health.retryAt });
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
      if (funded === null || this.#ended()) reporter.dropped();
    }
    return this.#ended() ? null : funded;
  }

  /** Whether a listed fallback would follow if the attempt failed for this reason. */
  #hasListed(reason: FallbackReason): boolean {
    return this.#listed !== null && this.#listed.first(reason) !== null;
  }

  /** Begins an attempt: when this method returns, the request to the provider is on its way. */
  #begin(way: FundedWay, reporter: AttemptReporter, spread: SpreadRecord | null): Attempt {
    const outputPaid = way.growth ? paidOutput(way.growth, this.funded.hold.left) : undefined;
    const limits = {
      deadlineAt: this.#deadlineAt,
      hasOthers: this.#plan.hasOthers || this.#hasListed('error'),
      room: this,
      outputPaid,
      spread,
    };
    try {
      this.#running = new Attempt(way, reporter, this.#runnable, limits);
    } catch (cause) {
      // An attempt whose end is never reported would keep other requests from the endpoint.
      reporter.dropped();
      throw cause;
    }
    return this.#running;
  }

  /** Notes a failed attempt and posts the attempt's usage as far as the usage is known. */
  #giveUp(running: Attempt, failure: ProviderFailure): Promise<void> | null {
    const { model, endpoint, meter, call } = running;
    const failed = this.#note(running, failure);
    this.#failed.push(failed);
    if (wasCalled(failed)) this.#called = [...this.#called, ...calledBy(running.way.upstream, failure)];
    call.abort();
    this.#bytes?.leave();
    this.#running = null;
    this.#last = running;
    const measured = failedUsage(meter, running.expected);
    this.#share.leave(running, measured, this.#runnable.decision.facts, failure);
    if (!measured) return null;
    this.#runnable.context.exchange.addFailedUsage(measured.usage);
    return this.funded.hold.post(entryLine(model, endpoint, measured)).then((charged) => {
      if (charged > 0) this.#billed = true;
    });
  }

  /**
   * The exchange calls this method when no attempt is left. If the last attempt was cut off while the upstream worked, the last attempt is
   * charged as a broken answer.
   */
  #fail(): SignalboxError {
    const [last, failure] = [this.#last, this.#failed.at(-1)?.failure];
    const cut = last !== null && wasCut(failure) && last.call.sent && !last.meter.hasReport;
    const error = unansweredError({
      failed: this.#failed,
      shut: [...this.#shut.values()],
      model: last?.model ?? null,
      billed: cut || this.#billed,
      request: this.#runnable.request,
      now: this.#parts.now(),
    });
    this.error = error;
    this.#settle('failed', cut ? last : null, cut ? last.broken(failure!) : null);
    return error;
  }

  /** Returns null if the receipt may be shown; else a promise, which must resolve before the caller gets the end of the answer. */
  #confirmed(): null | Promise<void> {
    return this.#isConfirmed ? null : this.#confirm();
  }

  /** Removes the price from the receipt if the charge may be lost, or the price is not known in time. */
  #confirm(): Promise<void> {
    const { timers } = this.#runnable.runtime.alarms;
    return isBookedInTime(this.#answering, this.#parts.ledger, timers).then((isBooked) => {
      if (!isBooked) this.receipt &&= withoutPrice(this.receipt);
      this.#isConfirmed = true;
    });
  }

  #note(running: Attempt, failure: ProviderFailure): FailedAttempt {
    const { model, endpoint, meter, call } = running;
    const { provider, upstream } = endpoint;
    const failed = { model: model.id, provider, upstream, failure, requestId: call.requestId, sent: call.sent };
    const record = running.failed(failure);
    const message = this.recorder.logFailure({ ...failed, hasBegun: meter.firstContentAt !== null });
    this.#attempts.push({ ...record, status: failure.status ?? null, message });
    return failed;
  }

  /**
   * Every exchange ends in this method, which posts the last attempt, releases the rest of the hold, and writes the decision record in the
   * same commit.
   */
  #settle(status: DecisionOutcome['status'], running: Attempt | null, measured: MeasuredUsage | null): void {
    this.#runnable.context.step('settle');
    const line = running && measured ? entryLine(running.model, running.endpoint, measured) : null;
    this.#alarm.clear();
    this.#isOver = true;
    if (running) this.#share.leave(running, measured, this.#runnable.decision.facts);
    else this.#share.undo();
    const end = () => {
      running?.meter.forget();
      this.#bytes?.leave();
      this.#runnable.context.endWork(this.#tokens);
    };
    let answer: Promise<unknown> | null = null;
    try {
      answer = this.funded.hold.settle(line, (settlement) => this.#close(status, running, measured, settlement));
    } finally {
      // Books that are in this process have already answered when this line runs.
      if (answer === null || this.receipt !== null) end();
      else {
        this.#answering = answer.finally(end);
        const outcome = this.#outcomeOf(status, running, measured, 0);
        this.receipt = withoutPrice(receiptOf(this.#runnable, running, outcome, null));
      }
    }
  }

  /** Makes the receipt of what was charged, and the record that explains the charge. */
  #close(
    status: DecisionOutcome['status'],
    running: Attempt | null,
    measured: MeasuredUsage | null,
    { charged, overrun }: Settlement,
  ): readonly Write[] {
    const { decision, context } = this.#runnable;
    this.#growing?.settled(overrun);
    const outcome = this.#outcomeOf(status, running, measured, charged);
    const receipt = receiptOf(this.#runnable, running, outcome, this.funded.shown(charged));
    this.receipt = receipt;
    if (running && measured) this.#tokens = chargedTokens(measured, running.model, decision.facts);
    context.exchange.hasReachedCap = this.#growing?.isCut || running?.meter.isCut || false;
    const upstream = running?.way.upstream ?? null;
    const records = this.recorder.settlementWrites(outcome, receipt.platform, upstream);
    return [...records, ...this.funded.settlementWrites(charged)];
  }

  #outcomeOf(
    status: DecisionOutcome['status'],
    running: Attempt | null,
    measured: MeasuredUsage | null,
    charged: Microcredits,
  ): DecisionOutcome {
    const error = this.isDeserted ? null : (this.error?.code ?? null);
    const cutBy = this.#growing?.cutBy ?? null;
    const [attempts, { full }] = [this.#attempts, this.#share];
    return outcomeOf(this.#runnable, running, { status, error, attempts, full, measured, charged, cutBy });
  }
}
