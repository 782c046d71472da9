import { REJECTION_GROUPS, REJECTIONS, type Refusal, type RejectionGroup } from '../core/decision/decision.ts';
import type { FallbackReason } from '../core/request/fallbacks.ts';

/**
 * Returns the group of rejections that determines the HTTP status. Groups of rejections are lifted in order, and the result is the first
 * group after which a model is eligible.
 */
export function decisiveGroup(rejected: Refusal['rejected']): RejectionGroup {
  let lifted = 0;
  for (const group of REJECTION_GROUPS) {
    for (const rule of Object.values(REJECTIONS)) if (rule.group === group) lifted |= rule.bit;
    if (rejected.some(({ rejections }) => (rejections & ~lifted) === 0)) return group;
  }
  return 'constraints';
}

/**
 * Returns the reasons for which another model is tried instead of a model that was rejected before the call. An endpoint that is unavailable
 * failed earlier or reached a rate limit, which the readings do not distinguish.
 */
export function reasonsOfRejection(group: RejectionGroup): readonly FallbackReason[] {
  if (group === 'context') return ['context'];
  return group === 'health' ? ['error', 'rate_limit'] : ['error'];
}
