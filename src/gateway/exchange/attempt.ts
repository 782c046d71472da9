import type { ProviderFailure, StreamPart } from '../../contract/parts.ts';
import type { ProviderCall } from '../../contract/provider.ts';
import { type AbortBilling, abortBillingOf } from '../../core/abort-billing.ts';
import type { RankedEndpoint } from '../../core/decision.ts';
import type { AttemptRecord } from '../../core/decision-record.ts';
import { lineFor } from '../../core/price.ts';
import type { Endpoint, Model } from '../../core/snapshot.ts';
import type { Usage } from '../../core/usage.ts';
import type { CallTrace } from '../../host/telemetry/trace.ts';
import { openCall } from '../../providers/call.ts';
import { openEmbeddings } from '../../providers/embeddings.ts';
import type { AttemptReporter, EndpointHealth } from '../../providers/health/types.ts';
import type { AnswerRoom, NextParts, UpstreamCall, UpstreamTarget } from '../../providers/upstream-call.ts';
import { expectedWriting, ttftFactor, WARM_SHARE } from '../../routing/estimate.ts';
import { expectedInput } from '../../routing/input-tokens.ts';
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
  /** Whether other endpoints are left: an answer in one piece then gets no more time than it should need. */
  readonly hasOthers: boolean;
  /** Takes memory for the answer. */
  readonly room: AnswerRoom;
  /** Output tokens of all choices that are paid for, if that grows: then it is a stream, whatever the caller gets. */
  readonly outputPaid?: number;
}

/** A timeout is the endpoint's fault only if at least this share of its own time was left when it began. */
const FAIR_SHARE = 0.9;
/** An endpoint that was silent for this share of its time is at fault even if the caller left: else impatient callers would choose it for ever. */
const SILENT_SHARE = 0.5;

/** One attempt at one endpoint: its call, its measurements, and its report on the endpoint's health. */
export class Attempt {
  readonly way: RankedEndpoint;
  readonly model: Model;
  readonly endpoint: Endpoint;
  readonly health: EndpointHealth;
  readonly call: UpstreamCall;
  readonly meter: Meter;
  /** The fields of the request that were left out, as `platform.dropped` names them. */
  readonly dropped: readonly string[];
  /** Its request as the endpoint got it, and what becomes of the answer. */
  readonly fitted: EndpointCall;
  /** Output tokens that are paid for, of all choices. */
  outputPaid: number;
  readonly #runnable: RunnableRequest;
  readonly #reporter: AttemptReporter;
  readonly #trace: CallTrace | null;
  readonly #slot: number;
  readonly #openedAt: number;
  readonly #deadlineAt: number;
  readonly #isStream: boolean;
  /** The time within which the endpoint must show content, ms. */
  readonly #ownMs: number;
  /** When its reader began to wait, ms on the clock; NaN while it does not. */
  #waitsSince = Number.NaN;

