import { Elysia } from 'elysia';
import { ChatRequest } from '../core/chat-request.ts';
import { beginChat } from '../gateway/chat.ts';
import { readChatRequest } from '../surface/openai-chat/reader.ts';
import { jsonBody, tellPrice } from './answer.ts';
import type { RouteContext } from './context.ts';
import { CHAT_ANSWER, CHAT_REQUESTS, CHAT_STREAM } from './docs/examples.ts';
import { BODY_ERRORS, type Operation, operation } from './docs/operation.ts';
import { readChat } from './read-body.ts';
import { answerOnce, askOf } from './replay.ts';
import { ChatCompletion, ChatCompletionChunk } from './schemas/completion.ts';
import { streamResponse } from './stream.ts';
import { arrivedAs, payerFor } from './x402/payer.ts';

const CHAT_OPERATION: Operation = {
  summary: 'Create a chat completion',
  description: `OpenAI’s chat completions. \`model\` is a model’s ID, or a selector that chooses one by the policy.
\`budget_limit\` is hard; \`route_strategy\` and \`constraints\` steer the choice. Fields that Signalbox does not
know are never an error: they are passed on where the policy says so, else named in \`platform.dropped\`.
With the header \`Idempotency-Key\` (1 to 255 printable ASCII characters) the same request gets the same answer for
24 hours and is charged once; the header \`x-signalbox-replayed: true\` says so.
Where the policy takes payments by x402, a request without an API key gets 402 with a quote, and is answered when it
comes again with the header \`PAYMENT-SIGNATURE\`.`,
  tag: 'chat',
  answer: { schema: ChatCompletion, description: 'With `stream: false`, one JSON body.', example: CHAT_ANSWER },
  events: {
    schema: ChatCompletionChunk,
    description:
      'With `stream: true`, server-sent events: each `data:` line is one chunk; the last chunk with a `finish_reason` carries `platform`; `data: [DONE]` ends a good stream. A stream that fails after its first part ends with `data: {"error": …, "platform": …}` and without `[DONE]`.',
    example: CHAT_STREAM,
  },
  requests: CHAT_REQUESTS,
  pays: true,
  errorField: 'messages[0].content',
  errors: [
    ...BODY_ERRORS,
    'unknown_field',
    'unsupported_parameter',
    'model_not_found',
    'budget_limit_too_low',
    'context_length_exceeded',
    'no_eligible_model',
    'no_healthy_model',
    'insufficient_quota',
    'payment_required',
    'payment_invalid',
    'agent_wallet_mismatch',
    'unsupported_x402_version',
    'payment_unavailable',
    'payment_unsettled',
    'budget_contended',
    'upstream_rejected_request',
    'upstream_rate_limited',
    'upstream_failed',
    'upstream_timeout',
    'in_flight',
    'idempotency_key_reused',
    'idempotency_answer_unavailable',
  ],
};

/** Seconds for which nobody may read of an answer that is complete, or whose deadline is over; its socket holds memory. */
const UNREAD_S = 30;

/** `POST /v1/chat/completions`, JSON and server-sent events. */
export const chatRoutes = (context: RouteContext) =>
  new Elysia({ name: 'chat' }).post(
    '/v1/chat/completions',
    async ({ body, request, server, set }) => {
      // Deadlines bound the wait; the server's own idle limit would cut off a model that thinks.
      server?.timeout(request, 0);
      const visit = context.visitOf(request);
      visit.whenOver(() => server?.timeout(request, UNREAD_S));
      const seen = context.seenOf(request);
      seen.isStream = body.stream === true;
      const arrived = arrivedAs(readChatRequest(body), request, set.headers, seen);
      const payer = await payerFor(context, arrived);
      const ask = askOf(arrived, payer);
      if (ask) return answerOnce(context, ask, payer, arrived);
      const company = { ticket: visit, signal: request.signal };
      const exchange = await beginChat(context.gateway, arrived.asked, payer, company);
      visit.tell(set.headers);
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
      transform(context) {
        context.body = readChat(context.body);
      },
      body: ChatRequest,
      ...operation(CHAT_OPERATION),
    },
  );
