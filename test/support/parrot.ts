import { startOwnServer } from './own-server.ts';

/** The example service of docs/extend/adapters.md, which is not real: it repeats everything that it receives twice. */
export interface ParrotService {
  /** The environment that a reader of the page sets. */
  readonly env: { readonly PARROT_BASE_URL: string; readonly PARROT_API_KEY: string };
  /** The bodies of the requests that it received. */
  readonly asked: unknown[];
  stop(): void;
}

const KEY = 'parrot-key-for-tests';

interface Asked {
  readonly lines: readonly { readonly words: string }[];
  readonly live: boolean;
  readonly limit: number;
}

const isAsked = (body: unknown): body is Asked =>
  typeof body === 'object' && body !== null && 'lines' in body && Array.isArray(body.lines) && 'limit' in body;

export function startParrot(): ParrotService {
  const asked: unknown[] = [];
  const server = startOwnServer(async (request) => {
    if (request.headers.get('x-parrot-key') !== KEY) return Response.json({ squawk: 'Who is it?' }, { status: 401 });
    const body: unknown = await request.json();
    asked.push(body);
    if (new URL(request.url).pathname !== '/say' || !isAsked(body))
      return Response.json({ squawk: 'What?' }, { status: 404 });
    const words = body.lines.at(-1)?.words ?? '';
    const end = { ends: 'done', heard: words.split(' ').length, said: 2 };
    if (!body.live) return Response.json({ says: `${words} ${words}`, ...end });
    const events = [
      ['word', { says: words }],
      ['word', { says: ` ${words}` }],
      ['end', end],
    ] as const;
    const text = events.map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join('');
    return new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  });
  return {
    env: { PARROT_BASE_URL: server.url, PARROT_API_KEY: KEY },
    asked,
    stop: () => void server.stop(),
  };
}
