import { SignalboxError } from '../../core/errors.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type PolicyStatus, type ReloadAttempt, StaleRevision } from '../../runtime/status.ts';
import type { Actor } from '../../store/trail.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';

/** The policy in force, as operators see it. */
export interface PolicyAdmin {
  lease(): Runtime;
  status(): PolicyStatus;
  /** Rejects with StaleRevision when `expected` is not the revision in force. */
  reload(cause: 'request', expected: string | null, by: Actor): Promise<ReloadAttempt>;
}

/** The policy in force and its last reload. */
export interface ServedPolicy {
  readonly status: PolicyStatus;
  /** The number of its models. */
  readonly models: number;
}

export function servedPolicy(by: Principal, policy: Pick<PolicyAdmin, 'status' | 'lease'>): ServedPolicy {
  checkAction(by.caller, 'policy.read');
  return { status: policy.status(), models: policy.lease().snapshot.models.length };
}

/**
 * Reloads the policy from its files.
 * @param expected the revision that must be in force; null for any
 * @throws SignalboxError `precondition_failed` where another one is, and `policy_invalid` for files that are refused
 */
export async function reloadPolicy(
  by: Principal,
  policy: Pick<PolicyAdmin, 'reload'>,
  expected: string | null,
): Promise<ReloadAttempt> {
  checkAction(by.caller, 'policy.reload');
  const attempt = await policy.reload('request', expected, by.actor).catch(refuseStale);
  if (attempt.result !== 'refused') return attempt;
  const { revision, diagnostics } = attempt;
  throw new SignalboxError('policy_invalid', attempt.message, { details: { policy_revision: revision, diagnostics } });
}

function refuseStale(cause: unknown): never {
  if (!(cause instanceof StaleRevision)) throw cause;
  throw new SignalboxError(
    'precondition_failed',
    `${cause.message} If-Match names another revision, so nothing was reloaded.`,
    { details: { policy_revision: cause.revision }, headers: { etag: `"${cause.revision}"` } },
  );
}
