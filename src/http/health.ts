import { Elysia } from 'elysia';
import type { Gateway } from '../gateway/gateway.ts';
import { operation } from './docs/operation.ts';
import { Health, Readiness } from './schemas/health.ts';

/** Liveness and readiness, for load balancers. Neither needs a key. */
export const healthRoutes = (gateway: Gateway) =>
  new Elysia({ name: 'health' })
    .get(
      '/healthz',
      () => ({ status: 'ok' }),
      operation({
        summary: 'Liveness',
        description: 'The process answers.',
        tag: 'health',
        open: true,
        answer: { schema: Health, description: 'Alive.', example: { status: 'ok' } },
      }),
    )
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
      operation({
        summary: 'Readiness',
        description: 'Whether requests are taken. 503 with the same body once the process drains.',
        tag: 'health',
        open: true,
        answer: {
          schema: Readiness,
          description: 'Ready.',
          example: { status: 'ready', policy_revision: '95f1a7d5f908027b', models: 4 },
        },
      }),
    );
