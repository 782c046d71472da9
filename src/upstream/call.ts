import type { ProviderCall } from '../contract/provider.ts';
import type { Deadlines } from '../core/snapshot.ts';
import { InProcessCall } from './in-process-call.ts';
import type { MakeRoom, TraceHeaders, UpstreamCall, UpstreamTarget } from './upstream-call.ts';
import { WireCall } from './wire-call.ts';

/**
 * Starts a call: the request is on its way when this returns. Never throws.
 *
 * `totalDeadlineAt` is a time on performance.now's clock, in ms: attempts of one request share it.
 * A connection must stand within `connectMs` of now. A streamed call must show its first content part within
 * `firstTokenMs` of now, and bytes within `idleMs` of each read after that. A call that is not streamed shows nothing
 * before its end, so beyond its connection only the total binds it.
 */
export function openCall(
  target: UpstreamTarget,
  call: ProviderCall,
  deadlines: Deadlines,
  totalDeadlineAt: number,
  trace: TraceHeaders | null = null,
  makeRoom: MakeRoom = () => true,
): UpstreamCall {
  const { adapter } = target;
  if (adapter.kind === 'in-process') return new InProcessCall(adapter, call, deadlines, totalDeadlineAt);
  return new WireCall(adapter, target, call, deadlines, totalDeadlineAt, trace, makeRoom);
}
