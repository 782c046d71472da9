/**
 * The floor of every comparison: the minimum that a proxy in Bun can do. The floor reads the request, sends the same bytes on and passes
 * the answer through. The arguments of the floor are the upstream's base URL and the path at the upstream. The floor prints its port.
 */
const [upstream, path = '/chat/completions'] = process.argv.slice(2);
if (!upstream) throw new Error('give the upstream’s base URL');

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  async fetch(request) {
    const body = await request.text();
    const answer = await fetch(`${upstream}${path}`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    });
    return new Response(answer.body, {
      status: answer.status,
      headers: { 'content-type': answer.headers.get('content-type') ?? '' },
    });
  },
});

process.stdout.write(`${server.port}\n`);
