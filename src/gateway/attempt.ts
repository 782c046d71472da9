import { isContent, type ProviderFailure, type StreamPart } from '../contract/parts.ts';
import type { ProviderCall } from '../contract/provider.ts';
import { traitsOf } from '../contract/traits.ts';
import type { AttemptRecord } from '../core/decision-record.ts';
import type { Facts } from '../core/facts.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { lineFor } from '../core/price.ts';
import type { Readings } from '../core/readings.ts';
import type { Endpoint, Model } from '../core/snapshot.ts';
import { isPlausible, type Usage } from '../core/usage.ts';
import { expectedInput, expectedWriting, ttftFactor, WARM_SHARE } from '../routing/estimate.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { CallTrace } from '../telemetry/trace.ts';
import { openCall } from '../upstream/call.ts';
import type { AttemptReporter, EndpointHealth } from '../upstream/health/health.ts';
import type { ReserveBytes, UpstreamCall } from '../upstream/upstream-call.ts';
import type { PromptHistory } from './affinity.ts';
import { failureIn } from './failure.ts';
import { brokenUsage, completeUsage, type ExpectedTokens, type MeasuredUsage, Meter } from './meter.ts';
import { callSpan } from './observe/spans.ts';
import type { RankedEndpoint } from './plan.ts';
import { withReadableState } from './reasoning-state.ts';
import type { RequestContext } from './request-context.ts';
import { shown, sortExtras } from './screen.ts';

export interface AttemptContext {
  readonly runtime: Runtime;
  readonly request: ModelRequest;
  readonly history: PromptHistory;
  readonly facts: Facts;
  readonly readings: Readings;
  /** Milliseconds on a clock that never goes back. */
  readonly clock: () => number;
  /** Told what is done; null where nobody looks. */
  readonly requestContext: RequestContext | null;
  readonly makeRoom: ReserveBytes;
}

export interface AttemptTime {
  /** When the request must be answered, ms on the clock. */
  readonly deadlineAt: number;
  /** Others could still be tried: an answer in one piece gets no more time than it should need. */
  readonly hasOthers: boolean;
}

/** Characters shown of the path of a field that was left out. */
const PATH_SHOWN = 128;
/** Of the time that an endpoint may take, so much must have been left for a timeout to be its fault. */
const FAIR_SHARE = 0.9;
/** An endpoint that has shown nothing for this share of it is at fault although its caller left: else who is impatient would never learn better. */
const SILENT_SHARE = 0.5;

/** One attempt at one endpoint: its call, what it was seen to do, and what that tells of the endpoint. */
export class Attempt {
  readonly way: RankedEndpoint;
  readonly model: Model;
  readonly endpoint: Endpoint;
  readonly health: EndpointHealth;
  readonly call: UpstreamCall;
  readonly meter = new Meter();
  readonly dropped: readonly string[];
  readonly #context: AttemptContext;
  readonly #trial: AttemptReporter;
  readonly #trace: CallTrace | null;
  readonly #slot: number;
  readonly #openedAt: number;
  readonly #deadlineAt: number;
  readonly #isStream: boolean;
  /** Within what time the endpoint must show something, ms. */
  readonly #ownMs: number;

