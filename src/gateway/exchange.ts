import type { ProviderFailure, StreamPart } from '../contract/parts.ts';
import type { ByteHold } from '../core/byte-room.ts';
import type { Microcredits } from '../core/credits.ts';
import type { Decision } from '../core/decision.ts';
import type { AttemptRecord, DecisionOutcome } from '../core/decision-record.ts';
import type { SignalboxError } from '../core/errors.ts';
import type { GatewayPolicy } from '../core/snapshot.ts';
import type { Write } from '../store/store.ts';
import { DeadlineAlarm } from '../upstream/alarm.ts';
import type { AttemptReporter, EndpointHealth } from '../upstream/health/types.ts';
import type { NextParts } from '../upstream/upstream-call.ts';
import type { AnswerSource } from './answer-source.ts';
import { Attempt, type AttemptContext, begun } from './attempt.ts';
import { entryLine } from './charge.ts';
import {
  brokenError,
  callerGone,
  crowdedError,
  type FailedAttempt,
  failedError,
  failureIn,
  isFinal,
  isUnsayable,
  shutError,
  unreadError,
  wasCut,
} from './failure.ts';
import { type FundedWay, fundedWay } from './funded-way.ts';
import type { FundedHold } from './funding.ts';
import { GrowingAnswer } from './growing-answer.ts';
import { failedUsage, type MeasuredUsage } from './meter.ts';
import { Plan, type PlannedAttempt, type RankedEndpoint } from './plan.ts';
import { type Platform, type Receipt, receiptOf, withoutPrice } from './receipt.ts';
import { paidOutput } from './tranches.ts';

export interface ExchangeContext extends AttemptContext {
  readonly decision: Decision;
  readonly answerBytes: ByteHold;
  /** The money set aside for it. */
  readonly funded: FundedHold;
  /** Unix time, ms. */
  readonly now: () => number;
  /** When the request was admitted, on that clock. */
  readonly startedAt: number;
  /** Unix time of admission, seconds. */
  readonly created: number;
  /** Records the end; returns what is written with the settlement. */
  readonly onSettle: (outcome: DecisionOutcome, platform: Platform) => readonly Write[];
  /** Called with all parts before the caller gets them; absent for no listener. */
  readonly onParts?: (parts: readonly StreamPart[]) => void;
  /** Called for each attempt that failed or broke off. */
  readonly onFailure: (attempt: FailedAttempt) => void;
  /** Resolves with whether the settlement survives this process: a price that could be forgotten is not sent. */
  readonly written: () => Promise<boolean>;
  /** Called once, after settlement. */
  readonly onEnd: () => void;
}

/** A reader gets the error of the deadline within this time after it. */
const UNREAD_GRACE_MS = 1_000;

/**
 * Steps 7 and 8 of one request: carries the decision out and pays for it. The answer's end, a failure, the caller's
 * leaving and a shutdown all end it by `#settle`, which runs exactly once.
 */
export class Exchange implements AnswerSource {
  readonly #context: ExchangeContext;
  readonly #attempts: AttemptRecord[] = [];
  readonly #failed: FailedAttempt[] = [];
  readonly #deadlineAt: number;
  readonly #plan: Plan;
  /** Providers that were called: another attempt at one of them draws on its retry budget. */
  readonly #asked: string[] = [];
  /** The attempt under way, or the one that answered. */
  #running: Attempt | null = null;
  /** Its answer, where that is paid for as it is written. */
  #growing: GrowingAnswer | null = null;
  /** The attempt that failed last. */
  #last: Attempt | null = null;
  /** When the first of the shut endpoints may be tried again, Unix ms. */
  #shutUntil = Number.POSITIVE_INFINITY;
  /** Ends a pause between attempts. */
  #wake: (() => void) | null = null;
  /** The batch with the first content part, until it is read. */
  #first: readonly StreamPart[] | null = null;
  #receipt: Receipt | null = null;
  #error: SignalboxError | null = null;
  /** A failed attempt has cost something. */
  #billed = false;
  #callerGone = false;
  /** Whether it is known if the settlement survives this process. */
  #isConfirmed = false;
  readonly #alarm = new DeadlineAlarm({ onDeadline: () => this.abandon(unreadError()) });

