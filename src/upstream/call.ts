import type { ProviderCall } from '../contract/provider.ts';
import type { Deadlines } from '../core/snapshot.ts';
import { InProcessCall } from './in-process-call.ts';
import {
  AMPLE_ROOM,
  type AnswerRoom,
  type TraceHeaders,
  type UpstreamCall,
  type UpstreamTarget,
} from './upstream-call.ts';
import { WireCall } from './wire-call.ts';

/**
 * Starts a call: the request is being sent when this returns. Never throws.
 *
 * The connection must be established within `connectMs`. A stream must yield its first content part within
 * `firstTokenMs`, then bytes within `idleMs` of each read. Once connected, a call without a stream has only the total
 * deadline.
 *
 * @param totalDeadlineAt ms on performance.now's clock, shared by all attempts of one request
 */
export function openCall(
  target: UpstreamTarget,
  call: ProviderCall,
  deadlines: Deadlines,
  totalDeadlineAt: number,
  trace: TraceHeaders | null = null,
  room: AnswerRoom = AMPLE_ROOM,
): UpstreamCall {
  const { adapter } = target;
  if (adapter.kind === 'in-process') return new InProcessCall(adapter, call, deadlines, totalDeadlineAt);
  return new WireCall(adapter, target, call, deadlines, totalDeadlineAt, trace, room);
}
