import { AT_ONCE } from './workload.ts';

/**
 * The provider of the benchmark: answers every request with bytes made beforehand, so that it is
 * never the bottleneck. Prints its port.
 */
const CHUNKS = 50;

const completion = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1_790_000_000,
  model: 'bench-model-upstream',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'word '.repeat(100).trim(), refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 50, completion_tokens: 100, total_tokens: 150 },
});

const head = {
  id: 'chatcmpl-bench',
  object: 'chat.completion.chunk',
  created: 1_790_000_000,
  model: 'bench-model-upstream',
};
const event = (fields: object): string => `data: ${JSON.stringify({ ...head, ...fields })}\n\n`;
const chunks = [
  event({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] }),
  ...Array.from({ length: CHUNKS }, () =>
    event({ choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }] }),
  ),
  event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  event({ choices: [], usage: { prompt_tokens: 50, completion_tokens: 50, total_tokens: 100 } }),
  'data: [DONE]\n\n',
].map((text) => new TextEncoder().encode(text));

const burst = Buffer.concat(chunks);

const json = { headers: { 'content-type': 'application/json' } };
const sse = { headers: { 'content-type': 'text/event-stream' } };

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  async fetch(request) {
    const text = await request.text();
    if (!text.includes('"stream":true')) return new Response(completion, json);
    if (text.includes(AT_ONCE)) return new Response(burst, sse);
    // A write an event and a turn of the loop between them, as a model that makes token after token would.
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        for (const chunk of chunks) {
          controller.enqueue(chunk);
          await new Promise((resolve) => setImmediate(resolve));
        }
        controller.close();
      },
    });
    return new Response(body, sse);
  },
});

process.stdout.write(`${server.port}\n`);
