import type { Static } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { PolicyAdmin } from '../admin/use-cases/policy/serving.ts';
import { policyRevision } from '../core/decision/shared-fields.ts';
import * as field from '../core/define/fields.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import type { StoreActivity } from '../store/activity.ts';
import type { Instance } from '../store/instance.ts';
import { routeDocs } from './kit/route-docs.ts';
import { unlisted } from './kit/route-table.ts';

export const Health = field.named('Health', 'The process answers.', {
  status: field.always('ok'),
});

export const Readiness = field.named('Readiness', 'Whether this server accepts requests.', {
  status: field.word(
    ['ready', 'draining', 'unwritable'],
    '`draining`, with status 503, while the server is stopping. `unwritable`, with status 503, while the database cannot be written: the disk is full or broken, or another server has taken over the data folder.',
  ),
  policy_revision: policyRevision,
  models: field.count('How many models can be served.', 4),
  policy: field.shape('Whether the last edit of the policy is active.', {
    state: field.word(
      ['in_force', 'edit_refused', 'cases_failed'],
      '`edit_refused`: the files have mistakes, and the previous policy stays active. `cases_failed`: the active policy fails its own test cases, which ran after the start.',
    ),
    message: field.text('The result of the last reload. `GET /admin/policy` has the details.', 'The policy is active.'),
  }),
});

/** The health of a store. */
export interface StoreHealth {
  readonly activity: Pick<StoreActivity, 'isFailing'>;
  readonly instance?: Pick<Instance, 'isCurrent'>;
}

const alive = () => ({ status: 'ok' });

/** Liveness and readiness for load balancers. Neither needs a key. */
export const healthRoutes = (gateway: Gateway, policy: PolicyAdmin, store: StoreHealth) =>
  new Elysia({ name: 'health' })
    .get(
      '/healthz',
      alive,
      routeDocs({
        summary: 'Liveness',
        description: 'Answers if the process runs. `/health` does the same.',
        tag: 'Health',
        access: 'open',
        answer: { schema: Health, description: 'Alive.' },
      }),
    )
    // Many load balancers use this path by default.
    .get('/health', alive, unlisted({ access: 'open' }))
    .get(
      '/readyz',
      ({ set }) => {
        const { snapshot } = gateway.lease();
        const status = statusOf(gateway, store);
        if (status !== 'ready') set.status = 503;
        return {
          status,
          policy_revision: snapshot.revision,
          models: snapshot.models.length,
          policy: policyDetail(policy),
        };
      },
      routeDocs({
        summary: 'Readiness',
        description:
          'Says whether the server accepts requests. While the database cannot be written, it answers 503 with `unwritable`, because the server then refuses requests that cost money. A server that is stopping accepts no new connections, and answers 503 on open connections. A refused edit of the policy does not affect readiness: the previous policy stays active.',
        tag: 'Health',
        access: 'open',
        answer: {
          schema: Readiness,
          description: 'Ready.',
          unready: { description: 'Not ready.', differs: { status: 'unwritable' } },
        },
      }),
    );

/** A server that cannot write cannot reserve money, so it refuses every request that costs money. */
function statusOf(gateway: Gateway, { activity, instance }: StoreHealth): 'ready' | 'draining' | 'unwritable' {
  if (gateway.isDraining || gateway.isEnding) return 'draining';
  return activity.isFailing || instance?.isCurrent === false ? 'unwritable' : 'ready';
}

/** Anyone may see that an edit was refused or that test cases fail. Only `/admin/policy` shows the errors. */
function policyDetail(policy: PolicyAdmin): Static<typeof Readiness>['policy'] {
  const { failsCases, last } = policy.status();
  if (failsCases)
    return {
      state: 'cases_failed',
      message: 'The policy fails its own test cases. GET /admin/policy lists the failures.',
    };
  if (last.result !== 'refused') return { state: 'in_force', message: 'The policy is active.' };
  const message = 'The last edit of the policy was refused. GET /admin/policy lists the mistakes.';
  return { state: 'edit_refused', message };
}
