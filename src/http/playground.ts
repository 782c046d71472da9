import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { BODY_ERRORS } from '../admin/kit/operation.ts';
import { senderAs } from '../admin/use-cases/playground.ts';
import * as field from '../core/api/parts.ts';
import { bodyIn } from './body.ts';
import { routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';
import { PLAYGROUND } from './route-table.ts';

/** The dialects of the playground, with the paths of their surfaces. */
const PLAYGROUND_PATHS = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  embeddings: '/v1/embeddings',
} as const;
const DIALECTS = Object.keys(PLAYGROUND_PATHS) as (keyof typeof PLAYGROUND_PATHS)[];

const PlaygroundRequest = field.body('A request, and the key that it is sent as.', {
  key: Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'The ID of a key of your own.',
    examples: ['k7mw2pq9x4ta'],
  }),
  dialect: field.word(DIALECTS, 'The dialect of `body`, and of the answer.', 'chat'),
  body: Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'The body, as the path of the dialect takes it.',
      examples: [{ model: 'auto', messages: [{ role: 'user', content: 'Hello' }] }],
    },
  ),
});

interface PlaygroundServices extends RouteServices {
  readonly keys: Parameters<typeof senderAs>[1];
}

/**
 * `POST /admin/playground`: a request of a model as a key of the person's own. It goes through the whole edge as the key's own would,
 * so that it meets the same limits, and has the same answer and errors. Nothing of the request that brings it comes along but its
 * address: neither a cookie nor an `Idempotency-Key`.
 */
export const playgroundRoutes = ({ principalOf, addressOf, handle, server, keys }: PlaygroundServices) =>
  new Elysia({ name: 'playground' }).post(
    PLAYGROUND,
    async ({ body: { key, dialect, body }, request, set }) => {
      const sender = senderAs(principalOf(request), keys, key);
      const text = JSON.stringify(body);
      const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
      const url = new URL(PLAYGROUND_PATHS[dialect], request.url).href;
      const sent = new Request(url, { method: 'POST', headers, body: text, signal: request.signal });
      // The answer has its own.
      set.headers = {};
      const timeout = (seconds: number) => server()?.timeout(request, seconds);
      return await handle(sent, { address: addressOf(request) ?? '', timeout, sender });
    },
    {
      ...bodyIn(PlaygroundRequest),
      ...routeDocs({
        access: 'playground.send',
        body: 'policy',
        summary: 'Send a request as a key of your own',
        description:
          'Runs the body as the key with this ID, whose secret is not needed: with its scopes, models, funds and limits. The answer is that of the path of the dialect, with its headers; `stream` answers with its events. The decision says who sent it (`sent_by`). A person sends as a key that belongs to its user, a key as itself.',
        tag: 'Decisions',
        requests: {
          chat: {
            summary: 'A chat',
            value: {
              key: 'k7mw2pq9x4ta',
              dialect: 'chat',
              body: { model: 'auto', messages: [{ role: 'user', content: 'Hello' }] },
            },
          },
        },
        answer: { schema: field.openShape({}), description: 'The answer, in its dialect.', example: {} },
        errorField: 'key',
        errors: [...BODY_ERRORS, 'unknown_field', 'not_found', 'key_suspended'],
      }),
    },
  );
