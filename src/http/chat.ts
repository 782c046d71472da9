import { Elysia, type HTTPHeaders } from 'elysia';
import { ChatRequest } from '../core/chat-request.ts';
import { beginChat } from '../gateway/chat.ts';
import type { Exchange } from '../gateway/exchange.ts';
import { screenKinds } from '../gateway/screen.ts';
import type { RouteContext } from './app.ts';
import { Completion } from './completion.ts';
import { CHAT_ANSWER, CHAT_REQUESTS, CHAT_STREAM } from './docs/examples.ts';
import { BODY_ERRORS, type Operation, operation } from './docs/operation.ts';
import { ChatCompletion, ChatCompletionChunk } from './schemas/completion.ts';
import { streamResponse } from './stream.ts';
import { compileCheck } from './validation.ts';

const check = compileCheck(ChatRequest);

const CHAT_OPERATION: Operation = {
  summary: 'Create a chat completion',
  description: `OpenAI’s chat completions. \`model\` is a model’s ID, or a selector that chooses one by the policy.
\`budget_limit\` is hard; \`route_strategy\` and \`constraints\` steer the choice. Fields that Signalbox does not
know are never an error: they are passed on where the policy says so, else named in \`platform.dropped\`.`,
  tag: 'chat',
  answer: { schema: ChatCompletion, description: 'With `stream: false`, one JSON body.', example: CHAT_ANSWER },
  events: {
    schema: ChatCompletionChunk,
    description:
      'With `stream: true`, server-sent events: each `data:` line is one chunk; the last chunk with a `finish_reason` carries `platform`; `data: [DONE]` ends a good stream. A stream that fails after its first part ends with `data: {"error": …, "platform": …}` and without `[DONE]`.',
    example: CHAT_STREAM,
  },
  requests: CHAT_REQUESTS,
  errors: [
    ...BODY_ERRORS,
    'unknown_field',
    'unsupported_parameter',
    'model_not_found',
    'budget_limit_too_low',
    'context_length_exceeded',
    'no_eligible_model',
    'insufficient_quota',
    'budget_contended',
    'upstream_rejected_request',
    'upstream_rate_limited',
    'upstream_failed',
    'upstream_timeout',
  ],
};

/** `POST /v1/chat/completions`, JSON and server-sent events. */
export const chatRoutes = ({ gateway, callerOf }: RouteContext) =>
  new Elysia({ name: 'chat' }).post(
    '/v1/chat/completions',
    async ({ body, request, server, set }) => {
      // Deadlines bound the wait; the server's own idle limit would cut off a model that thinks.
      server?.timeout(request, 0);
      const exchange = await beginChat(gateway, body, callerOf(request));
      set.headers['x-signalbox-decision-id'] = exchange.decisionId;
      request.signal.addEventListener('abort', () => exchange.abandon('caller-gone'));
      // Gone while the money was set aside: that event is over.
      if (request.signal.aborted) exchange.abandon('caller-gone');
      if (!body.stream) return jsonBody(exchange, set.headers);
      const includeUsage = body.stream_options?.include_usage === true;
      const { commitAfterMs } = exchange.policy;
      try {
        return await streamResponse(exchange, { includeUsage, commitAfterMs });
      } catch (error) {
        tellPrice(exchange, set.headers);
        throw error;
      }
    },
    {
      transform({ body }) {
        screenKinds(body);
        check(body);
      },
      body: ChatRequest,
      ...operation(CHAT_OPERATION),
    },
  );

/** The answer as text: with the headers beside it the server makes one response of both. An error tells its price too. */
async function jsonBody(exchange: Exchange, headers: HTTPHeaders): Promise<string> {
  const completion = new Completion();
  try {
    await exchange.open();
    for (let batch = await exchange.read(); batch !== null; batch = await exchange.read()) completion.add(batch);
    if (exchange.error) throw exchange.error;
  } finally {
    tellPrice(exchange, headers);
  }
  if (!exchange.receipt) throw new Error('the exchange ended without a receipt');
  headers['content-type'] = 'application/json';
  headers['x-signalbox-model'] = exchange.model;
  return JSON.stringify(completion.body(exchange, exchange.receipt));
}

/** With an error too: attempts that failed may have cost something. */
function tellPrice({ receipt }: Exchange, headers: HTTPHeaders): void {
  headers['x-signalbox-credits'] = String(receipt?.platform.credits_consumed ?? 0);
}
