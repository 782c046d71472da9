import { Elysia } from 'elysia';
import { iso } from '../core/clock.ts';
import { type PolicyAdmin, reloadPolicy, type ServedPolicy, servedPolicy } from '../operate/policy/serving.ts';
import type { ReloadAttempt } from '../runtime/status.ts';
import { routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';
import * as schemas from './schemas/policy.ts';

/** `/admin/policy`: shows the policy in force, and reloads its files. */
export const adminRoutes = ({ principalOf }: Pick<RouteServices, 'principalOf'>, policy: PolicyAdmin) =>
  new Elysia({ name: 'admin' })
    .get(
      '/admin/policy',
      ({ request, set }) => {
        const served = servedPolicy(principalOf(request), policy);
        set.headers.etag = `"${served.status.revision}"`;
        return statusBody(served);
      },
      STATUS,
    )
    .post(
      '/admin/policy/reload',
      async ({ request, set }) => {
        const expected = expectedRevision(request.headers.get('if-match'));
        const attempt = await reloadPolicy(principalOf(request), policy, expected);
        set.headers.etag = `"${attempt.revision}"`;
        return attemptBody(attempt);
      },
      RELOAD,
    );

/** One revision, with or without quotes; null for any. */
export function expectedRevision(header: string | null): string | null {
  const text = header?.trim() ?? '*';
  return text === '*' ? null : text.replace(/^"(.*)"$/, '$1');
}

export const attemptBody = ({ time, tookMs, ...rest }: ReloadAttempt) => ({
  time: iso(time),
  took_ms: tookMs,
  ...rest,
});

function statusBody({ status: whole, models }: ServedPolicy) {
  const { counts: _, lastSuccess: __, outdatedPlugins, secrets, last, ...status } = whole;
  return {
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
  };
}

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