  /** The request is on its way when this returns. */
  constructor(
    way: RankedEndpoint,
    trial: AttemptReporter,
    context: AttemptContext,
    { deadlineAt, hasOthers }: AttemptTime,
  ) {
    const { runtime, clock, requestContext, makeRoom } = context;
    const { ranked, at } = way;
    const model = runtime.snapshot.models[ranked.model]!;
    const endpoint = model.endpoints[at]!;
    const { request, dropped } = readable(context, model);
    const extras = sortExtras(request, runtime.snapshot.providers.get(endpoint.provider)!);
    this.way = way;
    this.model = model;
    this.endpoint = endpoint;
    this.health = runtime.health[ranked.model]![at]!;
    this.#context = context;
    this.#trial = trial;
    this.#slot = model.firstSlot + at;
    this.#isStream = request.stream;
    this.#openedAt = clock();
    if (requestContext && Number.isNaN(requestContext.dispatchedAt)) requestContext.dispatchedAt = this.#openedAt;
    const patience = this.#patienceMs();
    this.#deadlineAt = hasOthers ? Math.min(deadlineAt, this.#openedAt + patience) : deadlineAt;
    this.#ownMs = Math.min(this.#isStream ? model.deadlines.firstTokenMs : patience, model.deadlines.totalMs);
    const call: ProviderCall = {
      upstream: endpoint.upstream,
      request,
      extras: extras.passed,
      stream: this.#isStream,
      outputCap: ranked.outputCap,
      model: traitsOf(model),
    };
    this.#trace = requestContext?.trace?.call() ?? null;
    const target = runtime.targets[ranked.model]![at]!;
    this.call = openCall(target, call, model.deadlines, this.#deadlineAt, this.#trace?.headers, makeRoom);
    // An adapter names fields by their paths: of a long conversation there are thousands, and a caller's own names are of any length.
    const own = shown(this.call.dropped.map((path) => path.slice(0, PATH_SHOWN)));
    const left = [...extras.dropped, ...dropped];
    this.dropped = left.length === 0 ? own : [...left, ...own];
  }

  /** The batch with the first content part, or the failure that came before it. */
  async awaitContent(): Promise<readonly StreamPart[] | ProviderFailure> {
    for (;;) {
      const batch = await this.call.read();
      if (batch === null) return { kind: 'malformed', message: 'the answer ended without content' };
      const now = this.#context.clock();
      this.meter.observe(batch, now);
      const failure = failureIn(batch);
      // A batch can hold the first content and the break; the content was then never shown, so another may try.
      if (failure) return failure;
      if (batch.some(isContent)) {
        this.#trial.answered(this.#isStream ? (now - this.#openedAt) / this.#ttftFactor : null);
        return batch;
      }
    }
  }

  /** The next batch of an answer that has begun. */
  async read(): Promise<readonly StreamPart[] | null> {
    const asked = this.#context.clock();
    const batch = await this.call.read();
    const now = this.#context.clock();
    if (batch) this.meter.observe(batch, now);
    this.meter.waited += now - asked;
    return batch;
  }

  /** The answer came to its end: what is kept of it, and what it used. */
  completed(): { readonly record: AttemptRecord; readonly measured: MeasuredUsage } {
    const { meter } = this;
    const now = this.#context.clock();
    const measured = completeUsage(meter, this.expected);
    const { usage } = measured;
    // Who reads slowly would make the endpoint look slow.
    const visible = meter.isOwnPace ? usage.outputTokens - usage.reasoningTokens : 0;
    this.#trial.completed(
      visible,
      meter.contentMs,
      this.#isStream ? null : now - this.#openedAt - this.#extraMs,
      isWarm(usage),
    );
    this.#learn(measured);
    return { record: this.#record(null, usage), measured };
  }

  /** What a whole answer tells about those to come. */
  #learn({ usage, estimated }: MeasuredUsage): void {
    const { runtime, history, facts, readings } = this.#context;
    const isSound = isPlausible(usage);
    const inputTokens = isSound ? this.#cacheableTokens({ usage, estimated }) : 0;
    const share = isSound && usage.inputTokens > 0 ? inputTokens / usage.inputTokens : 0;
    const expectedTokens = Math.round(share * this.expected.inputTokens);
    const read = { inputTokens, expectedTokens, at: this.#openedAt, mark: this.meter.mark.value };
    history.noteAnswer(this.model, this.endpoint, read, runtime.snapshot);
    // Some report what was reasoned as output like any other.
    const isMixed = this.model.reasoningTokens > 0 && usage.reasoningTokens === 0;
    if (estimated || !isSound || isMixed || this.meter.isFiltered) return;
    const usual = readings.outputTokens[runtime.snapshot.taskIndex.get(facts.task) ?? 0]!;
    if (!isOpenEnded(facts, usual, this.way.ranked.outputCap)) return;
    const tokens = (usage.outputTokens - usage.reasoningTokens) / facts.choices;
    // An answer cut at the cap is at least so long: without these a median would be that of the short ones. Where the
    // model reasons, the cut may have come before it said anything.
    if (this.meter.isCut && (this.model.reasoningTokens > 0 || tokens < usual)) return;
    runtime.outputs.observe(facts.task, tokens, history.keyId);
  }

  /**
   * Of the prompt, what the provider's cache may have. Where writing to it is billed apart, it is done when told to, and
   * reported; elsewhere it goes by itself.
   */
  #cacheableTokens({ usage, estimated }: MeasuredUsage): number {
    const { input, cacheWrite } = lineFor(this.endpoint.price, usage.inputTokens);
    if (estimated || cacheWrite === input) return usage.inputTokens;
    return usage.cachedInputTokens + usage.cacheWriteTokens;
  }

  /** The answer failed, or broke off. */
  failed(failure: ProviderFailure): AttemptRecord {
    const hasBegun = this.meter.firstContentAt !== null;
    // A long answer may be cut by the deadline of the whole without being late at any time.
    const isFair = this.#deadlineAt - this.#openedAt >= FAIR_SHARE * this.#ownMs;
    const isOwnFault = hasBegun ? this.#context.clock() < this.#deadlineAt : isFair;
    // Who is not read for long may hang up.
    const isOwnCut = !hasBegun || this.meter.isOwnPace;
    const isBlamed = failure.kind === 'timeout' ? isOwnFault : failure.kind !== 'cut' || isOwnCut;
    this.#trial.failed(failure, isBlamed && !failure.ofModel);
    return this.#record(failure, this.meter.reported);
  }

