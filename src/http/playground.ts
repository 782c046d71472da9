import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { BODY_ERRORS } from '../admin/kit/operation.ts';
import { senderAs } from '../admin/use-cases/playground.ts';
import * as field from '../core/define/fields.ts';
import { objectOf, textOf } from '../core/json/object.ts';
import { SURFACES } from '../dialects/surfaces.ts';
import { bodyIn } from './kit/body.ts';
import { filledPath } from './kit/path-template.ts';
import { routeDocs } from './kit/route-docs.ts';
import type { RouteServices } from './kit/route-services.ts';
import { PLAYGROUND } from './kit/route-table.ts';

/** The paths of the dialects in the playground, by their words. */
const PATHS: ReadonlyMap<string, string> = new Map(
  SURFACES.flatMap(({ playground, routes: [{ path }] }) => (playground ? [[playground.word, path] as const] : [])),
);

const PlaygroundRequest = field.closed('A request, and the key with which it is sent.', {
  key: Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'The ID of one of your keys.',
    examples: ['k7mw2pq9x4ta'],
  }),
  dialect: field.word([...PATHS.keys()], 'The dialect of `body` and of the answer.', 'chat'),
  body: Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'The request body in the form that the path of the dialect accepts.',
      examples: [{ model: 'auto', messages: [{ role: 'user', content: 'Hello' }] }],
    },
  ),
});

interface PlaygroundServices extends RouteServices {
  readonly keys: Parameters<typeof senderAs>[1];
}

/**
 * `POST /admin/playground`: sends a model request with one of the person's own keys. The model request goes through all checks like a
 * request that contains the key, so it has the same limits, answers and errors. Only the address of the outer request is passed on, no
 * cookie and no `Idempotency-Key`.
 */
export const playgroundRoutes = ({ principalOf, addressOf, handle, server, keys }: PlaygroundServices) =>
  new Elysia({ name: 'playground' }).post(
    PLAYGROUND,
    async ({ body: { key, dialect, body }, request, set }) => {
      const sender = senderAs(principalOf(request), keys, key);
      const text = JSON.stringify(body);
      const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
      const path = filledPath(PATHS.get(dialect) ?? '', textOf(objectOf(body).model));
      const url = new URL(path, request.url).href;
      const sent = new Request(url, { method: 'POST', headers, body: text, signal: request.signal });
      // The response has headers of its own.
      set.headers = {};
      const timeout = (seconds: number) => server()?.timeout(request, seconds);
      return await handle(sent, { address: addressOf(request) ?? '', timeout, sender });
    },
    {
      ...bodyIn(PlaygroundRequest),
      ...routeDocs({
        access: 'playground.send',
        body: 'policy',
        summary: 'Send a request with one of your keys',
        description:
          'Sends the body with the key of this ID, without its secret. The scopes, models, funds and limits of the key apply, and the key is charged. The answer and its headers are the same as at the path of the dialect; with `stream`, the answer is a stream of events. The decision names the sender (`sent_by`). A person can use keys that belong to their user, and a key can use itself.',
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
