import { ANSWERS, type DialectAnswers } from './answers.ts';
import { AT_ONCE } from './workload.ts';

/**
 * The provider of the benchmark. The provider answers every request in the dialect of its path with prepared bytes, so that the provider is
 * never the bottleneck. The provider prints its port.
 */
interface Prepared {
  readonly path: string;
  readonly body: string;
  readonly chunks: readonly Uint8Array[];
  readonly burst: Uint8Array;
}

const PREPARED: readonly Prepared[] = Object.entries(ANSWERS).map(
  ([path, { body, events }]: [string, DialectAnswers]) => {
    const chunks = events.map((text) => new TextEncoder().encode(text));
    return { path, body, chunks, burst: Buffer.concat(chunks) };
  },
);

const json = { headers: { 'content-type': 'application/json' } };
const sse = { headers: { 'content-type': 'text/event-stream' } };

/** The list of models in Ollama's form, for a start that finds its models. */
const MODELS = { models: [{ name: 'bench', capabilities: ['completion'] }] };

/** The time that each answer takes, in ms. */
const waitMs = Number(process.argv[2] ?? 0);
/** The port; by default any free port. */
const port = Number(process.argv[3] ?? 0);

const server = Bun.serve({
  port,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  async fetch(request) {
    if (request.url.endsWith('/api/tags')) return Response.json(MODELS);
    const text = await request.text();
    if (waitMs > 0) await Bun.sleep(waitMs);
    const { body, chunks, burst } = PREPARED.find(({ path }) => request.url.endsWith(path)) ?? PREPARED[0]!;
    if (!text.includes('"stream":true')) return new Response(body, json);
    if (text.includes(AT_ONCE)) return new Response(burst, sse);
    // Each event is a separate write, with a turn of the event loop between them, like a model that produces one token after another.
    const paced = new ReadableStream<Uint8Array>({
      async start(controller) {
        for (const chunk of chunks) {
          controller.enqueue(chunk);
          await new Promise((resolve) => setImmediate(resolve));
        }
        controller.close();
      },
    });
    return new Response(paced, sse);
  },
});

process.stdout.write(`${server.port}\n`);
