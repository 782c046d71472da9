import type { ProviderFailure, StreamPart } from '../../contract/parts.ts';
import type { ProviderCall } from '../../contract/provider.ts';
import type { AttemptRecord, SpreadRecord } from '../../core/decision/attempt.ts';
import { isConversation } from '../../core/kinds/operations.ts';
import { type AbortBilling, abortBillingOf } from '../../core/money/abort-billing.ts';
import type { BilledTier } from '../../core/money/billed-price.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { lineFor, rateOf, undividedUnit } from '../../core/money/price.ts';
import { DEFAULT_TIER, pricedTier } from '../../core/money/service-tier.ts';
import { statedCredits } from '../../core/money/stated-cost.ts';
import { figureOf, type Usage } from '../../core/money/usage.ts';
import type { Endpoint, Model } from '../../core/policy/snapshot.ts';
import type { CallTrace } from '../../host/telemetry/trace.ts';
import { type RankedUpstream, stateAccount } from '../../policy/runtime/upstream.ts';
import { openCall } from '../../providers/call.ts';
import type { AttemptReporter, EndpointHealth } from '../../providers/health/types.ts';
import type { AnswerRoom, NextParts, UpstreamCall, UpstreamTarget } from '../../providers/upstream-call.ts';
import { expectedWriting, ttftFactor, WARM_SHARE } from '../../routing/estimate.ts';
import { expectedInput } from '../../routing/input-tokens.ts';
import type { KindOfCall } from '../kinds/kind.ts';
import { KINDS } from '../kinds/kinds.ts';
import { mayHide } from '../money/growth.ts';
import {
  brokenUsage,
  completeUsage,
  cutUsage,
  type ExpectedTokens,
  type MeasuredUsage,
  Meter,
} from '../money/meter.ts';
import { marginOf, PACE_FACTOR } from '../money/tranches.ts';
import { callSpan } from './call-span.ts';
import { callFor, droppedPaths, type EndpointCall } from './endpoint-request.ts';
import { isOfAskedModel, isUnknownName } from './failure.ts';
import { observedLength } from './observed-length.ts';
import type { RunnableRequest } from './runnable-request.ts';

interface AttemptLimits {
  /** When the request must be answered, ms on the clock. */
  readonly deadlineAt: number;
  /**
   * Whether other endpoints are left to try. If other endpoints are left, an answer without streaming gets no more time than the answer
   * should need.
   */
  readonly hasOthers: boolean;
  /** Reserves memory for the answer. */
  readonly room: AnswerRoom;
  /**
   * The output tokens of all choices that are paid for, if this number grows during the answer. An answer with a growing paid output is
   * requested from the provider as a stream, even if the caller receives JSON.
   */
  readonly outputPaid?: number;
  /** How the endpoint was chosen; absent if the endpoints of its model are tried in their order. */
  readonly spread: SpreadRecord | undefined;
}

/** An answer that has ended, with its record and its usage. */
export interface EndedAnswer {
  readonly running: Attempt;
  readonly record: AttemptRecord;
  readonly measured: MeasuredUsage;
}

/** A timeout counts against the endpoint only if at least this share of the endpoint's own time limit was left when the attempt began. */
const FAIR_SHARE = 0.9;
/**
 * If the endpoint was silent for this share of its time limit, the attempt counts against the endpoint even if the caller disconnected. If
 * such attempts did not count, Signalbox would choose a silent endpoint again and again for impatient callers.
 */
const SILENT_SHARE = 0.5;

