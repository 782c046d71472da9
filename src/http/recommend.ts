import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { DECISION_ERRORS } from '../admin/kit/operation.ts';
import { RouteRequest } from '../core/api/route-query.ts';
import { OTHER_BODIES, ROUTE_DIALECTS, readRouteBody } from '../dialects/route-body.ts';
import { recommend } from '../gateway/request/recommend.ts';
import { ROUTE_REQUESTS } from './docs/request-examples.ts';
import { textResponse } from './kit/response.ts';
import { routeDocs } from './kit/route-docs.ts';
import type { RouteServices } from './kit/route-services.ts';
import { RouteAdvice } from './schemas/advice.ts';

const DESCRIPTION = `Returns the model that a chat request with the same facts would get, with estimates and alternatives. It calls no
provider and costs nothing.

With \`messages\`, the body is a complete chat request. Every field counts as in a chat, unknown fields are no
error, and the same body sent as a chat gets the same decision. \`model\` is \`auto\` by default. \`task_type\`,
\`estimated_input_tokens\` and \`estimated_output_tokens\` replace the values that Signalbox would read from the messages. Without
\`messages\`, only the fields of \`RouteQuery\` are allowed.

A body of \`/v1/messages\` or \`/v1/responses\` is recognised by its fields (\`system\`, \`input_schema\`, blocks such as \`tool_use\`; \`input\`) or by
the field \`dialect\`, which is one of ${ROUTE_DIALECTS.map((name) => `\`${name}\``).join(', ')}.

You can send a figure of the answer as the ceiling \`max_cost_credits\` or \`max_latency_ms\` of a request: the recommended model stays within it.`;

/** `POST /v1/route`. */
export const recommendRoutes = ({ pipeline, contextOf, promptOf }: RouteServices) =>
  new Elysia({ name: 'route' }).post(
    '/v1/route',
    async ({ request, set }) => {
      const context = contextOf(request);
      const query = readRouteBody(await promptOf(request, context), request.headers);
      const advice = await recommend(pipeline, query, context);
      set.headers['x-signalbox-decision-id'] = advice.decision_id;
      set.headers['content-type'] = 'application/json;charset=utf-8';
      return textResponse(JSON.stringify(advice), set);
    },
    routeDocs({
      access: 'route',
      body: 'policy',
      counts: true,
      summary: 'Recommend a model',
      description: DESCRIPTION,
      tag: 'Routing',
      request: Type.Union([...RouteRequest.anyOf, ...OTHER_BODIES]),
      answer: { schema: RouteAdvice, description: 'The recommendation.' },
      requests: ROUTE_REQUESTS,
      errorField: 'constraints.max_cost_credits',
      errors: [...DECISION_ERRORS, 'agent_wallet_mismatch'],
    }),
  );
