import type { Edit } from '../../core/json/original.ts';
import type { GatewayPolicy } from '../../core/policy/snapshot.ts';
import type { NativeTool } from '../../core/request/conversation.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { runtimeFor } from '../../policy/runtime/wildcard-runtime.ts';
import { withoutDroppedTools } from '../../routing/dropped-tools.ts';
import type { PreparingStep } from './steps.ts';

/**
 * The step "pin": takes the policy under which the request runs until its end, and removes the tools that the policy drops.
 * @throws SignalboxError `model_not_found` for a model ID of a wildcard that is not served
 */
export const pin: PreparingStep = (prepared) => {
  const { given, policy, context } = prepared;
  prepared.runtime = policy.snapshot.wildcards ? runtimeFor(policy, given.model) : policy;
  context.step('pin');
  if (!given.conversation.nativeTools) return;
  const { gateway } = prepared.runtime.snapshot;
  const kept = withoutDroppedTools(given, gateway);
  prepared.request = withBoundedTools(kept.request, gateway);
  prepared.dropped = kept.dropped;
};

/** Limits the uses of each tool that the provider runs, if the request sets no limit. The limit comes from the policy. */
function withBoundedTools(request: ModelRequest, { toolUsesMax }: GatewayPolicy): ModelRequest {
  const { nativeTools } = request.conversation;
  return nativeTools === undefined ? request : request.edit(boundsOf(nativeTools, toolUsesMax));
}

const boundsOf = (tools: readonly NativeTool[], usesMax: number): Edit[] =>
  tools.flatMap(({ billing }) =>
    typeof billing === 'object' && billing.most === null ? [{ at: billing.mostAt, value: usesMax }] : [],
  );
