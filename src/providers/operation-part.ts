import type { StreamPart } from '../contract/parts.ts';
import type { InProcessAdapter, PartOf, PreparedProvider, ProviderCall, WireAdapter } from '../contract/provider.ts';
import type { UpstreamCall, UpstreamTarget } from './upstream-call.ts';

/** Opens a call with the adapter of a target, for one answer; see `openCall`. */
export type OpenCall = (target: UpstreamTarget, call: ProviderCall) => UpstreamCall;

/** Returns a target whose adapter answers a call with its part for an operation, whichever call it receives. */
export function targetWith<Call extends ProviderCall>(
  { adapter, ...target }: UpstreamTarget,
  part: PartOf<Call>,
  call: Call,
): UpstreamTarget {
  return {
    ...target,
    adapter: adapter.kind === 'wire' ? wireWith(adapter, part, call) : inProcessWith(adapter, part, call),
  };
}

function inProcessWith<Call extends ProviderCall>(
  adapter: InProcessAdapter,
  part: PartOf<Call>,
  call: Call,
): PreparedProvider {
  return { kind: 'in-process', answer: () => part.inProcess(adapter)?.(call) ?? [UNABLE] };
}

function wireWith<Call extends ProviderCall>(adapter: WireAdapter, part: PartOf<Call>, call: Call): PreparedProvider {
  const own = part.wire(adapter);
  return {
    ...adapter,
    request: () => own?.request(call) ?? UNABLE.failure,
    reply: (body) => own?.reply(body) ?? [UNABLE],
  };
}

/** This failure never occurs with a compiled policy, because a policy with such a model does not compile. */
const UNABLE = {
  type: 'failure',
  failure: { kind: 'server', message: 'the adapter does not support the operation of the request' },
} as const satisfies StreamPart;
