import type { Caller } from '../../core/people/caller.ts';
import type { GuardScope } from '../../core/policy/guards.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { NO_CALLER, readCaller } from '../../core/tables/facts/caller.ts';
import { readGuarded } from '../../core/tables/facts/guarded.ts';
import type { RunningGuard } from './guard-runtime.ts';
import type { GuardedOrigin } from './request-guards.ts';

/** Whether a guard inspects a request. A condition that fails counts as true. */
export function isActive({ rule: { when } }: RunningGuard, scope: GuardScope): boolean {
  if (when === null) return true;
  try {
    return when(scope);
  } catch {
    return true;
  }
}

/** Returns what the conditions of guards see. A caller that has not paid yet has no key. */
export function scopeOf(
  { operation, model, stream, settings, routing }: ModelRequest,
  caller: Caller | null,
  { headers, body: { bytes } }: GuardedOrigin,
): GuardScope {
  return {
    request: readGuarded({ operation, model, stream, settings, routing, headers, bytes }),
    ...(caller ? readCaller(caller) : NO_CALLER),
  };
}
