import type { NativeTool } from '../../core/conversation.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import type { Edit } from '../../core/original.ts';
import type { GatewayPolicy } from '../../core/snapshot.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import { runtimeFor } from '../../policy/runtime/wildcard-runtime.ts';
import { withoutDroppedTools } from '../../routing/dropped-tools.ts';
import type { RequestContext } from './request-context.ts';

/** A request in the form in which models may receive it, and the policy that applies to the request until its end. */
export interface PinnedRequest {
  readonly request: ModelRequest;
  /** The paths of the tools that were removed from the request. */
  readonly dropped: readonly string[];
  readonly runtime: Runtime;
}

const NONE: readonly string[] = [];

/**
 * The step "pin" of a request. This step is the same for every use of a request: an answer, a quote, a recommendation, a count of tokens.
 * @throws SignalboxError `model_not_found` for a model ID of a wildcard that is not served
 */
export function pinRequest(given: ModelRequest, policy: Runtime, context: RequestContext): PinnedRequest {
  const runtime = policy.snapshot.wildcards ? runtimeFor(policy, given.model) : policy;
  context.step('pin');
  let request = given;
  let dropped = NONE;
  if (given.conversation.nativeTools) {
    const { gateway } = runtime.snapshot;
    const kept = withoutDroppedTools(given, gateway);
    request = withBoundedTools(kept.request, gateway);
    ({ dropped } = kept);
  }
  // If Signalbox had a guard on requests, the guard would run here.
  return { request, dropped, runtime };
}

/** Limits the uses of each tool that the provider runs, if the request sets no limit. The limit comes from the policy. */
function withBoundedTools(request: ModelRequest, { toolUsesMax }: GatewayPolicy): ModelRequest {
  const { nativeTools } = request.conversation;
  return nativeTools === undefined ? request : request.edit(boundsOf(nativeTools, toolUsesMax));
}

const boundsOf = (tools: readonly NativeTool[], usesMax: number): Edit[] =>
  tools.flatMap(({ billing }) =>
    typeof billing === 'object' && billing.most === null ? [{ at: billing.mostAt, value: usesMax }] : [],
  );
