import { Elysia } from 'elysia';

/**
 * A server that reads a JSON body and answers with the same bytes each time: what HTTP costs, bare
 * or with `elysia` as its argument. Prints its port.
 */
const answer = JSON.stringify({ text: 'word '.repeat(200) });
const headers = { 'content-type': 'application/json' };
function respond(body: unknown): Response {
  if (typeof body !== 'object') throw new Error('no body came');
  return new Response(answer, { headers });
}
const options = { port: 0, hostname: '127.0.0.1', idleTimeout: 0 };

const server =
  process.argv[2] === 'elysia'
    ? new Elysia({ normalize: false }).post('/v1/chat/completions', ({ body }) => respond(body)).listen(options).server
    : Bun.serve({
        ...options,
        async fetch(request) {
          return respond(await request.json());
        },
      });

process.stdout.write(`${server?.port}\n`);
