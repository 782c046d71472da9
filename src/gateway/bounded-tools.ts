import type { ModelRequest } from '../core/model-request.ts';
import type { GatewayPolicy } from '../core/snapshot.ts';

/** Returns the request with the policy's limit on the uses of each tool that a service runs and that the request leaves unlimited. */
export function withBoundedTools(request: ModelRequest, { toolUsesMax }: GatewayPolicy): ModelRequest {
  const { nativeTools } = request.conversation;
  if (nativeTools === undefined) return request;
  return request.edit(
    nativeTools.flatMap(({ billing }) =>
      typeof billing === 'object' && billing.most === null ? [{ at: billing.mostAt, value: toolUsesMax }] : [],
    ),
  );
}
