import { Elysia } from 'elysia';
import type { Gateway } from '../gateway/gateway.ts';

/** Liveness and readiness, for load balancers. Neither needs a key. */
export const healthRoutes = (gateway: Gateway) =>
  new Elysia({ name: 'health' })
    .get('/healthz', () => ({ status: 'ok' }), {
      detail: { summary: 'Liveness', description: 'The process answers.', tags: ['health'] },
    })
    .get(
      '/readyz',
      ({ set }) => {
        const { snapshot } = gateway.lease();
        const ready = !gateway.draining();
        if (!ready) set.status = 503;
        return {
          status: ready ? 'ready' : 'draining',
          policy_revision: snapshot.revision,
          models: snapshot.models.length,
        };
      },
      { detail: { summary: 'Readiness', description: '503 once the process drains.', tags: ['health'] } },
    );
