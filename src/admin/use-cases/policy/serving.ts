import { SignalboxError } from '../../../core/errors.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import { type PolicyStatus, type ReloadAttempt, StaleRevision } from '../../../policy/runtime/status.ts';
import type { Actor } from '../../../store/trail.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';

/** The active policy, as operators see it. */
export interface PolicyAdmin {
  lease(): Runtime;
  status(): PolicyStatus;
  /** Rejects with StaleRevision if `expected` is not the active revision. */
  reload(cause: 'request', expected: string | null, by: Actor): Promise<ReloadAttempt>;
}

/**
 * Reloads the policy from its files.
 * @param expected the revision that must be active; null for any
 * @throws SignalboxError `precondition_failed` if another revision is active, and `policy_invalid` if the files are refused
 */
export async function reloadPolicy(
  by: Principal,
  policy: Pick<PolicyAdmin, 'reload'>,
  expected: string | null,
): Promise<ReloadAttempt> {
  checkAction(by.caller, 'policy.reload');
  const attempt = await policy.reload('request', expected, by.actor).catch((cause: unknown) => {
    throw cause instanceof StaleRevision ? otherRevision(cause.revision, 'reloaded', cause) : cause;
  });
  if (attempt.result !== 'refused') return attempt;
  const { revision, diagnostics } = attempt;
  throw new SignalboxError('policy_invalid', attempt.message, { details: { policy_revision: revision, diagnostics } });
}

/** The error if `If-Match` of a request names a revision that is not active. */
export const otherRevision = (revision: string, undone: string, cause?: unknown): SignalboxError =>
  new SignalboxError(
    'precondition_failed',
    `The active revision is ${revision}. If-Match names another revision, so nothing was ${undone}.`,
    { details: { policy_revision: revision }, headers: { etag: `"${revision}"` }, cause },
  );