  /** Nobody waits for it any more; `byCaller`: because the caller left, and not by a need of the gateway's own. */
  left(byCaller: boolean): AttemptRecord {
    const isSilent =
      byCaller && this.call.sent && this.meter.firstContentAt === null && this.#tookMs() >= SILENT_SHARE * this.#ownMs;
    if (isSilent) this.#trial.failed({ kind: 'timeout', message: 'the caller did not wait for it' }, true);
    else this.#trial.dropped();
    return this.#record(null, this.meter.reported);
  }

  get expected(): ExpectedTokens {
    const { facts } = this.#context;
    return {
      inputTokens: expectedInput(facts, this.model),
      outputMax: this.way.ranked.outputCap * facts.choices,
    };
  }

  /** What is charged for an answer that was not heard to its end: see `brokenUsage`. */
  broken(): MeasuredUsage {
    const { readings, facts, clock } = this.#context;
    const expectedAt = this.#openedAt + readings.ttftMs[this.#slot]! + this.#extraMs;
    return brokenUsage(this.meter, {
      ...this.expected,
      tokensPerSecond: readings.tokensPerSecond[this.#slot]! * facts.choices,
      outputMs: clock() - (this.meter.firstContentAt ?? expectedAt),
    });
  }

  /**
   * How long an attempt may take while others could still be tried, in ms. A stream shows life by its
   * first content; an answer in one piece shows none before its end, so it has the time for the first
   * token and twice what its longest output takes at the model's pace.
   */
  #patienceMs(): number {
    const { deadlines } = this.model;
    if (this.#isStream) return deadlines.totalMs;
    const { readings } = this.#context;
    const needed = deadlines.firstTokenMs + (2_000 * this.way.ranked.outputCap) / readings.tokensPerSecond[this.#slot]!;
    // Without a bound by the caller that is more than there is, and nothing would be left for the others.
    return Math.min(needed, deadlines.totalMs / 2);
  }

  /** How many times the usual time to the first content this request is expected to take. */
  get #ttftFactor(): number {
    const { runtime, facts, readings } = this.#context;
    return ttftFactor(this.model, this.way.at, readings, expectedWriting(facts, runtime.snapshot, readings));
  }

  /** How much longer than usual that is, ms; below 0 for less. */
  get #extraMs(): number {
    return (this.#ttftFactor - 1) * this.#context.readings.ttftMs[this.#slot]!;
  }

  #tookMs(): number {
    return this.#context.clock() - this.#openedAt;
  }

  /** What is kept of it, now that it is over; `usage` is what is known of it, for its trace. */
  #record(failure: ProviderFailure | null, usage: Usage | null): AttemptRecord {
    const { firstContentAt } = this.meter;
    const record: AttemptRecord = {
      model: this.model.id,
      provider: this.endpoint.provider,
      upstream: this.endpoint.upstream,
      ms: Math.round(this.#tookMs()),
      firstPartMs: firstContentAt === null ? null : Math.round(firstContentAt - this.#openedAt),
      failure: failure?.kind ?? null,
      endpoint: this.way.at,
      requestId: this.call.requestId,
      finishReasons: this.meter.finishReasons,
    };
    if (this.#trace && this.#context.requestContext?.trace?.isSampled) this.#endTrace(this.#trace, record, usage);
    return record;
  }

  #endTrace(trace: CallTrace, attempt: AttemptRecord, usage: Usage | null): void {
    const { request, runtime } = this.#context;
    const { endpoint } = this;
    const provider = runtime.snapshot.providers.get(endpoint.provider)!;
    const { outputCap } = this.way.ranked;
    trace.end(callSpan({ provider, endpoint, request, outputCap, attempt, usage }));
  }
}

/** A trial that never ended would keep others from its endpoint. */
export function begun(trial: AttemptReporter, begin: () => Attempt): Attempt {
  try {
    return begin();
  } catch (cause) {
    trial.dropped();
    throw cause;
  }
}

/** The request as the model may read it: signed or encrypted reasoning goes to the family that wrote it, and no other. */
function readable(
  { request, history, facts }: AttemptContext,
  { family }: Model,
): { readonly request: ModelRequest; readonly dropped: readonly string[] } {
  const left = withReadableState(request, (turn) => {
    const writer = history.writerOf(turn);
    // Who names the model answers for what nobody knows of.
    return writer === null ? facts.pinned : writer === family;
  });
  return { request: left.request, dropped: shown(left.dropped) };
}

/** Whether the provider had so much of the prompt in its cache that the first token came sooner. */
const isWarm = (usage: Usage): boolean =>
  isPlausible(usage) && usage.inputTokens > 0 && usage.cachedInputTokens >= WARM_SHARE * usage.inputTokens;

/** Whether an answer is as long as those of its task are: the task is likelier than not, and nobody has said how long. */
function isOpenEnded({ mix, outputTokens, outputTokensAsked }: Facts, usual: number, cap: number): boolean {
  const isCertain = mix.length === 0 || mix[0]!.share > 0.5;
  // Below what is usual a cap, whether the caller's or what the money allows, tells nothing that is not known.
  return isCertain && outputTokens === null && outputTokensAsked === null && cap >= usual;
}
