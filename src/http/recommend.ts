import { Elysia } from 'elysia';
import { RouteQuery } from '../core/route-query.ts';
import { recommend } from '../gateway/route.ts';
import type { RouteContext } from './app.ts';
import { compileCheck } from './validation.ts';

const check = compileCheck(RouteQuery);

/** `POST /v1/route`. */
export const recommendRoutes = ({ gateway, callerOf }: RouteContext) =>
  new Elysia({ name: 'route' }).post(
    '/v1/route',
    ({ body, request, set }) => {
      const advice = recommend(gateway, body, callerOf(request));
      set.headers['x-signalbox-decision-id'] = advice.decision_id;
      return advice;
    },
    {
      transform: ({ body }) => check(body),
      body: RouteQuery,
      detail: {
        summary: 'Recommend a model',
        description: 'The model that a chat request of the same facts would get, with estimates. Costs nothing.',
        tags: ['route'],
        security: [{ apiKey: [] }],
      },
    },
  );
