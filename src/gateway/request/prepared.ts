import type { Edit } from '../../core/json/original.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { TraceStep } from '../../host/telemetry/trace.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';

/** The parts of a request's context that preparing steps use. */
interface PreparedFor {
  /** The caller; null for a caller without a key, before it has paid. */
  readonly caller: Caller | null;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
  step(step: TraceStep): void;
}

/** A request as it is prepared, once, for an answer, a quote, a recommendation or a count of tokens. Its preparing steps write to it. */
export class PreparedRequest {
  /** The request as its surface has read it. */
  readonly given: ModelRequest;
  /** The policy that the request is prepared under. */
  readonly policy: Runtime;
  readonly context: PreparedFor;
  /** The request in the form in which models may receive it. */
  request: ModelRequest;
  /** The paths of the tools that were removed from the request. The step "pin" writes them. */
  dropped: readonly string[] = [];
  /** The runtime that applies to the request until its end. The step "pin" writes it. */
  runtime: Runtime;

  constructor(given: ModelRequest, policy: Runtime, context: PreparedFor) {
    this.given = given;
    this.policy = policy;
    this.context = context;
    this.request = given;
    this.runtime = policy;
  }

  /** Changes the request for every step that follows, and for the model. */
  edit(edits: readonly Edit[]): void {
    this.request = this.request.edit(edits);
  }
}
