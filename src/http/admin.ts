import { Elysia } from 'elysia';
import { iso } from '../core/clock.ts';
import { SignalboxError } from '../core/errors.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { type PolicyStatus, type ReloadAttempt, StaleRevision } from '../runtime/status.ts';
import { routeDocs } from './docs/route-docs.ts';
import * as schemas from './schemas/policy.ts';

/** The policy in force, as the edge sees it. */
export interface PolicyAdmin {
  lease(): Runtime;
  status(): PolicyStatus;
  /** Rejects with StaleRevision when `expected` is not the revision in force. */
  reload(cause: 'request', expected: string | null): Promise<ReloadAttempt>;
}

/** `/admin/policy`: shows the policy in force, and reloads its files. */
export const adminRoutes = (policy: PolicyAdmin) =>
  new Elysia({ name: 'admin' })
    .get(
      '/admin/policy',
      ({ set }) => {
        const status = policy.status();
        set.headers.etag = `"${status.revision}"`;
        return statusBody(status, policy.lease().snapshot.models.length);
      },
      STATUS,
    )
    .post(
      '/admin/policy/reload',
      async ({ request, set }) => {
        const attempt = await reload(policy, expectedRevision(request.headers.get('if-match')));
        if (attempt.result === 'refused') {
          const { diagnostics } = attempt;
          throw new SignalboxError('policy_invalid', attempt.message, {
            details: { policy_revision: attempt.revision, diagnostics },
          });
        }
        set.headers.etag = `"${attempt.revision}"`;
        return attemptBody(attempt);
      },
      RELOAD,
    );

async function reload(policy: PolicyAdmin, expected: string | null): Promise<ReloadAttempt> {
  try {
    return await policy.reload('request', expected);
  } catch (cause) {
    if (!(cause instanceof StaleRevision)) throw cause;
    throw new SignalboxError(
      'precondition_failed',
      `${cause.message} If-Match names another revision, so nothing was reloaded.`,
      {
        details: { policy_revision: cause.revision },
        headers: { etag: `"${cause.revision}"` },
      },
    );
  }
}

/** One revision, with or without quotes; null for any. */
function expectedRevision(header: string | null): string | null {
  const text = header?.trim() ?? '*';
  return text === '*' ? null : text.replace(/^"(.*)"$/, '$1');
}

const attemptBody = ({ time, tookMs, ...rest }: ReloadAttempt) => ({ time: iso(time), took_ms: tookMs, ...rest });

const statusBody = (
  { counts: _, lastSuccess: __, outdatedPlugins, secrets, last, ...status }: PolicyStatus,
  models: number,
) => ({
  ...status,
  since: iso(status.since),
  models,
  outdated_plugins: outdatedPlugins,
  secrets: secrets.map(({ variable, readAt, problem }) => ({
    variable,
    read: readAt === null ? null : iso(readAt),
    problem,
  })),
  last_reload: attemptBody(last),
});

const STATUS = routeDocs({
  access: 'policy.read',
  summary: 'Policy in force',
  description:
    'Returns the revision in force and the result of the last reload, with all diagnostics if it was refused. The header `etag` has the revision.',
  answer: { schema: schemas.PolicyStatus, description: 'The policy in force.' },
});

const RELOAD = routeDocs({
  access: 'policy.reload',
  body: 'none',
  summary: 'Reload the policy',
  description:
    'Reloads the policy files now and returns the result. Signalbox watches the folder, so edits take effect without this request. With `If-Match: <revision>`, it reloads only while that revision is in force.',
  answer: { schema: schemas.PolicyReload, description: 'Applied, or unchanged.' },
  errors: ['precondition_failed', 'policy_invalid'],
});
