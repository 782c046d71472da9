import { Elysia, type HTTPHeaders } from 'elysia';
import { ChatRequest } from '../core/chat-request.ts';
import { SignalboxError } from '../core/errors.ts';
import { beginChat } from '../gateway/chat.ts';
import type { Exchange } from '../gateway/exchange.ts';
import type { RouteContext } from './app.ts';
import { Completion } from './completion.ts';
import { streamResponse } from './stream.ts';
import { compileCheck } from './validation.ts';

const check = compileCheck(ChatRequest);

/** `POST /v1/chat/completions`, JSON and server-sent events. */
export const chatRoutes = ({ gateway, callerOf }: RouteContext) =>
  new Elysia({ name: 'chat' }).post(
    '/v1/chat/completions',
    async ({ body, request, server, set }) => {
      // Deadlines bound the wait; the server's own idle limit would cut off a model that thinks.
      server?.timeout(request, 0);
      const exchange = await beginChat(gateway, body, callerOf(request));
      set.headers['x-signalbox-decision-id'] = exchange.decisionId;
      request.signal.addEventListener('abort', () => exchange.abandon(callerGone()));
      // Gone while the money was set aside: that event is over.
      if (request.signal.aborted) exchange.abandon(callerGone());
      if (!body.stream) return jsonBody(exchange, set.headers);
      return streamResponse(exchange, {
        includeUsage: body.stream_options?.include_usage === true,
        commitAfterMs: gateway.lease().snapshot.gateway.commitAfterMs,
        onGone: callerGone,
      });
    },
    {
      transform: ({ body }) => check(body),
      body: ChatRequest,
      detail: {
        summary: 'Create a chat completion',
        description: 'OpenAI-compatible. `model` is a model ID, or a selector that chooses one.',
        tags: ['chat'],
        security: [{ apiKey: [] }],
      },
    },
  );

/** For the record and the log; nobody is there to read it. */
const callerGone = () =>
  new SignalboxError('upstream_failed', 'The caller went away before the answer ended.', { retry: false });

/** The answer as text: with the headers beside it the server makes one response of both. */
async function jsonBody(exchange: Exchange, headers: HTTPHeaders): Promise<string> {
  await exchange.open();
  const completion = new Completion();
  for (let batch = await exchange.read(); batch !== null; batch = await exchange.read()) completion.add(batch);
  const { error, receipt } = exchange;
  if (error) throw error;
  if (!receipt) throw new Error('the exchange ended without a receipt');
  headers['content-type'] = 'application/json';
  headers['x-signalbox-model'] = exchange.model;
  headers['x-signalbox-credits'] = String(receipt.platform.credits_consumed);
  return JSON.stringify(completion.body(exchange, receipt));
}