/** An attempt at an endpoint: the call of the provider, the measurements, and the report on the endpoint's health. */
export class Attempt {
  readonly way: RankedUpstream;
  readonly model: Model;
  readonly endpoint: Endpoint;
  readonly call: UpstreamCall;
  readonly meter: Meter;
  /** The fields of the request that were left out, as `platform.dropped` names them. */
  readonly dropped: readonly string[];
  /** The request that was sent to the endpoint, and the changes to make to the answer. */
  readonly fitted: EndpointCall;
  /** The output tokens that are paid for, of all choices. */
  outputPaid: number;
  /** The cost that the answer states, known once the attempt has a record; undefined if it states none. */
  stated: Microcredits | undefined = undefined;
  readonly #runnable: RunnableRequest;
  readonly #spread: SpreadRecord | undefined;
  readonly #reporter: AttemptReporter;
  readonly #trace: CallTrace | null;
  readonly #openedAt: number;
  readonly #deadlineAt: number;
  readonly #isStream: boolean;
  /** The time within which the endpoint must send content, ms. */
  readonly #ownMs: number;
  /** When the reader of the answer began to wait, ms on the clock; NaN while the reader does not wait. */
  #waitsSince = Number.NaN;
  /** Whether the provider has sent the whole answer. */
  #hasEnded = false;
  /** How long steps have worked at the answer, ms, and since when one does, ms on the clock; NaN while none does. */
  #pausedMs = 0;
  #pausedSince = Number.NaN;

