import { Elysia } from 'elysia';
import { explain } from '../gateway/explain.ts';
import { decisionBody } from './decision-body.ts';
import { routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';
import { Decision } from './schemas/decision.ts';

/** `GET /v1/decisions/{id}`: the reasons for a choice, and its outcome. */
export const decisionRoutes = ({ gateway, callerOf }: RouteServices) =>
  new Elysia({ name: 'decisions' }).get(
    '/v1/decisions/:id',
    async ({ params: { id }, request }) => decisionBody(await explain(gateway, id, callerOf(request))),
    routeDocs({
      access: 'key',
      summary: 'Explain a decision',
      description:
        'The facts (never text), every model with its estimates and why it stands where it does, the choice, and what came of it. It is decided again for this answer, from what was recorded, so that the reasons are the real ones; `replay` says whether it came to the same. For the key that asked, or an admin’s.',
      tag: 'decisions',
      answer: { schema: Decision, description: 'The record of the decision.' },
      errors: ['not_found'],
    }),
  );
