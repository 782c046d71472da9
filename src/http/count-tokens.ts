import { Elysia } from 'elysia';
import { BODY_ERRORS } from '../admin/kit/operation.ts';
import { CountRequest, PromptTokens, readCount } from '../dialects/anthropic-messages/count.ts';
import { errorBody } from '../dialects/anthropic-messages/error.ts';
import { MessagesError } from '../dialects/anthropic-messages/error-schema.ts';
import { countTokens } from '../gateway/request/count-tokens.ts';
import { routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';

const EXAMPLE = { model: 'auto', system: 'Be brief.', messages: [{ role: 'user', content: 'Say hello.' }] };

/** `POST /v1/messages/count_tokens`. */
export const countTokensRoutes = ({ gateway, contextOf, bodyOf }: RouteServices) =>
  new Elysia({ name: 'count-tokens' }).post(
    '/v1/messages/count_tokens',
    async ({ request, set }) => {
      const context = contextOf(request);
      const prompt = readCount(await bodyOf(request, context), request.headers);
      const { inputTokens, basis } = await countTokens(gateway, prompt, context);
      set.headers['request-id'] = String(set.headers['x-request-id']);
      return { input_tokens: inputTokens, basis };
    },
    routeDocs({
      access: 'chat',
      body: 'policy',
      counts: true,
      summary: 'Count the tokens of a message',
      description:
        'Returns the number of prompt tokens in these messages, tools and system prompt. Costs nothing. If `model` names a model, its provider counts the tokens if it can.',
      tag: 'Anthropic Messages',
      request: CountRequest,
      requests: { simple: { summary: 'A greeting', value: EXAMPLE } },
      answer: { schema: PromptTokens, description: 'The tokens.', example: { input_tokens: 19, basis: 'estimated' } },
      errorField: 'messages[0].content',
      errors: [...BODY_ERRORS, 'unsupported_parameter', 'model_not_found'],
      errorForm: { schema: MessagesError, body: errorBody },
    }),
  );