  /** Sends the request: it is on its way when this returns. */
  constructor(
    way: RankedEndpoint,
    reporter: AttemptReporter,
    runnable: RunnableRequest,
    { deadlineAt, hasOthers, room, outputPaid }: AttemptLimits,
  ) {
    const { runtime, clock, context } = runnable;
    const { ranked, at } = way;
    const model = runtime.snapshot.models[ranked.model]!;
    const endpoint = model.endpoints[at]!;
    this.way = way;
    this.model = model;
    this.endpoint = endpoint;
    this.health = runtime.health[ranked.model]![at]!;
    this.#runnable = runnable;
    this.#reporter = reporter;
    this.#slot = model.firstSlot + at;
    this.#isStream = runnable.request.stream || outputPaid !== undefined;
    this.meter = new Meter(this.#isStream);
    this.outputPaid = outputPaid ?? Number.POSITIVE_INFINITY;
    this.#openedAt = clock();
    if (Number.isNaN(context.dispatchedAt)) context.dispatchedAt = this.#openedAt;
    const patience = this.#patienceMs();
    this.#deadlineAt = hasOthers ? Math.min(deadlineAt, this.#openedAt + patience) : deadlineAt;
    this.#ownMs = Math.min(this.#isStream ? model.deadlines.firstTokenMs : patience, model.deadlines.totalMs);
    this.#trace = context.trace?.call() ?? null;
    const target = runtime.targets[ranked.model]![at]!;
    this.fitted = callFor(runnable, way, this.#isStream, target.adapter);
    const { call, dropped } = this.fitted;
    this.call = call.request.embedding ? this.#embed(target, call, room) : this.#open(target, call, room);
    this.dropped = droppedPaths(runnable.dropped, dropped, this.call.dropped);
  }

  #open(target: UpstreamTarget, call: ProviderCall, room: AnswerRoom): UpstreamCall {
    const { deadlines } = this.model;
    const { alarms } = this.#runnable.runtime;
    return openCall(target, call, { deadlines, totalBy: this.#deadlineAt, alarms, trace: this.#trace?.headers, room });
  }

  #embed(target: UpstreamTarget, call: ProviderCall, room: AnswerRoom): UpstreamCall {
    const { embedding: query } = call.request;
    const { embedding } = this.model;
    if (!query || !embedding) return this.#open(target, call, room);
    return openEmbeddings(target, call, query, embedding, (to, one) => this.#open(to, one, room));
  }

  /** Returns the batch with the first content part, or the failure before it; a promise while neither has come, then ask again. */
  content(): readonly StreamPart[] | ProviderFailure | Promise<void> {
    for (;;) {
      const batch = this.call.read();
      if (batch instanceof Promise) return batch;
      if (batch === null) return { kind: 'malformed', message: 'the answer ended without content' };
      const now = this.#runnable.clock();
      this.meter.observe(batch, now);
      const { failure } = this.meter;
      // A batch can hold both the first content and the failure. Its content was never shown, so another endpoint may try.
      if (failure) return failure;
      if (this.meter.firstContentAt !== null) {
        const isTimed = this.#isStream || this.#calls > 0;
        this.#reporter.answered(isTimed ? (now - this.#openedAt) / Math.max(1, this.#calls) / this.#ttftFactor : null);
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
    if (!Number.isNaN(this.#waitsSince)) this.meter.waited += now - this.#waitsSince;
    this.#waitsSince = Number.NaN;
    return next;
  }

  /** Ends the attempt with a whole answer. Returns its record and its usage. */
  completed(): { readonly record: AttemptRecord; readonly measured: MeasuredUsage } {
    const { meter } = this;
    const now = this.#runnable.clock();
    const measured = completeUsage(meter, this.expected);
    const { usage } = measured;
    // A slow reader would make the endpoint look slow.
    const visible = meter.isOwnPace ? usage.outputTokens - usage.reasoningTokens : 0;
    this.#reporter.completed(
      visible,
      meter.contentMs,
      this.#isStream ? null : now - this.#openedAt - this.#extraMs,
      isWarm(usage),
    );
    this.#learn(measured);
    return { record: this.#record(null, usage), measured };
  }

  /** Learns from a whole answer: its writer, the prompt cache, and the usual length of answers. */
  #learn(measured: MeasuredUsage): void {
    const { runtime, history } = this.#runnable;
    const { facts, readings } = this.#runnable.decision;
    if (facts.operation !== 'chat') return;
    const { usage, estimated } = measured;
    const inputTokens = this.#cacheableTokens(measured);
    const share = usage.inputTokens > 0 ? inputTokens / usage.inputTokens : 0;
    const expectedTokens = Math.round(share * this.expected.inputTokens);
    const read = { inputTokens, expectedTokens, at: this.#openedAt };
    const answer = this.fitted.rewrite ?? this.meter;
    // The turns of a thread are not what its service has read.
    if (facts.thread === undefined) history.noteAnswer(this.model, this.endpoint, read, answer, runtime.snapshot);
    // Some providers report reasoning as ordinary output.
    const isMixed = this.model.reasoningTokens > 0 && usage.reasoningTokens === 0;
    if (estimated || isMixed || this.meter.isFiltered) return;
    const tokens = (usage.outputTokens - usage.reasoningTokens) / facts.choices;
    const whole = { tokens, cap: this.way.ranked.outputCap, isCut: this.meter.isCut };
    const observed = observedLength(whole, this.model, facts, readings, runtime.snapshot);
    if (observed !== null) runtime.outputs.observe(facts.task, observed, history.keyId);
  }

  /**
   * Returns the tokens of the prompt that the provider's cache may hold. Where cache writes are billed apart, they happen on
   * request and are reported; elsewhere the provider caches by itself.
   */
  #cacheableTokens({ usage }: MeasuredUsage): number {
    const { input, cacheWrite } = lineFor(this.endpoint.price, usage.inputTokens);
    if (this.meter.reported === null || cacheWrite === input) return usage.inputTokens;
    return usage.cachedInputTokens + usage.cacheWriteTokens;
  }

  /** Ends the attempt with a failure, before or after its first content. Returns its record. */
  failed(failure: ProviderFailure): AttemptRecord {
    const hasBegun = this.meter.firstContentAt !== null;
    // The deadline of the whole request may cut a long answer that was never late.
    const isFair = this.#deadlineAt - this.#openedAt >= FAIR_SHARE * this.#ownMs;
    const isOwnFault = hasBegun ? this.#runnable.clock() < this.#deadlineAt : isFair;
    // An upstream whose stream is not read for long may hang up.
    const isOwnCut = !hasBegun || this.meter.isOwnPace;
    const isBlamed = failure.kind === 'timeout' ? isOwnFault : failure.kind !== 'cut' || isOwnCut;
    if (isOfAskedModel(failure, this.model)) this.#missed(failure);
    else this.#reporter.failed(failure, isBlamed && !failure.ofModel);
    return this.#record(failure, this.meter.reported);
  }

  /** The service found nothing for a request whose model the caller chose. */
  #missed(failure: ProviderFailure): void {
    const { unknownNames, originOf } = this.#runnable.runtime;
    const { provider, upstream } = this.endpoint;
    if (isUnknownName(failure, upstream)) unknownNames.note(originOf(provider), upstream);
    this.#reporter.dropped();
  }

  /**
   * Ends an attempt that has no reader any more. Returns its record.
   *
   * @param byCaller true when the caller left, false when the gateway gave it up
   * @param whole what is charged for an answer that has ended at its stops, and so is whole to its caller; null for another
   */
  left(byCaller: boolean, whole: MeasuredUsage | null = null): AttemptRecord {
    this.call.abort();
    if (whole) this.#learn(whole);
    const isSilent =
      byCaller && this.call.sent && this.meter.firstContentAt === null && this.#tookMs() >= SILENT_SHARE * this.#ownMs;
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
   * Ends an attempt whose answer was ended for want of money. Returns its record and its usage.
   * @param most the tokens that its service may bill
   */
  cutShort(most: ExpectedTokens): { readonly record: AttemptRecord; readonly measured: MeasuredUsage } {
    return { record: this.left(false), measured: this.abortedUsage(most) };
  }

  /** Returns the usage to charge for an aborted answer of a service that stops: what it may bill, within what was held. */
  abortedUsage({ inputTokens, outputMax }: ExpectedTokens): MeasuredUsage {
    return cutUsage(this.meter, { inputTokens, outputMax: Math.min(outputMax, this.expected.outputMax) });
  }

  /**
   * Returns the usage to charge for an answer without its end: see `brokenUsage`.
   * Where the gateway closed the connection, a service that stops has its margin, and one that bills the whole answer then the most
   * that it can be: nothing more is known of it. Nothing but time tells of hidden thought, so that nobody gets it for nothing who
   * leaves behind it, its pace is taken high.
   * @param failure how it broke off; null where it was left
   */
  broken(failure: ProviderFailure | null): MeasuredUsage {
    const { readings, facts } = this.#runnable.decision;
    const isClosedHere = failure === null || failure.kind === 'timeout';
    const billing = this.#billing;
    if (isClosedHere && billing.bills === 'whole') {
      const isWhole = this.meter.finished >= facts.choices;
      return isWhole ? completeUsage(this.meter, this.expected) : cutUsage(this.meter, this.expected);
    }
    const now = this.#runnable.clock();
    const expectedAt = this.#openedAt + readings.ttftMs[this.#slot]! + this.#extraMs;
    const begunAt = this.meter.firstContentAt ?? (this.#mayHide ? now : expectedAt);
    const tokensPerSecond = readings.tokensPerSecond[this.#slot]! * facts.choices;
    const thinkingPace = this.#mayHide ? tokensPerSecond * (failure === null ? PACE_FACTOR : 1) : 0;
    return brokenUsage(this.meter, {
      ...this.expected,
      tokensPerSecond,
      outputMs: now - begunAt,
      thought: Math.ceil((thinkingPace * (begunAt - this.#openedAt)) / 1_000),
      margin: isClosedHere && billing.bills === 'stops' ? marginOf(billing, tokensPerSecond) : 0,
    });
  }

  get #billing(): AbortBilling {
    return abortBillingOf(this.endpoint, this.#runnable.runtime.snapshot.providers);
  }

  /** Whether the model may have thought before its first content, and no report has said so. */
  get #mayHide(): boolean {
    if (this.meter.reported && this.meter.reported.reasoningTokens > 0) return false;
    const { request, runtime } = this.#runnable;
    return mayHide(this.model, this.endpoint, runtime.snapshot.providers.get(this.endpoint.provider)!, request);
  }

  /**
   * Whether its call is to be aborted, since all choices have ended, one of them at a stop. A service that has ended them all by
   * itself tells its usage at once, and one that bills the whole answer tells it at the end.
   */
  get isOver(): boolean {
    const isOpen = this.meter.finished < this.#runnable.decision.facts.choices;
    return isOpen && this.fitted.rewrite?.isOver === true && this.#billing.bills !== 'whole';
  }

  /**
   * Returns how long an attempt may take while other endpoints are left, in ms. A stream shows life by its
   * first content; an answer in one piece shows none before its end, so it has the time for the first
   * token and twice what its longest output takes at the model's pace.
   */
  #patienceMs(): number {
    const { deadlines } = this.model;
    if (this.#isStream) return deadlines.totalMs;
    const { readings } = this.#runnable.decision;
    const firstMs = deadlines.firstTokenMs * Math.max(1, this.#calls);
    const needed = firstMs + (2_000 * this.way.ranked.outputCap) / readings.tokensPerSecond[this.#slot]!;
    // Without a cap by the caller, `needed` exceeds the whole deadline and would leave nothing for the others.
    return Math.min(needed, deadlines.totalMs / 2);
  }

  /** The expected time to the first content, as a multiple of the usual one. */
  get #ttftFactor(): number {
    if (!this.model.mayReason) return 1;
    const { facts, readings } = this.#runnable.decision;
    return ttftFactor(
      this.model,
      this.way.at,
      readings,
      expectedWriting(facts, this.#runnable.runtime.snapshot, readings),
    );
  }

  /** The expected time to the first content beyond the usual one, ms; below 0 for less. */
  get #extraMs(): number {
    return (this.#ttftFactor - 1) * this.#runnable.decision.readings.ttftMs[this.#slot]!;
  }

  /** The calls that its vectors take; 0 for another answer. */
  get #calls(): number {
    const { embedding: facts } = this.#runnable.decision.facts;
    const { embedding } = this.model;
    return facts && embedding ? Math.ceil(facts.inputs / embedding.batchInputs) : 0;
  }

  #tookMs(): number {
    return this.#runnable.clock() - this.#openedAt;
  }

  /** Makes the record of the attempt, which is over, and ends its trace with the known `usage`. */
  #record(failure: ProviderFailure | null, usage: Usage | null): AttemptRecord {
    const { firstContentAt } = this.meter;
    const record: AttemptRecord = {
      model: this.model.id,
      provider: this.endpoint.provider,
      upstream: this.endpoint.upstream,
      startMs: Math.round(this.#openedAt - this.#runnable.startedAt),
      ms: Math.round(this.#tookMs()),
      firstPartMs: firstContentAt === null ? null : Math.round(firstContentAt - this.#openedAt),
      failure: failure?.kind ?? null,
      endpoint: this.way.at,
      requestId: this.call.requestId,
      finishReasons: this.meter.finishReasons,
    };
    if (this.#trace && this.#runnable.context.trace?.isSampled) this.#endTrace(this.#trace, record, usage);
    return record;
  }

  #endTrace(trace: CallTrace, attempt: AttemptRecord, usage: Usage | null): void {
    const { request, runtime } = this.#runnable;
    const { endpoint } = this;
    const provider = runtime.snapshot.providers.get(endpoint.provider)!;
    const { outputCap } = this.way.ranked;
    trace.end(callSpan({ provider, endpoint, request, outputCap, attempt, usage }));
  }
}

/** Whether the provider had so much of the prompt in its cache that the first token came sooner. */
const isWarm = (usage: Usage): boolean =>
  usage.inputTokens > 0 && usage.cachedInputTokens >= WARM_SHARE * usage.inputTokens;
