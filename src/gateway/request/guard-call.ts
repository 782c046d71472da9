import type { GuardModel, GuardQuestion, GuardSide } from '../../contract/guard.ts';
import type { Platform } from '../../core/decision/answer.ts';
import type { DecisionOutcome } from '../../core/decision/outcome.ts';
import type { GuardCall } from '../../core/decision/verdict.ts';
import { type ErrorCode, SignalboxError } from '../../core/errors.ts';
import { type Caller, rootOf } from '../../core/people/caller.ts';
import { guardSelector } from '../../core/policy/guards.ts';
import { readChat } from '../../dialects/openai-chat/read-body.ts';
import { readChatRequest } from '../../dialects/openai-chat/reader.ts';
import type { HoldRequest } from '../../ledger/hold-request.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import { runtimeFor } from '../../policy/runtime/wildcard-runtime.ts';
import { Exchange } from '../exchange/exchange.ts';
import { callerGone, failureText } from '../exchange/failure.ts';
import type { ExchangeRecorder, RunnableRequest } from '../exchange/runnable-request.ts';
import { loggableMessage } from '../exchange/upstream-message.ts';
import type { GuardModels, GuardPayer, OpenModel } from '../guards/guard-model.ts';
import type { RunningGuard } from '../guards/guard-runtime.ts';
import type { FundedHold, FundingTerms } from '../money/funding.ts';
import { holdOf } from '../money/key-funding.ts';
import { reserve } from '../money/reserve.ts';
import { shortageError } from '../money/shortage.ts';
import { decideRequest } from './decide.ts';
import { shuttingDown } from './drain.ts';
import type { Gateway } from './gateway.ts';
import type { PreparedRequest } from './prepared.ts';
import { RequestContext } from './request-context.ts';

/** The errors of a caller whose funds do not cover a call. */
const UNPAID: ReadonlySet<ErrorCode> = new Set(['insufficient_quota', 'request_exceeds_budget', 'budget_contended']);

/** Opens the models that the guards of a request call. Each call is a chat of the policy, with a hold of its own, that passes no guards. */
export class PaidModels implements GuardModels {
  unpaid: SignalboxError | null = null;
  readonly #gateway: Gateway;
  readonly #prepared: PreparedRequest;
  readonly #payer: GuardPayer;

  constructor(gateway: Gateway, prepared: PreparedRequest, payer: GuardPayer) {
    this.#gateway = gateway;
    this.#prepared = prepared;
    this.#payer = payer;
  }

  open({ rule: { name, model } }: RunningGuard, side: GuardSide, msLeft: () => number): OpenModel | null {
    if (model === undefined) return null;
    const { terms, signal: left } = this.#payer;
    const ending = new AbortController();
    const signal = left ? AbortSignal.any([ending.signal, left]) : ending.signal;
    const ask: GuardModel['ask'] = async (question) => {
      const { guards } = this.#prepared;
      const call = new ModelCall(this.#gateway, this.#prepared, terms, name);
      if (guards) guards.running++;
      try {
        const { text, ...made } = await call.run(model, question, signal, msLeft);
        guards?.calls.push({ guard: name, side, ...made });
        return text;
      } catch (cause) {
        if (cause instanceof SignalboxError && UNPAID.has(cause.code)) this.unpaid ??= unpaidCall(cause, name, side);
        if (call.made) guards?.calls.push({ guard: name, side, ...call.made });
        throw cause;
      } finally {
        if (guards) guards.running--;
      }
    };
    return { ask, end: () => ending.abort() };
  }
}

function unpaidCall({ code, message, info }: SignalboxError, guard: string, side: GuardSide): SignalboxError {
  const text = `The guard \`${guard}\` calls a model, and the money of this request does not cover the call. ${message}`;
  if (side === 'input' || code !== 'budget_contended') return new SignalboxError(code, text, info);
  // The answer that the guard would judge is paid for, so the caller should not repeat the request, as `budget_contended` suggests.
  return new SignalboxError('insufficient_quota', text, { details: info.details });
}

/** The model and the charge of a call. */
type MadeCall = Omit<GuardCall, 'guard' | 'side'>;

/** One call of a guard to a model: it is decided, paid for and carried out like a chat, but it has no record of its own. */
class ModelCall {
  /** The charge of the call; null before its settlement. */
  made: MadeCall | null = null;
  readonly #gateway: Gateway;
  readonly #prepared: PreparedRequest;
  readonly #terms: FundingTerms;
  readonly #guard: string;

  constructor(gateway: Gateway, prepared: PreparedRequest, terms: FundingTerms, guard: string) {
    this.#gateway = gateway;
    this.#prepared = prepared;
    this.#terms = terms;
    this.#guard = guard;
  }

