import type { NativeTool } from '../core/conversation.ts';
import type { ModelRequest } from '../core/model-request.ts';
import type { Edit } from '../core/original.ts';
import type { GatewayPolicy } from '../core/snapshot.ts';

/** Returns the request with the policy's limit on the uses of each tool that a service runs and that the request leaves unlimited. */
export function withBoundedTools(request: ModelRequest, { toolUsesMax }: GatewayPolicy): ModelRequest {
  const { nativeTools } = request.conversation;
  return nativeTools === undefined ? request : request.edit(boundsOf(nativeTools, toolUsesMax));
}

const boundsOf = (tools: readonly NativeTool[], usesMax: number): Edit[] =>
  tools.flatMap(({ billing }) =>
    typeof billing === 'object' && billing.most === null ? [{ at: billing.mostAt, value: usesMax }] : [],
  );
