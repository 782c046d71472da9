import { isContent, type ProviderFailure, type StreamPart } from '../contract/parts.ts';
import type { ProviderCall } from '../contract/provider.ts';
import type { ChatRequest } from '../core/chat-request.ts';
import type { Microcredits } from '../core/credits.ts';
import type { Decision, Ranked } from '../core/decision.ts';
import type { SignalboxError } from '../core/errors.ts';
import { idText } from '../core/id.ts';
import type { Endpoint, GatewayPolicy, Model } from '../core/snapshot.ts';
import type { Hold } from '../ledger/hold.ts';
import type { Attempt, Outcome } from '../records/record.ts';
import { expectedInput, worstCase } from '../routing/estimate.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { StoreError, type Write } from '../store/store.ts';
import { openCall, type UpstreamCall } from '../upstream/call.ts';
import { entryLine } from './charge.ts';
import {
  brokenError,
  callerGone,
  type FailedAttempt,
  failedError,
  failureIn,
  isFinal,
  unreadError,
  wasCut,
} from './failure.ts';
import { brokenUsage, completeUsage, type Expected, type Measured, Meter } from './meter.ts';
import { type Platform, type Receipt, receiptOf } from './receipt.ts';
import { sortExtras } from './screen.ts';
import { traitsOf } from './traits.ts';

export interface ExchangeContext {
  readonly runtime: Runtime;
  readonly request: ChatRequest;
  readonly decision: Decision;
  readonly hold: Hold;
  /** Milliseconds on a clock that never goes back. */
  readonly clock: () => number;
  /** When the request was admitted, on that clock. */
  readonly startedAt: number;
  /** Unix time of admission, seconds. */
  readonly created: number;
  /** Makes the record that rides with the settlement. */
  readonly onSettle: (outcome: Outcome, platform: Platform) => readonly Write[];
  /** Told of all that the caller gets to see, before it does; absent where nobody listens. */
  readonly onParts?: (parts: readonly StreamPart[]) => void;
  /** Called for each attempt that failed or broke off. */
  readonly onFailure: (attempt: FailedAttempt) => void;
  /** Resolves once the settlement outlives this process: nobody is told a price that could be forgotten. */
  readonly written: () => Promise<void>;
  /** Called once, after settlement. */
  readonly onEnd: () => void;
}

/** Past the deadline, who reads has been told of it within this time. */
const UNREAD_GRACE_MS = 1_000;

interface Running {
  readonly ranked: Ranked;
  readonly model: Model;
  readonly endpoint: Endpoint;
  readonly call: UpstreamCall;
  readonly meter: Meter;
  readonly openedAt: number;
  readonly dropped: readonly string[];
}

/**
 * Steps 7 and 8 of one request: carries the decision out and pays for it. Made once, ended once:
 * whether by the answer's end, a failure, the caller's leaving or a shutdown, `#settle` runs exactly once.
 */
export class Exchange {
  readonly #context: ExchangeContext;
  readonly #attempts: Attempt[] = [];
  readonly #failed: FailedAttempt[] = [];
  readonly #deadlineAt: number;
  /** The attempt under way, or the one that answered. */
  #running: Running | null = null;
  /** The attempt that failed last. */
  #last: Running | null = null;
  /** The batch with the first content part, until it is read. */
  #first: readonly StreamPart[] | null = null;
  #receipt: Receipt | null = null;
  #error: SignalboxError | null = null;
  #callerGone = false;
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(context: ExchangeContext) {
    this.#context = context;
    const { snapshot } = context.runtime;
    this.#deadlineAt = context.startedAt + snapshot.models[context.decision.ranked[0].model]!.deadlines.totalMs;
    // An attempt has the same deadline, and tells of it to whoever reads. Nobody may be reading.
    const leftMs = this.#deadlineAt - context.clock() + UNREAD_GRACE_MS;
    this.#timer = setTimeout(() => this.abandon(unreadError()), leftMs);
  }

