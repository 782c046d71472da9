import type { Edit } from '../../core/json/original.ts';
import { type Caller, rootOf } from '../../core/people/caller.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { Log } from '../../host/telemetry/log.ts';
import type { TraceStep } from '../../host/telemetry/trace.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import type { GuardModels, GuardPayer } from '../guards/guard-model.ts';
import type { GuardedOrigin, RequestGuards } from '../guards/request-guards.ts';
import type { Affinity } from '../prompt/affinity.ts';

/** The parts of a request's context that preparing steps use. */
interface PreparedFor extends GuardedOrigin {
  /** The caller; null for a caller without a key, before it has paid. */
  readonly caller: Caller | null;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
  readonly work: { guards: RequestGuards | null };
  step(step: TraceStep): void;
}

/** The parts of a gateway that preparing steps use. */
export interface PreparingParts {
  readonly affinity: Pick<Affinity, 'conversationSecret'>;
  readonly log: Log;
  /** Opens the models that guards of a request call. @param payer who pays for the calls */
  readonly guardModels?: ((prepared: PreparedRequest, payer: GuardPayer) => GuardModels) | undefined;
}

/** A request as it is prepared, once, for an answer, a quote, a recommendation or a count of tokens. Its preparing steps write to it. */
export class PreparedRequest {
  /** The request as its surface has read it. */
  readonly given: ModelRequest;
  /** The policy that the request is prepared under. */
  readonly policy: Runtime;
  readonly context: PreparedFor;
  readonly #parts: PreparingParts;
  #models: GuardModels | null = null;
  /** The request in the form in which models may receive it. */
  request: ModelRequest;
  /** The paths of the tools that were removed from the request. The step "pin" writes them. */
  dropped: readonly string[] = [];
  /** The runtime that applies to the request until its end. The step "pin" writes it. */
  runtime: Runtime;
  /** Whether the request is only priced or judged, so that no guard may call a service for it. */
  readonly isHypothetical: boolean;
  /** Who pays for calls of guards to models; null if no guard may call a model. */
  readonly payer: GuardPayer | null;
  /** The guards that inspect the request and its answer; null for none. A guard writes them. */
  guards: RequestGuards | null = null;
  /** The names of the guards that did not run, because the request is hypothetical. */
  guardsNotRun: readonly string[] = [];

  constructor(
    given: ModelRequest,
    policy: Runtime,
    context: PreparedFor,
    parts: PreparingParts,
    isHypothetical = false,
    payer: GuardPayer | null = null,
  ) {
    this.#parts = parts;
    this.isHypothetical = isHypothetical;
    this.payer = payer;
    this.given = given;
    this.policy = policy;
    this.context = context;
    this.request = given;
    this.runtime = policy;
  }

  /** The models that guards call; null if no guard may call one. All calls for one request share them. */
  get models(): GuardModels | null {
    this.#models ??= this.payer && (this.#parts.guardModels?.(this, this.payer) ?? null);
    return this.#models;
  }

  /** Aborted when the caller disconnects; undefined for a request that continues without its caller. */
  get leaving(): AbortSignal | undefined {
    return this.payer ? this.payer.signal : this.context.signal;
  }

  get log(): Log {
    return this.#parts.log;
  }

  /** Returns a secret that all turns of the conversation share, on every server. No other conversation or key has it. */
  conversationSecret(): Uint8Array {
    const { caller } = this.context;
    return this.#parts.affinity.conversationSecret(caller ? rootOf(caller) : '', this.given);
  }

  /** Returns the same prepared request with another request for models. */
  with(request: ModelRequest): PreparedRequest {
    const { given, policy, context, isHypothetical, payer, dropped, runtime, guards } = this;
    const other = new PreparedRequest(given, policy, context, this.#parts, isHypothetical, payer);
    return Object.assign(other, { request, dropped, runtime, guards });
  }

  /** Changes the request for every step that follows, and for the model. */
  edit(edits: readonly Edit[]): void {
    this.request = this.request.edit(edits);
  }
}