  /**
   * @param signal ends the call
   * @throws SignalboxError by rejecting
   */
  async run(
    model: string,
    { instructions, text, outputTokensMax }: GuardQuestion,
    signal: AbortSignal,
    msLeft: () => number,
  ): Promise<MadeCall & { readonly text: string }> {
    const gateway = this.#gateway;
    const messages = [
      { role: 'system', content: instructions },
      { role: 'user', content: text },
    ];
    const request = readChatRequest(readChat({ model, messages, max_tokens: outputTokensMax }));
    const { policy } = this.#prepared;
    const runtime = policy.snapshot.wildcards ? runtimeFor(policy, model) : policy;
    const runnable = await this.#decided(request, runtime, signal);
    if (signal.aborted) throw callerGone();
    const funded = await this.#reserved(runnable, signal, msLeft);
    // The deadline may have passed while the money was set aside.
    if (signal.aborted || gateway.isDraining) {
      await funded.hold.settle(null, () => []);
      throw signal.aborted ? callerGone() : shuttingDown();
    }
    const answer = await this.#answer(runnable, funded, signal);
    if (!this.made) throw new Error('a call of a guard ended without a settlement');
    return { ...this.made, text: answer };
  }

  async #decided(request: RunnableRequest['request'], runtime: Runtime, signal: AbortSignal): Promise<GuardRunnable> {
    const gateway = this.#gateway;
    const startedAt = gateway.clock();
    const origin = { method: 'POST', signal };
    const rule = { operation: request.operation, counts: true };
    const context = new RequestContext(origin, gateway.nextId(), startedAt, 'guard', rule, null);
    const caller = withAllModels(this.#terms.caller);
    const terms = { ...this.#terms, runtime, caller, cap: null, windowsOnly: false };
    const decided = await decideRequest(gateway, request, terms, true, context);
    return {
      request,
      dropped: [],
      context,
      terms,
      runtime,
      caller,
      clock: gateway.clock,
      startedAt,
      ...decided,
    };
  }

  /** Sets the worst case of the call aside. */
  async #reserved(runnable: GuardRunnable, signal: AbortSignal, msLeft: () => number): Promise<FundedHold> {
    const gateway = this.#gateway;
    const { clock, now } = gateway;
    const { request, decision, terms, startedAt, caller } = runnable;
    const run = gateway.sessions.run(rootOf(caller), this.#prepared.request.headers.run);
    const funding = {
      reserve: async (asked: HoldRequest) => {
        // A wait up to the deadline would end as a late guard, and hide that the money is missing.
        const waitMs = Math.max(0, Math.min(asked.waitMs, msLeft() / 2));
        const hold = await gateway.ledger.reserve({ ...asked, waitMs, selector: guardSelector(this.#guard) });
        if ('why' in hold) throw shortageError(hold, caller, gateway);
        return holdOf(hold, asked);
      },
    };
    return await reserve({ request, decision, terms, run, startedAt, signal, clock, now }, funding, null);
  }

  /** Carries the call out, and reads its answer to the end. */
  async #answer(runnable: GuardRunnable, funded: FundedHold, signal: AbortSignal): Promise<string> {
    const gateway = this.#gateway;
    const { context } = runnable;
    const texts: string[] = [];
    const exchange = new Exchange(gateway, runnable, funded, this.#recorder(runnable, texts));
    const abandon = () => exchange.abandon('caller-gone');
    context.enterFlight(gateway.inFlight);
    context.attach(exchange);
    signal.addEventListener('abort', abandon);
    if (signal.aborted) abandon();
    try {
      await exchange.open();
      for (let parts = exchange.read(); parts !== null; parts = exchange.read())
        if (parts instanceof Promise) await parts;
      if (exchange.error) throw exchange.error;
      return texts.join('');
    } finally {
      signal.removeEventListener('abort', abandon);
    }
  }

  #recorder({ request, decision, startedAt }: GuardRunnable, texts: string[]): ExchangeRecorder {
    const { log, clock } = this.#gateway;
    return {
      hear: (parts) => {
        for (const part of parts) if (part.type === 'text') texts.push(part.text);
      },
      hearGuarded: () => {},
      logFailure: (attempt) => {
        const message = loggableMessage(attempt, request);
        const { model, provider, upstream, failure } = attempt;
        const detail = failureText(attempt, upstream);
        log.warn('a call of a guard failed', {
          guard: this.#guard,
          provider,
          model,
          upstream,
          kind: failure.kind,
          detail,
        });
        return message;
      },
      settlementWrites: ({ charged }: DecisionOutcome, { routed_model: model }: Platform) => {
        this.made = { model, entry: decision.id, charged, ms: Math.round(clock() - startedAt) };
        return [];
      },
      running: () => {
        throw new Error('a call of a guard has no record');
      },
    };
  }
}

interface GuardRunnable extends RunnableRequest {
  readonly context: RequestContext;
}

/** The operator chose the model of the guard, so the lists of models of the caller do not restrict it. */
function withAllModels(caller: Caller): Caller {
  const { notModels: _, levels, ...own } = caller;
  return { ...own, models: null, ...(levels && { levels: levels.map((level) => ({ ...level, models: null })) }) };
}