  /** Sends the request: when the constructor returns, the request is on its way. */
  constructor(
    way: RankedUpstream,
    reporter: AttemptReporter,
    runnable: RunnableRequest,
    { deadlineAt, hasOthers, room, outputPaid, spread }: AttemptLimits,
  ) {
    const { clock, context, decision } = runnable;
    const { model, endpoint } = way.upstream;
    this.way = way;
    this.#spread = spread;
    this.model = model;
    this.endpoint = endpoint;
    this.#runnable = runnable;
    this.#reporter = reporter;
    this.#isStream = runnable.request.stream || outputPaid !== undefined;
    const { addOns } = decision.facts;
    this.meter = new Meter(this.#isStream, addOns === undefined ? null : undividedUnit(endpoint.price, addOns));
    this.outputPaid = outputPaid ?? Number.POSITIVE_INFINITY;
    this.#openedAt = clock();
    if (Number.isNaN(context.exchange.dispatchedAt)) context.exchange.dispatchedAt = this.#openedAt;
    const patience = this.#patienceMs();
    this.#deadlineAt = hasOthers ? Math.min(deadlineAt, this.#openedAt + patience) : deadlineAt;
    this.#ownMs = Math.min(this.#isStream ? model.deadlines.firstTokenMs : patience, model.deadlines.totalMs);
    this.#trace = context.trace?.call() ?? null;
    this.fitted = callFor(runnable, way, this.#isStream);
    const { call, dropped } = this.fitted;
    const { open } = this.#kind;
    this.call = open
      ? open(way.upstream, call, model, (to, one) => this.#open(to, one, room))
      : this.#open(way.upstream, call, room);
    this.dropped = droppedPaths(runnable.dropped, dropped, this.call.dropped);
  }

  #open(target: UpstreamTarget, call: ProviderCall, room: AnswerRoom): UpstreamCall {
    const { deadlines } = this.model;
    const { alarms } = this.#runnable.runtime;
    const { room: limits } = this.way.upstream;
    const terms = { deadlines, totalBy: this.#deadlineAt, alarms, trace: this.#trace?.headers, room, limits };
    return openCall(target, call, terms);
  }

  /**
   * Returns the batch with the first content part, or the failure before the first content. While neither has arrived, the method returns a
   * promise; call the method again after the promise resolves.
   */
  content(): readonly StreamPart[] | ProviderFailure | Promise<void> {
    for (;;) {
      const batch = this.call.read();
      if (batch instanceof Promise) return batch;
      if (batch === null) return { kind: 'malformed', message: 'the answer ended without content' };
      const now = this.#runnable.clock();
      this.meter.observe(batch, now);
      const { failure } = this.meter;
      // If a batch has both the first content and a failure, the caller has not seen the content, so another endpoint may be tried.
      if (failure) return failure;
      if (this.meter.firstContentAt !== null) {
        // A whole answer shows how fast its endpoint is only if its length depends on the request alone.
        const isTimed = this.#isStream || !isConversation(this.#runnable.request.operation);
        this.#reporter.answered(isTimed ? (now - this.#openedAt) / this.#calls / this.#ttftFactor : null);
        return batch;
      }
    }
  }

  /** Returns the next parts of an answer that has begun. */
  read(): NextParts {
    const next = this.call.read();
    const now = this.#runnable.clock();
    if (next instanceof Promise) {
      if (Number.isNaN(this.#waitsSince)) this.#waitsSince = now;
      return next;
    }
    if (next) this.meter.observe(next, now);
    else this.#hasEnded = true;
    if (!Number.isNaN(this.#waitsSince)) this.meter.waited += now - this.#waitsSince;
    this.#waitsSince = Number.NaN;
    return next;
  }

  /** Notes that a step begins or ends its work at the answer. A provider may write meanwhile, but the time says nothing about how much. */
  pause(isPaused: boolean): void {
    const now = this.#runnable.clock();
    if (!Number.isNaN(this.#pausedSince)) this.#pausedMs += now - this.#pausedSince;
    this.#pausedSince = isPaused ? now : Number.NaN;
  }

  /** Ends the attempt with a complete answer. */
  completed(): EndedAnswer {
    const { meter, expected } = this;
    const now = this.#runnable.clock();
    const measured = completeUsage(meter, expected);
    const { usage } = measured;
    // The endpoint's speed is measured only if the reader did not slow down the stream, because a slow reader would make the endpoint look
    // slow.
    const visible = meter.isOwnPace ? usage.outputTokens - usage.reasoningTokens : 0;
    this.#reporter.read(usage.inputTokens, figureOf(usage, 'cache_read'));
    this.#reporter.completed(visible, meter.contentMs, this.#isStream ? null : this.#wholeMs(now), isWarm(usage));
    this.#learn(measured, expected);
    return { running: this, record: this.#record(null, usage), measured };
  }

  /** Returns the time of an unstreamed answer, without the time that its reader took, ms; NaN if this time is not known. */
  #wholeMs(now: number): number {
    const { firstContentAt, contentMs, isOwnPace } = this.meter;
    if (!isOwnPace) return Number.NaN;
    const endedAt = firstContentAt === null ? now : firstContentAt + contentMs;
    return endedAt - this.#openedAt - this.#extraMs;
  }

  /** Learns from a complete answer: which model wrote it, what the prompt cache has, and the usual length of answers. */
  #learn({ usage, estimated }: MeasuredUsage, expected: ExpectedTokens): void {
    const { runtime, history } = this.#runnable;
    const { facts, readings } = this.#runnable.decision;
    if (!isConversation(facts.operation)) return;
    const { provider } = this.way.upstream;
    // For a thread, the turns in the request are not everything that the provider has read, so the prompt cache is not updated.
    if (facts.thread === undefined && history.keeps(this.model, provider, usage.inputTokens))
      this.#noteAnswer(usage, expected);
    // Providers exist that report reasoning tokens as ordinary output.
    const isMixed = this.model.reasoningTokens > 0 && usage.reasoningTokens === 0;
    if (estimated || isMixed || this.meter.refused > 0) return;
    const tokens = (usage.outputTokens - usage.reasoningTokens) / facts.choices;
    const whole = { tokens, cap: this.way.ranked.outputCap, isCut: this.meter.isCut };
    const observed = observedLength(whole, this.model, facts, readings, runtime.snapshot);
    if (observed !== null) runtime.outputs.observe(facts.task, observed, history.keyId);
  }

  #noteAnswer(usage: Usage, expected: ExpectedTokens): void {
    const { runtime, history } = this.#runnable;
    const inputTokens = this.#cacheableTokens(usage);
    const share = usage.inputTokens > 0 ? inputTokens / usage.inputTokens : 0;
    const expectedTokens = Math.round(share * expected.inputTokens);
    const by = { model: this.model, endpoint: this.endpoint, account: stateAccount(this.way.upstream) };
    const read = { inputTokens, expectedTokens, at: this.#openedAt };
    history.noteAnswer(by, read, this.fitted.rewrite ?? this.meter, runtime.snapshot);
  }

  /**
   * Returns the tokens of the prompt that the provider's cache may have. If the provider bills cache writes separately, the provider writes
   * to its cache only on request and reports the writes. A provider that does not bill cache writes separately caches automatically.
   */
  #cacheableTokens(usage: Usage): number {
    const line = lineFor(this.endpoint.price, usage.inputTokens);
    if (this.meter.reported === null || rateOf(line, 'cache_write') === line.input) return usage.inputTokens;
    return figureOf(usage, 'cache_read') + figureOf(usage, 'cache_write');
  }

  /** Ends the attempt with a failure, before or after its first content. Returns the attempt's record. */
  failed(failure: ProviderFailure): AttemptRecord {
    const hasBegun = this.meter.firstContentAt !== null;
    // The deadline of the whole request may cut off a long answer although the endpoint never exceeded its own time limit.
    const isFair = this.#deadlineAt - this.#openedAt >= FAIR_SHARE * this.#ownMs;
    const isOwnFault = hasBegun ? this.#runnable.clock() < this.#deadlineAt : isFair;
    // An upstream may close the connection if its stream is not read for a long time.
    const isOwnCut = !hasBegun || this.meter.isOwnPace;
    const isBlamed = failure.kind === 'timeout' ? isOwnFault : failure.kind !== 'cut' || isOwnCut;
    if (isOfAskedModel(failure, this.model)) this.#missed(failure);
    else this.#reporter.failed(failure, isBlamed && !failure.ofModel);
    this.#tellUnknown(failure);
    return this.#record(failure, this.meter.reported);
  }

  /** Reports an unknown model, so that Signalbox polls a server of the operator again. */
  #tellUnknown(failure: ProviderFailure): void {
    const { unknownNames } = this.#runnable.runtime;
    if (isUnknownName(failure, this.endpoint.upstream)) unknownNames.onUnknown(this.way.upstream.account);
  }

  /** Notes that the provider found no model, for a request whose model the caller chose. */
  #missed(failure: ProviderFailure): void {
    const { unknownNames } = this.#runnable.runtime;
    const { upstream } = this.endpoint;
    if (isUnknownName(failure, upstream)) unknownNames.note(this.way.upstream.account, upstream);
    this.#reporter.dropped();
  }

  /**
   * Ends an attempt that no longer has a reader. Returns the attempt's record.
   *
   * @param byCaller true if the caller disconnected, false if the gateway gave up the attempt
   * @param whole the usage to charge for an answer that ended at its stop sequences, and is therefore complete for its caller; null for
   * other answers
   */
  left(byCaller: boolean, whole: MeasuredUsage | null = null): AttemptRecord {
    this.call.abort();
    if (whole) this.#learn(whole, this.expected);
    const isSilent =
      byCaller && this.call.sent && this.meter.firstContentAt === null && this.tookMs >= SILENT_SHARE * this.#ownMs;
    if (isSilent) this.#reporter.failed({ kind: 'timeout', message: 'the caller did not wait for it' }, true);
    else this.#reporter.dropped();
    return this.#record(null, this.meter.reported);
  }

  get expected(): ExpectedTokens {
    const { facts } = this.#runnable.decision;
    return {
      inputTokens: expectedInput(facts, this.model),
      outputMax: Math.min(this.way.ranked.outputCap * facts.choices, this.outputPaid),
    };
  }

  /**
   * Ends an attempt whose answer was cut off for lack of money.
   * @param most the most tokens that the provider may bill
   */
  cutShort(most: ExpectedTokens): EndedAnswer {
    return { running: this, record: this.left(false), measured: this.abortedUsage(most) };
  }

  /**
   * Returns the usage to charge for an aborted answer of a provider that stops generating: what the provider may bill, up to what was held.
   */
  abortedUsage({ inputTokens, outputMax }: ExpectedTokens): MeasuredUsage {
    return cutUsage(this.meter, { inputTokens, outputMax: Math.min(outputMax, this.expected.outputMax) });
  }

  /** Whether the provider has ended all choices. It may still report the usage. */
  get hasFinished(): boolean {
    return this.meter.finished >= this.#runnable.decision.facts.choices;
  }

  /** The usage of an answer that the provider has sent to its end, whatever became of it; null for any other answer. */
  get whole(): MeasuredUsage | null {
    const { meter } = this;
    const isReported = this.#hasEnded || (meter.reported !== null && !meter.isOutdated);
    return this.hasFinished && isReported ? completeUsage(meter, this.expected) : null;
  }

  /**
   * Returns the usage to charge for an incomplete answer: see `brokenUsage`. If the gateway closed the connection, a provider that stops
   * generating is charged with its margin. A provider that bills the whole answer is charged with its worst case, because Signalbox does
   * not know how much the provider generated. Hidden reasoning can only be estimated from elapsed time. Signalbox assumes a high rate of
   * hidden reasoning, so that disconnecting early is not free.
   * @param failure how the answer broke off; null if the caller disconnected
   */
  broken(failure: ProviderFailure | null): MeasuredUsage {
    const { readings, facts } = this.#runnable.decision;
    const isClosedHere = failure === null || failure.kind === 'timeout';
    const billing = this.#billing;
    if (isClosedHere && billing.bills === 'whole') {
      return this.hasFinished ? completeUsage(this.meter, this.expected) : cutUsage(this.meter, this.expected);
    }
    // The time for which steps worked counts as no output: what the provider wrote meanwhile has been read, or is in its margin.
    const clock = this.#runnable.clock();
    const now = clock - this.#pausedMs - (Number.isNaN(this.#pausedSince) ? 0 : clock - this.#pausedSince);
    const expectedAt = this.#openedAt + readings.ttftMs[this.way.upstream.slot]! + this.#extraMs;
    const begunAt = this.meter.firstContentAt ?? (this.#mayHide ? now : expectedAt);
    const tokensPerSecond = readings.tokensPerSecond[this.way.upstream.slot]! * facts.choices;
    const thinkingPace = this.#mayHide ? tokensPerSecond * (failure === null ? PACE_FACTOR : 1) : 0;
    return brokenUsage(this.meter, {
      ...this.expected,
      tokensPerSecond,
      outputMs: now - begunAt,
      thought: Math.ceil((thinkingPace * (begunAt - this.#openedAt)) / 1_000),
      margin: isClosedHere && billing.bills === 'stops' ? marginOf(billing, tokensPerSecond) : 0,
    });
  }

  get health(): EndpointHealth {
    return this.way.upstream.health;
  }

  get #billing(): AbortBilling {
    return abortBillingOf(this.endpoint, this.#runnable.runtime.snapshot.providers);
  }

  /** Whether the model may have reasoned before its first content without a report of reasoning tokens. */
  get #mayHide(): boolean {
    if (this.meter.reported && this.meter.reported.reasoningTokens > 0) return false;
    return mayHide(this.way.upstream, this.#runnable.request);
  }

  /**
   * Whether to abort the call, because all choices have ended and at least one ended at a stop sequence. The call is not aborted if the
   * provider ended all choices itself, because the provider then reports the usage at once, or if the provider bills the whole answer,
   * because the provider reports the usage at the end.
   */
  get isOver(): boolean {
    const isOpen = this.meter.finished < this.#runnable.decision.facts.choices;
    return isOpen && this.fitted.rewrite?.isOver === true && this.#billing.bills !== 'whole';
  }

  /**
   * Returns how long an attempt may take while other endpoints are left, in ms. A stream must send its first content within the time limit.
   * An answer without streaming sends nothing before its end, so the limit is the time for the first token plus twice the time of its
   * longest output at the model's speed.
   */
  #patienceMs(): number {
    const { deadlines } = this.model;
    if (this.#isStream) return deadlines.totalMs;
    const { readings } = this.#runnable.decision;
    const firstMs = deadlines.firstTokenMs * this.#calls;
    const needed = firstMs + (2_000 * this.way.ranked.outputCap) / readings.tokensPerSecond[this.way.upstream.slot]!;
    // Without an output limit by the caller, `needed` exceeds the whole deadline and would leave no time for other endpoints.
    return Math.min(needed, deadlines.totalMs / 2);
  }

  /** The expected time to the first content, as a multiple of the usual time. */
  get #ttftFactor(): number {
    if (!this.model.mayReason) return 1;
    const { facts, readings } = this.#runnable.decision;
    return ttftFactor(
      this.model,
      this.way.upstream.at,
      readings,
      expectedWriting(facts, this.#runnable.runtime.snapshot, readings),
    );
  }

  /** The expected time to the first content beyond the usual time, ms; negative if it is shorter. */
  get #extraMs(): number {
    return (this.#ttftFactor - 1) * this.#runnable.decision.readings.ttftMs[this.way.upstream.slot]!;
  }

  get #kind(): KindOfCall {
    return KINDS[this.#runnable.request.operation];
  }

  /** The number of calls that the attempt makes. */
  get #calls(): number {
    return this.#kind.calls(this.model, this.#runnable.decision.facts);
  }

  /** How long the attempt has taken so far, ms. */
  get tookMs(): number {
    return this.#runnable.clock() - this.#openedAt;
  }

  /** The service tier that the provider was asked for, and the one that its answer states. */
  get serviceTier(): BilledTier {
    const { call, passedTier } = this.fitted;
    return { asked: call.serviceTier ?? passedTier ?? null, served: this.meter.serviceTier };
  }

  /** The tier that the answer states, unless it is the default one and nobody asked for a tier. */
  get #shownTier(): string | undefined {
    const { asked, served } = this.serviceTier;
    if (served === DEFAULT_TIER && pricedTier(asked ?? undefined) === undefined) return undefined;
    return served ?? undefined;
  }

  /** Makes the record of the attempt, which has ended, and ends its trace with the known `usage`. */
  #record(failure: ProviderFailure | null, usage: Usage | null): AttemptRecord {
    const { firstContentAt } = this.meter;
    const record: AttemptRecord = {
      model: this.model.id,
      provider: this.endpoint.provider,
      upstream: this.endpoint.upstream,
      startMs: Math.round(this.#openedAt - this.#runnable.startedAt),
      ms: Math.round(this.tookMs),
      firstPartMs: firstContentAt === null ? null : Math.round(firstContentAt - this.#openedAt),
      failure: failure?.kind ?? null,
      endpoint: this.way.upstream.at,
      requestId: this.call.requestId,
      finishReasons: this.meter.finishReasons,
      key: this.way.upstream.pooled?.label,
      spread: this.#spread,
      serviceTier: this.meter.serviceTier === null ? undefined : this.#shownTier,
    };
    if (this.#trace && this.#runnable.context.trace?.isSampled) this.#endTrace(this.#trace, record, usage);
    return this.meter.statedUsd === null ? record : this.#withStated(record, this.meter.statedUsd);
  }

  /** Adds the cost that the answer states. A cost that cannot be true is ignored. */
  #withStated(record: AttemptRecord, usd: string): AttemptRecord {
    this.stated = statedCredits(usd, this.#runnable.runtime.snapshot.usdPerCredit) ?? undefined;
    return this.stated === undefined ? record : { ...record, stated: this.stated };
  }

  #endTrace(trace: CallTrace, attempt: AttemptRecord, usage: Usage | null): void {
    const { request } = this.#runnable;
    const { endpoint, provider } = this.way.upstream;
    const { outputCap } = this.way.ranked;
    trace.end(callSpan({ provider, endpoint, request, outputCap, attempt, usage }));
  }
}

/** Whether the provider had so much of the prompt in its cache that the first token came sooner. */
const isWarm = (usage: Usage): boolean =>
  usage.inputTokens > 0 && figureOf(usage, 'cache_read') >= WARM_SHARE * usage.inputTokens;
