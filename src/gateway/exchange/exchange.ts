import type { ProviderFailure, StreamPart } from '../../contract/parts.ts';
import type { Settlement } from '../../core/accounting/entry.ts';
import type { ByteHold } from '../../core/byte-room.ts';
import type { Receipt } from '../../core/decision/answer.ts';
import type { RankedModel } from '../../core/decision/decision.ts';
import type { DecisionOutcome } from '../../core/decision/outcome.ts';
import type { SignalboxError } from '../../core/errors.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { rootOf } from '../../core/people/caller.ts';
import type { GatewayPolicy } from '../../core/policy/snapshot.ts';
import { type AlarmOwner, DeadlineAlarm } from '../../providers/alarm.ts';
import type { AnswerRoom, NextParts } from '../../providers/upstream-call.ts';
import type { Write } from '../../store/store.ts';
import { entryLine } from '../money/charge.ts';
import type { FundedHold } from '../money/funding.ts';
import { chargedTokens, type MeasuredUsage } from '../money/meter.ts';
import { withoutPrice } from '../money/receipt.ts';
import { mayTrySecond } from '../money/second-attempt.ts';
import { AnswerCheck, type AnswerReview, GuardReview } from './answer-check.ts';
import { type AnswerBatch, AnswerInProgress } from './answer-in-progress.ts';
import type { RunningAnswer } from './answer-source.ts';
import type { Attempt, EndedAnswer } from './attempt.ts';
import { Attempts, type OpenedAnswer } from './attempts.ts';
import { brokenError, callerGone, crowdedError, failureIn, unansweredError, unreadError, wasCut } from './failure.ts';
import { isBookedInTime, outcomeOf, receiptOf } from './outcome.ts';
import { hasRoomFor } from './refused-answer.ts';
import type { AnswerJudge, ExchangeParts, ExchangeRecorder, RunnableRequest } from './runnable-request.ts';

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
  /** Whether the end of the exchange has begun. The receipt follows once the ledger's books have answered. */
  isOver = false;
  /** When the request must be answered, ms on the clock. */
  readonly deadlineAt: number;
  readonly #parts: ExchangeParts;
  readonly #runnable: RunnableRequest;
  readonly #attempts: Attempts;
  /** The answer of the running attempt, once it has sent content. */
  #answer: AnswerInProgress | null = null;
  /** The answer in progress, if it is already complete and charged; null for none. */
  #paid: EndedAnswer | null = null;
  /** Settles an answer whose last batch the reader already has; null for none. Guards read this batch before its record is written. */
  #ending: ((status: DecisionOutcome['status']) => void) | null = null;
  /** The tokens of the charged usage; 0 before the end. */
  #tokens = 0;
  /** The memory of an answer without streaming; null before its first bytes. */
  #bytes: ByteHold | null = null;
  /** A promise that resolves once the ledger's books have answered; null if the books have already answered, or were not yet called. */
  #answering: Promise<unknown> | null = null;
  /** Reads the rest of an answer that a step has ended, and then ends the exchange; null for none. */
  #ends: Promise<void> | null = null;
  /** Whether Signalbox knows that the settlement is durable, or that the settlement may be lost. */
  #isConfirmed = false;
  readonly #alarm: DeadlineAlarm;

  /** @param funded the money that is set aside for the request */
  constructor(parts: ExchangeParts, runnable: RunnableRequest, funded: FundedHold, recorder: ExchangeRecorder) {
    const { decision, clock, startedAt } = runnable;
    const { models } = runnable.runtime.snapshot;
    this.created = Math.floor(parts.now() / 1000);
    this.funded = funded;
    this.#alarm = new DeadlineAlarm(this, runnable.runtime.alarms);
    this.#parts = parts;
    this.#runnable = runnable;
    this.recorder = recorder;
    this.deadlineAt = startedAt + models[decision.ranked[0].model]!.deadlines.totalMs;
    this.#attempts = new Attempts(this, parts, runnable);
    // An attempt reports the same deadline to its reader, but an answer may have no reader, so this alarm also ends the exchange at the
    // deadline.
    this.#alarm.set(performance.now() + this.deadlineAt - clock() + UNREAD_GRACE_MS);
  }

  get decision(): number {
    return this.#runnable.decision.id;
  }
  get inputTokens(): number {
    return Math.ceil(this.#attempts.running?.expected.inputTokens ?? 0);
  }
  get dropped(): readonly string[] {
    return this.#attempts.running?.dropped ?? [];
  }
  get policy(): GatewayPolicy {
    return this.#runnable.runtime.snapshot.gateway;
  }
  get model(): string {
    const { runtime, decision } = this.#runnable;
    return (this.#attempts.running?.model ?? runtime.snapshot.models[decision.ranked[0].model]!).id;
  }

  /**
   * Tries the endpoints of the plan until one sends content.
   * @throws SignalboxError of the last attempt
   */
  async open(): Promise<void> {
    this.#runnable.context.step('dispatch');
    try {
      const opened = await this.#attempts.open();
      if (this.isOver) throw this.error;
      if (opened === null) throw this.#fail();
      const answer = this.#begin(opened);
      const { request, decision, judge } = this.#runnable;
      const { second } = decision;
      if (second && second.model !== opened.running.way.ranked.model && mayTrySecond(request))
        await this.#checkForSecond(answer, second);
      else if (judge) await this.#checkForGuards(answer, judge);
      if (this.isOver) throw this.error;
    } catch (cause) {
      // If a defect of the program is caught here, the exchange ends, because an exchange without a reader would hold money and a slot
      // until the deadline.
      if (!this.isOver) this.abandon('caller-gone');
      await this.#confirm();
      throw cause;
    }
  }

  /** Begins an answer, whose first content the reader receives next. */
  #begin(opened: OpenedAnswer): AnswerInProgress {
    this.mayBeCut ||= opened.growth !== undefined;
    const room = this.#runnable.request.stream ? null : this;
    this.#answer = new AnswerInProgress(opened, this.funded.hold, room);
    return this.#answer;
  }

  /** Tries another model once if the answer failed. */
  #checkForSecond(answer: AnswerInProgress, second: RankedModel): Promise<void> {
    const { request, runtime } = this.#runnable;
    const { on } = runtime.snapshot.escalate;
    return this.#check(answer, second, (isSecond) => new AnswerCheck(request, on, isSecond));
  }

  /** Asks the same model once more if a guard that wants it would block the answer. */
  #checkForGuards(answer: AnswerInProgress, judge: AnswerJudge): Promise<void> {
    return this.#check(answer, answer.running.way.ranked, () => new GuardReview(judge));
  }

  /** Reads an answer before its reader gets it. If it failed, another model is tried once. If that failed, too, the first answer counts. */
  async #check(
    answer: AnswerInProgress,
    second: RankedModel,
    reviewOf: (isSecond: boolean) => AnswerReview,
  ): Promise<void> {
    const { clock, decision } = this.#runnable;
    const { hold } = this.funded;
    const isOver = () => this.isOver;
    const check = reviewOf(false);
    const signal = (await answer.readAhead(check, isOver)) ? await check.signal() : null;
    if (signal === null || clock() + second.latencyMs > this.deadlineAt) return;
    if (!(await hasRoomFor(second, answer.running, hold, decision.facts, this.#parts.now)) || this.isOver) return;
    const first = answer.completed();
    this.#answer = null;
    await this.#attempts.leaveFirst(first, signal);
    answer.settled(hold.overrun);
    if (this.isOver) return;
    const opened = await this.#attempts.openSecond(second);
    if (this.isOver) return;
    if (opened) {
      const next = this.#begin(opened);
      const nextCheck = reviewOf(true);
      const isWhole = await next.readAhead(nextCheck, isOver);
      if (this.isOver) return;
      const failure = isWhole ? await nextCheck.failure() : opened.running.meter.failure;
      if (failure === null || this.isOver) return;
      this.#answer = null;
      if (typeof failure === 'string') await this.#attempts.leaveSecond(next.completed(), failure);
      else await this.#attempts.breakSecond(opened.running, failure, next.broken(failure));
      next.settled(hold.overrun);
      if (this.isOver) return;
    }
    this.#attempts.restore(first);
    this.#answer = answer;
    this.#paid = first;
  }

  read(): NextParts {
    if (this.#ends) return this.#ends;
    const answer = this.#answer;
    this.#endRead();
    if (!answer || this.isOver) return this.#confirmed();
    const next = answer.next();
    if (next instanceof Promise) return next;
    if (this.isOver) return this.#confirmed();
    if (next !== null) return this.#pass(answer, next);
    const { record, measured } = this.#paid ?? answer.completed();
    if (!this.#paid) this.#attempts.keep(record);
    this.#settle('completed', answer.running, measured);
    return this.#confirmed();
  }

  /**
   * Passes a batch to the reader. An answer that has ended at its stop sequences is charged like an answer whose caller disconnected, and an
   * answer that broke off as such.
   */
  #pass(answer: AnswerInProgress, { batch, seen }: AnswerBatch): readonly StreamPart[] {
    const { running } = answer;
    this.recorder.hear(seen);
    if (running.isOver) this.#ending = this.#endingOf('completed', running);
    else if (running.meter.failure !== null) this.#break(answer, failureIn(batch));
    return seen;
  }

  /** Notes an answer that broke off. */
  #break(answer: AnswerInProgress, failure: ProviderFailure | null): void {
    if (failure === null || this.isOver) return;
    const { running } = answer;
    this.#attempts.note(running, failure);
    // The caller already has the complete answer if the answer reached its stop sequences and the exchange only continued reading from the
    // provider.
    const isWhole = running.fitted.rewrite?.isOver ?? false;
    if (!isWhole) this.error = brokenError(running.model.id, failure);
    const measured = answer.broken(failure);
    this.#ending = (status) => this.#settle(status, running, measured);
  }

  /** Settles an answer whose last batch was read. */
  #endRead(): void {
    if (!this.isOver) this.#ending?.(this.error ? 'broken' : 'completed');
  }

  abandon(reason: SignalboxError | 'caller-gone'): void {
    if (reason === 'caller-gone') {
      // A caller that disconnects after the last batch has the whole answer.
      this.#endRead();
      if (this.#ends !== null || (this.#answer?.lacksReport && this.#endsAfterRest(reason))) return;
    }
    this.#end(reason);
  }

  endWith(error: SignalboxError): void {
    if (!this.#endsAfterRest(error)) this.#end(error);
  }

  /** Ends the exchange once the rest of its answer was read. Returns false if there is nothing to read. */
  #endsAfterRest(reason: SignalboxError | 'caller-gone'): boolean {
    const answer = this.#answer;
    if (!answer || this.#ends || this.#paid || this.#ending || this.isOver) return false;
    const { clock, runtime } = this.#runnable;
    const rest = answer.readRest(runtime.alarms.timers, clock, () => this.isOver);
    this.#ends = rest.finally(() => {
      this.#ends = null;
      this.#end(reason);
    });
    return true;
  }

  /** Ends the exchange before its answer ends. */
  #end(reason: SignalboxError | 'caller-gone'): void {
    if (this.isOver) return;
    this.isDeserted = reason === 'caller-gone';
    this.error = reason === 'caller-gone' ? callerGone() : reason;
    this.#attempts.endPause();
    const end = this.#ending ?? this.#endingOf('abandoned', this.#attempts.running);
    end('abandoned');
  }

  pause(isPaused: boolean): void {
    this.#attempts.running?.pause(isPaused);
  }

  /** Ends the attempt before its provider does. @returns what settles the answer */
  #endingOf(status: DecisionOutcome['status'], running: Attempt | null): (status: DecisionOutcome['status']) => void {
    const paid = running && this.#paid;
    const measured = paid ? paid.measured : running?.call.sent ? (this.#answer ?? running).broken(null) : null;
    if (running && !paid) this.#attempts.keep(running.left(this.isDeserted, status === 'completed' ? measured : null));
    return (status) => this.#settle(status, running, measured);
  }

  onDeadline(): void {
    this.#endRead();
    this.abandon(unreadError());
  }

  /** Reserves memory for the answer. Without free memory the exchange ends, and no endpoint is blamed. */
  makeRoom(bytes: number): boolean {
    if (this.isOver) return false;
    this.#bytes ??= this.#parts.answers.hold(rootOf(this.#runnable.caller));
    if (this.#bytes.take(bytes, this.policy.answersBytesMax)) return true;
    this.abandon(crowdedError(this.#runnable.request.names.outputTokensMax));
    return false;
  }

  leaveRoom(): void {
    this.#bytes?.leave();
  }

  /**
   * The exchange calls this method when no attempt is left. If the last attempt was cut off while the upstream worked, the last attempt is
   * charged as a broken answer.
   */
  #fail(): SignalboxError {
    const { failed, shut, last, areBilled, insteadOf } = this.#attempts;
    const failure = failed.at(-1)?.failure;
    const cut = last !== null && wasCut(failure) && last.call.sent && !last.meter.hasReport;
    const error = unansweredError({
      failed,
      shut,
      model: last?.model ?? null,
      billed: cut || areBilled,
      request: this.#runnable.request,
      now: this.#parts.now(),
      insteadOf,
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

  /**
   * Every exchange ends in this method, which posts the last attempt, releases the rest of the hold, and writes the decision record in the
   * same commit.
   */
  #settle(status: DecisionOutcome['status'], running: Attempt | null, measured: MeasuredUsage | null): void {
    this.#runnable.context.step('settle');
    const line = running && measured && !this.#paid ? entryLine(running, measured, this.#parts.now) : null;
    if (line) this.#attempts.notePrice(line);
    this.#alarm.clear();
    this.isOver = true;
    const { share } = this.#attempts;
    if (running) share?.leave(running, measured, this.#runnable.decision.facts);
    else share?.undo();
    let answer: Promise<unknown> | null = null;
    try {
      answer = this.funded.hold.settle(line, (settlement) => this.#close(status, running, measured, settlement));
    } finally {
      // Books that are in this process have already answered when this line runs.
      if (answer === null || this.receipt !== null) this.#endWork(running);
      else {
        this.#answering = answer.finally(() => this.#endWork(running));
        const outcome = this.#outcomeOf(status, running, measured, 0);
        this.receipt = withoutPrice(receiptOf(this.#runnable, running, outcome, null));
      }
    }
  }

  #endWork(running: Attempt | null): void {
    running?.meter.forget();
    this.#bytes?.leave();
    this.#runnable.context.endWork(this.#tokens);
  }

  /** Makes the receipt of what was charged, and the record that explains the charge. */
  #close(
    status: DecisionOutcome['status'],
    running: Attempt | null,
    measured: MeasuredUsage | null,
    { charged, overrun }: Settlement,
  ): readonly Write[] {
    const { decision, context } = this.#runnable;
    if (!this.#paid) this.#answer?.settled(overrun);
    const outcome = this.#outcomeOf(status, running, measured, charged);
    const receipt = receiptOf(this.#runnable, running, outcome, this.funded.shown(charged));
    this.receipt = receipt;
    this.#tokens = this.#attempts.unseenTokens;
    if (running && measured) this.#tokens += chargedTokens(measured, running.model, decision.facts);
    context.exchange.hasReachedCap = this.#answer?.growing?.isCut || running?.meter.isCut || false;
    const upstream = running?.way.upstream ?? null;
    const records = this.recorder.settlementWrites(outcome, receipt.platform, upstream);
    const charges = this.funded.settlementWrites(charged);
    return charges.length === 0 ? records : [...records, ...charges];
  }

  #outcomeOf(
    status: DecisionOutcome['status'],
    running: Attempt | null,
    measured: MeasuredUsage | null,
    charged: Microcredits,
  ): DecisionOutcome {
    const error = this.isDeserted ? null : (this.error?.code ?? null);
    const cutBy = this.#answer?.growing?.cutBy ?? null;
    return outcomeOf(this.#runnable, running, { status, error, attempts: this.#attempts, measured, charged, cutBy });
  }
}