  get id(): string {
    return idText('chatcmpl-', this.#context.decision.id);
  }
  get created(): number {
    return this.#context.created;
  }
  /** Of the policy that this exchange runs under. */
  get policy(): GatewayPolicy {
    return this.#context.runtime.snapshot.gateway;
  }
  get decisionId(): string {
    return idText('dec_', this.#context.decision.id);
  }
  /** ID of the model that answers; before the first content part, of the choice. */
  get model(): string {
    const { decision, runtime } = this.#context;
    return (this.#running?.model ?? runtime.snapshot.models[decision.ranked[0].model]!).id;
  }
  /** Null until the exchange has ended. */
  get receipt(): Receipt | null {
    return this.#receipt;
  }
  /** Why the exchange ended without a whole answer; null while it runs and after a good end. */
  get error(): SignalboxError | null {
    return this.#error;
  }

  /** Tries endpoint after endpoint, then the fallbacks, until one shows content. Throws the SignalboxError of the last. */
  async open(): Promise<void> {
    const { decision, runtime } = this.#context;
    const last = decision.ranked.at(-1);
    for (const ranked of decision.ranked) {
      const model = runtime.snapshot.models[ranked.model]!;
      for (const at of ranked.endpoints) {
        const affordable = await this.#affords(ranked, model, model.endpoints[at]!);
        if (this.#ended()) throw this.#error;
        if (!affordable) continue;
        const failure = await this.#attempt(ranked, model, at, ranked === last && at === ranked.endpoints.at(-1));
        if (failure === null) return;
        if (this.#ended()) throw this.#error;
        this.#giveUp(this.#running!, failure);
        if (isFinal(failure) || this.#context.clock() >= this.#deadlineAt) throw await this.#fail();
      }
    }
    throw await this.#fail();
  }

  /** The next batch of parts; null after the end: then `receipt` is there, and `error` if it was no good end. */
  async read(): Promise<readonly StreamPart[] | null> {
    const first = this.#first;
    if (first) {
      this.#first = null;
      this.#context.onParts?.(first);
      return first;
    }
    const running = this.#running;
    if (!running || this.#ended()) return null;
    const batch = await running.call.read();
    if (this.#ended()) return null;
    if (batch === null) {
      this.#note(running, null);
      this.#settle('completed', running, completeUsage(running.meter, this.#expected(running)));
      await this.#context.written();
      return null;
    }
    running.meter.observe(batch, this.#context.clock());
    this.#context.onParts?.(batch);
    const failure = failureIn(batch);
    if (failure === null) return batch;
    this.#note(running, failure);
    this.#error = brokenError(running.model.id, failure);
    this.#settle('broken', running, this.#broken(running));
    await this.#context.written();
    return batch;
  }

  /**
   * Ends the exchange: with an error for the caller because the process must stop, or because the caller
   * is gone, whom nobody need tell. Harmless after the end.
   */
  abandon(reason: SignalboxError | 'caller-gone'): void {
    if (this.#ended()) return;
    this.#callerGone = reason === 'caller-gone';
    this.#error = reason === 'caller-gone' ? callerGone() : reason;
    const running = this.#running;
    if (!running) {
      this.#settle('abandoned', null, null);
      return;
    }
    running.call.abort();
    this.#note(running, null);
    this.#settle('abandoned', running, running.call.sent ? this.#broken(running) : null);
  }

  #ended(): boolean {
    return this.#receipt !== null;
  }

  /** Whether the attempt's worst case fits the hold, raised if it must and may be. */
  async #affords(ranked: Ranked, model: Model, { price }: Endpoint): Promise<boolean> {
    const { hold, decision } = this.#context;
    const missing = worstCase(price, model, decision.facts, ranked.outputCap) - hold.left;
    if (missing <= 0) return true;
    try {
      return await hold.raise(missing);
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      // What cannot be written down may not be spent.
      return false;
    }
  }

  /** Runs one attempt up to its first content part. Null when that came. */
  #attempt(ranked: Ranked, model: Model, at: number, last: boolean): Promise<ProviderFailure | null> {
    const { runtime, request, clock } = this.#context;
    const endpoint = model.endpoints[at]!;
    const extras = sortExtras(request, runtime.snapshot.providers.get(endpoint.provider)!);
    const call: ProviderCall = {
      upstream: endpoint.upstream,
      request,
      extras: extras.passed,
      stream: request.stream === true,
      outputCap: ranked.outputCap,
      model: traitsOf(model),
    };
    const deadlineAt = last ? this.#deadlineAt : Math.min(this.#deadlineAt, clock() + patienceMs(ranked, model, call));
    const opened = openCall(runtime.targets[ranked.model]![at]!, call, model.deadlines, deadlineAt);
    const dropped = extras.dropped.length === 0 ? opened.dropped : [...extras.dropped, ...opened.dropped];
    const running = { ranked, model, endpoint, call: opened, meter: new Meter(), openedAt: clock(), dropped };
    this.#running = running;
    return this.#awaitContent(running);
  }

  async #awaitContent(running: Running): Promise<ProviderFailure | null> {
    const { meter, call } = running;
    for (;;) {
      const batch = await call.read();
      if (batch === null) return { kind: 'malformed', message: 'the answer ended without content' };
      meter.observe(batch, this.#context.clock());
      const failure = failureIn(batch);
      // A batch can hold the first content and the break; the content was then never shown, so another may try.
      if (failure) return failure;
      if (batch.some(isContent)) {
        this.#first = batch;
        return null;
      }
    }
  }

  /** Notes a failed attempt and posts what its upstream reported as used; nothing else is known of it. */
  #giveUp(running: Running, failure: ProviderFailure): void {
    const { model, endpoint, meter, call } = running;
    this.#note(running, failure);
    this.#failed.push({ model: model.id, provider: endpoint.provider, failure });
    if (meter.reported) {
      const { hold } = this.#context;
      hold.post(entryLine(model, endpoint, { usage: meter.reported, estimated: false }, hold.left));
    }
    call.abort();
    this.#running = null;
    this.#last = running;
  }

  /** No attempt is left. One that was cut off while its upstream worked is charged as a broken answer. */
  async #fail(): Promise<SignalboxError> {
    const last = this.#last;
    const cut = last !== null && wasCut(this.#failed.at(-1)?.failure) && last.call.sent && last.meter.reported === null;
    const error = failedError(this.#failed, cut);
    this.#error = error;
    if (cut) this.#settle('failed', last, this.#broken(last));
    else this.#settle('failed', null, null);
    await this.#context.written();
    return error;
  }

  #expected({ model, ranked }: Running): Expected {
    const { facts } = this.#context.decision;
    return { inputTokens: expectedInput(facts, model), outputMax: ranked.outputCap * facts.choices };
  }

  #broken(running: Running): Measured {
    const { model, meter, openedAt } = running;
    const { facts } = this.#context.decision;
    const expectedAt = openedAt + model.latency.ttftMs;
    return brokenUsage(meter, {
      ...this.#expected(running),
      tokensPerSecond: model.latency.outputTokensPerSecond * facts.choices,
      outputMs: this.#context.clock() - (meter.firstContentAt ?? expectedAt),
    });
  }

  #note({ model, endpoint, openedAt, meter }: Running, failure: ProviderFailure | null): void {
    this.#attempts.push({
      model: model.id,
      provider: endpoint.provider,
      upstream: endpoint.upstream,
      ms: Math.round(this.#context.clock() - openedAt),
      firstPartMs: meter.firstContentAt === null ? null : Math.round(meter.firstContentAt - openedAt),
      failure: failure?.kind ?? null,
    });
    const hasBegun = meter.firstContentAt !== null;
    if (failure) this.#context.onFailure({ model: model.id, provider: endpoint.provider, failure, hasBegun });
  }

  /** The one end: posts the last attempt, releases the rest, and writes the record with it. */
  #settle(status: Outcome['status'], running: Running | null, measured: Measured | null): void {
    const { hold, onEnd } = this.#context;
    const line = running && measured ? entryLine(running.model, running.endpoint, measured, hold.left) : null;
    clearTimeout(this.#timer);
    hold.settle(line, ({ charged }) => this.#close(status, running, measured, charged));
    onEnd();
  }

  /** Makes the receipt of what was charged, in microcredits, and the record of how it came to it. */
  #close(
    status: Outcome['status'],
    running: Running | null,
    measured: Measured | null,
    charged: Microcredits,
  ): readonly Write[] {
    const { decision, clock, startedAt, onSettle, runtime } = this.#context;
    const receipt = receiptOf({
      decision,
      baseline: runtime.snapshot.models[decision.baseline]!,
      model: running?.model.id ?? this.model,
      fallback: running !== null && running.ranked !== decision.ranked[0],
      measured,
      charged,
      dropped: running?.dropped ?? [],
    });
    this.#receipt = receipt;
    const firstAt = running?.meter.firstContentAt ?? null;
    const outcome: Outcome = {
      status,
      error: this.#callerGone ? null : (this.#error?.code ?? null),
      attempts: this.#attempts,
      usage: measured && receipt.usage,
      estimated: receipt.platform.estimated,
      charged,
      saved: receipt.saved,
      firstPartMs: firstAt === null ? null : Math.round(firstAt - startedAt),
      totalMs: Math.round(clock() - startedAt),
    };
    return onSettle(outcome, receipt.platform);
  }
}

/**
 * How long an attempt may take while others could still be tried, in ms. A stream shows life by its
 * first content; an answer in one piece shows none before its end, so it has the time for the first
 * token and twice what its longest output takes at the model's pace.
 */
function patienceMs({ outputCap }: Ranked, { deadlines, latency }: Model, { stream }: ProviderCall): number {
  if (stream) return deadlines.totalMs;
  return deadlines.firstTokenMs + (2_000 * outputCap) / latency.outputTokensPerSecond;
}
