import type { NativeTool } from '../../core/conversation.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import type { Edit } from '../../core/original.ts';
import type { GatewayPolicy } from '../../core/snapshot.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import { runtimeFor } from '../../policy/runtime/wildcard-runtime.ts';
import { withoutDroppedTools } from '../../routing/dropped-tools.ts';
import type { RequestContext } from './request-context.ts';

/** A request as models may get it under one policy. */
export interface PinnedRequest {
  readonly request: ModelRequest;
  /** Paths of the tools that were taken out of it. */
  readonly dropped: readonly string[];
  readonly runtime: Runtime;
}

const NONE: readonly string[] = [];

/**
 * The step pin, the same for all that comes of a request: an answer, a quote, advice, a count of its tokens.
 * @throws SignalboxError `model_not_found` for a wildcard's ID that is not served
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
  // (guards on the request)
  return { request, dropped, runtime };
}

/** Returns the request with the policy's limit on the uses of each tool that a service runs and that the request leaves unlimited. */
function withBoundedTools(request: ModelRequest, { toolUsesMax }: GatewayPolicy): ModelRequest {
  const { nativeTools } = request.conversation;
  return nativeTools === undefined ? request : request.edit(boundsOf(nativeTools, toolUsesMax));
}

const boundsOf = (tools: readonly NativeTool[], usesMax: number): Edit[] =>
  tools.flatMap(({ billing }) =>
    typeof billing === 'object' && billing.most === null ? [{ at: billing.mostAt, value: usesMax }] : [],
  );