  constructor(context: ExchangeContext) {
    this.#context = context;
    const { models, gateway } = context.runtime.snapshot;
    const { decision, clock } = context;
    this.#deadlineAt = context.startedAt + models[decision.ranked[0].model]!.deadlines.totalMs;
    this.#plan = new Plan(decision, { retriesMax: gateway.retriesMax, clock, random: Math.random });
    // An attempt has the same deadline, and reports it to its reader. There may be none.
    this.#alarm.set(performance.now() + this.#deadlineAt - clock() + UNREAD_GRACE_MS);
  }

  get decision(): number {
    return this.#context.decision.id;
  }
  get created(): number {
    return this.#context.created;
  }
  get inputTokens(): number {
    return Math.ceil(this.#running?.expected.inputTokens ?? 0);
  }
  get policy(): GatewayPolicy {
    return this.#context.runtime.snapshot.gateway;
  }
  get model(): string {
    return (this.#running?.model ?? this.#context.runtime.snapshot.models[this.#context.decision.ranked[0].model]!).id;
  }
  get funded(): FundedHold {
    return this.#context.funded;
  }
  get receipt(): Receipt | null {
    return this.#receipt;
  }
  get isDeserted(): boolean {
    return this.#callerGone;
  }
  get error(): SignalboxError | null {
    return this.#error;
  }

  /**
   * Tries the endpoints of the plan until one shows content.
   * @throws SignalboxError of the last attempt.
   */
  async open(): Promise<void> {
    this.#context.requestContext?.step('dispatch');
    try {
      await this.#open();
    } catch (cause) {
      // A defect. Without a reader, money and a place would be held until the deadline.
      if (!this.#ended()) this.abandon('caller-gone');
      await this.#confirm();
      throw cause;
    }
  }

  async #open(): Promise<void> {
    for (let step = this.#plan.next(); step !== null; step = this.#plan.next()) {
      if (step.waitMs > 0 && !(await this.#pause(step.waitMs))) break;
      if (this.#ended()) throw this.#error;
      const trial = this.#admitted(step);
      if (!trial) continue;
      const funding = fundedWay(this.#context, step.way);
      const funded = funding instanceof Promise ? await this.#awaited(funding, trial) : funding;
      if (funded === null) {
        if (this.#ended()) throw this.#error;
        this.#plan.drop();
        continue;
      }
      const running = this.#begin(funded, trial);
      let opened = running.content();
      for (; opened instanceof Promise; opened = running.content()) await opened;
      if (!('kind' in opened)) {
        this.#first = opened;
        const { hold } = this.funded;
        const makeRoom = this.#context.request.stream ? null : this.#makeRoom;
        this.#growing = funded.growth && new GrowingAnswer(running, funded.growth, { first: opened, hold, makeRoom });
        return;
      }
      if (this.#ended()) throw this.#error;
      this.#giveUp(running, opened);
      this.#plan.failed(opened, this.#waitFor(running.health, opened), this.#attempts.at(-1)!.ms);
      if (isFinal(opened, running.call.sent) || this.#context.clock() >= this.#deadlineAt) break;
    }
    throw this.#fail();
  }

  read(): NextParts {
    const first = this.#first;
    if (first) {
      this.#first = null;
      this.#context.onParts?.(first);
      return first;
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
    this.#context.onParts?.(batch);
    const failure = failureIn(batch);
    if (failure === null) return batch;
    this.#note(running, failure);
    this.#error = brokenError(running.model.id, failure);
    this.#settle('broken', running, source.broken(failure));
    return batch;
  }

  abandon(reason: SignalboxError | 'caller-gone'): void {
    if (this.#ended()) return;
    this.#callerGone = reason === 'caller-gone';
    this.#error = reason === 'caller-gone' ? callerGone() : reason;
    this.#wake?.();
    const running = this.#running;
    if (running) {
      running.call.abort();
      this.#attempts.push(running.left(this.#callerGone));
    }
    this.#settle('abandoned', running, running?.call.sent ? (this.#growing ?? running).broken(null) : null);
  }

  /** Takes room for the answer. Without room the exchange ends, at no endpoint's fault. */
  readonly #makeRoom = (bytes: number): boolean => {
    if (this.#ended()) return false;
    if (this.#context.answerBytes.take(bytes, this.policy.admission.answersBytesMax)) return true;
    this.abandon(crowdedError(this.#context.request.names.outputTokensMax));
    return false;
  };

  #ended(): boolean {
    return this.#receipt !== null;
  }

  /** Waits before the attempt. Returns false where the deadline comes first. */
  async #pause(waitMs: number): Promise<boolean> {
    if (this.#context.clock() + waitMs >= this.#deadlineAt) return false;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
    return true;
  }

  /** Begins an attempt with the endpoint's health; null where its health refuses one. */
  #admitted(step: PlannedAttempt): AttemptReporter | null {
    const { way, again, force } = step;
    const health = this.#healthOf(way);
    const trial = health.begin({ retry: again || this.#asked.includes(this.#providerOf(way)), force });
    if (trial === 'no-budget') this.#plan.denied(step);
    else if (trial === 'shut') {
      this.#shutUntil = Math.min(this.#shutUntil, health.retryAt);
      this.#plan.shut();
    } else return trial;
    return null;
  }

  /** Returns the pause that the endpoint asks for, ms; null where waiting for it is of no use. */
  #waitFor({ state, retryAt }: EndpointHealth, { retryAfterMs = 0 }: ProviderFailure): number | null {
    // A pause that came with a 5xx is not part of the endpoint's health, but is respected too.
    if (state === 'healthy') return retryAfterMs;
    return state === 'cooling' ? Math.max(retryAfterMs, retryAt - this.#context.now()) : null;
  }

  #healthOf({ ranked, at }: RankedEndpoint): EndpointHealth {
    return this.#context.runtime.health[ranked.model]![at]!;
  }

  #providerOf({ ranked, at }: RankedEndpoint): string {
    return this.#context.runtime.snapshot.models[ranked.model]!.endpoints[at]!.provider;
  }

  /** Awaits the money of an attempt, whose trial is over without it. */
  async #awaited(funding: Promise<FundedWay | null>, trial: AttemptReporter): Promise<FundedWay | null> {
    let funded: FundedWay | null = null;
    try {
      funded = await funding;
    } finally {
      if (funded === null || this.#ended()) trial.dropped();
    }
    return this.#ended() ? null : funded;
  }

  /** Begins an attempt: its request is on its way when this returns. */
  #begin({ way, growth }: FundedWay, trial: AttemptReporter): Attempt {
    const outputPaid = growth ? paidOutput(growth, this.funded.hold.left) : undefined;
    const { hasOthers } = this.#plan;
    const limits = { deadlineAt: this.#deadlineAt, hasOthers, makeRoom: this.#makeRoom, outputPaid };
    this.#running = begun(trial, () => new Attempt(way, trial, this.#context, limits));
    return this.#running;
  }

  /** Notes a failed attempt and posts its usage as far as it is known. */
  #giveUp(running: Attempt, failure: ProviderFailure): void {
    const { model, endpoint, meter, call } = running;
    this.#failed.push(this.#note(running, failure));
    const measured = failedUsage(meter, running.expected);
    if (measured) {
      this.#context.requestContext?.addFailedUsage(measured.usage);
      if (this.#context.funded.hold.post(entryLine(model, endpoint, measured)) > 0) this.#billed = true;
    }
    call.abort();
    this.#context.answerBytes.leave();
    this.#running = null;
    this.#last = running;
  }

  /** No attempt is left. One that was cut off while its upstream worked is charged as a broken answer. */
  #fail(): SignalboxError {
    const [last, failure] = [this.#last, this.#failed.at(-1)?.failure];
    const cut = last !== null && wasCut(failure) && last.call.sent && !last.meter.hasReport;
    const noneTried = this.#failed.length === 0 && Number.isFinite(this.#shutUntil);
    const error = noneTried
      ? shutError(this.#shutUntil - this.#context.now())
      : failedError(this.#failed, cut || this.#billed, this.#context.request);
    this.#error = error;
    this.#settle('failed', cut ? last : null, cut ? last.broken(failure!) : null);
    return error;
  }

  /** Null once the receipt may be shown. Until then the caller waits for the end. */
  #confirmed(): null | Promise<void> {
    return this.#isConfirmed ? null : this.#confirm();
  }

  /** Removes a price that could be forgotten from the receipt. */
  async #confirm(): Promise<void> {
    if (!(await this.#context.written())) this.#receipt &&= withoutPrice(this.#receipt);
    this.#isConfirmed = true;
  }

  #note(running: Attempt, failure: ProviderFailure): FailedAttempt {
    const { model, endpoint, meter } = running;
    const { requestId, sent } = running.call;
    this.#attempts.push(running.failed(failure));
    // An untranslatable request never reached its provider, and must not use up the retries of others.
    if (!isUnsayable(failure, sent)) this.#asked.push(endpoint.provider);
    const { provider, upstream } = endpoint;
    const failed = { model: model.id, provider, upstream, failure, requestId, sent };
    this.#context.onFailure({ ...failed, hasBegun: meter.firstContentAt !== null });
    return failed;
  }

  /** The one end: posts the last attempt, releases the rest, and writes the record with it. */
  #settle(status: DecisionOutcome['status'], running: Attempt | null, measured: MeasuredUsage | null): void {
    const { funded, requestContext, onEnd } = this.#context;
    requestContext?.step('settle');
    const line = running && measured ? entryLine(running.model, running.endpoint, measured) : null;
    this.#alarm.clear();
    try {
      funded.hold.settle(line, ({ charged, overrun }) => {
        this.#growing?.settled(overrun);
        return this.#close(status, running, measured, charged);
      });
    } finally {
      onEnd();
    }
  }

  /** Makes the receipt of what was charged, in microcredits, and the record of how it came to it. */
  #close(
    status: DecisionOutcome['status'],
    running: Attempt | null,
    measured: MeasuredUsage | null,
    charged: Microcredits,
  ): readonly Write[] {
    const { decision, clock, startedAt, onSettle, runtime, funded, requestContext } = this.#context;
    const receipt = receiptOf({
      decision,
      baseline: runtime.snapshot.models[decision.baseline]!,
      model: running?.model.id ?? this.model,
      fallback: running !== null && running.way.ranked.model !== decision.ranked[0].model,
      measured,
      charged,
      dropped: running?.dropped ?? [],
      attempts: this.#attempts,
      payment: funded.shown(charged),
      cappedBy: this.#growing?.cutBy ?? running?.way.ranked.cappedBy ?? null,
    });
    this.#receipt = receipt;
    if (requestContext) requestContext.hasReachedCap = this.#growing?.isCut || running?.meter.isCut || false;
    const firstAt = running?.meter.firstContentAt ?? null;
    const outcome: DecisionOutcome = {
      status,
      error: this.#callerGone ? null : (this.#error?.code ?? null),
      attempts: this.#attempts,
      usage: measured && receipt.usage,
      estimated: receipt.platform.estimated,
      charged,
      saved: receipt.saved,
      cappedBy: receipt.platform.output_capped_by ?? null,
      firstPartMs: firstAt === null ? null : Math.round(firstAt - startedAt),
      totalMs: Math.round(clock() - startedAt),
    };
    return onSettle(outcome, receipt.platform);
  }
}
