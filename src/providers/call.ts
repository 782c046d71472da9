import type { ProviderCall } from '../contract/provider.ts';
import { InProcessCall } from './in-process-call.ts';
import type { CallTerms, UpstreamCall, UpstreamTarget } from './upstream-call.ts';
import { WireCall } from './wire-call.ts';

/**
 * Starts a call: the request is being sent when this function returns. `openCall` never throws.
 *
 * The connection must be established within `connectMs`. A stream must deliver its first content part within `firstTokenMs`, and after each
 * read more bytes within `idleMs`. A call without a stream has only the total deadline once it is connected.
 */
export function openCall(target: UpstreamTarget, call: ProviderCall, terms: CallTerms): UpstreamCall {
  const { adapter } = target;
  if (adapter.kind === 'in-process') return new InProcessCall(adapter, call, terms);
  return new WireCall(adapter, target, call, terms);
}
