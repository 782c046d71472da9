import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import fc from 'fast-check';
import { OWN_SERVERS } from '../docs/own-servers-page.ts';
import { type Answer, answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { blocksOf } from '../support/page-blocks.ts';
import { freePort } from '../support/ports.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { effort } from './effort.ts';
import { installed, MODEL_SERVERS, type ModelServer, weightsIn } from './model-servers.ts';

/**
 * `npm run test:deep -- servers`: local model servers, with a small model that runs on the CPU. The first run builds llama-cpp-python,
 * which takes ten minutes of CPU. The section also tests llama.cpp's server and Ollama if they are on the `PATH`.
 */
const { runs, seed, proved } = effort('servers', 2, 12);
const PATIENCE_MS = 900_000;
const BUILD_MS = 3_600_000;

const tried: string[] = [];
const left: string[] = [];
let home = '';
beforeAll(async () => {
  home = await installed();
}, BUILD_MS);
afterAll(() => {
  const skipped = left.length === 0 ? '' : `; not on the PATH: ${left.join(', ')}`;
  if (tried.length > 0) proved(`${tried.join('; ')}${skipped}`);
});

const said = (content: string) => [{ role: 'user', content }];
const tool = {
  type: 'function',
  function: {
    name: 'weather',
    parameters: { type: 'object', properties: { city: { enum: ['Oslo', 'Rome'] } }, required: ['city'] },
  },
};
const FORCED = { tools: [tool], tool_choice: { type: 'function', function: { name: 'weather' } } };
const schema = { ...tool.function.parameters, additionalProperties: false };
const FORM = { response_format: { type: 'json_schema', json_schema: { name: 'weather', schema } } };

/** A running model server, with a gateway in front of it. */
class Stand {
  readonly server: ModelServer;
  readonly #folder = temporaryFolder();
  readonly #port = freePort();
  #child: Bun.Subprocess | undefined;
  #box: Signalbox | undefined;

  constructor(server: ModelServer) {
    this.server = server;
  }

  get #url(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }

  async start(): Promise<void> {
    const place = { home, weights: weightsIn(home), folder: this.#folder, port: this.#port };
    const { command, env = {} } = this.server.command(place);
    this.#child = Bun.spawn([...command], { env: { ...process.env, ...env }, stdout: 'ignore', stderr: 'ignore' });
    await waitFor(async () => ((await fetch(`${this.#url}/models`).catch(() => null))?.ok ? true : null), PATIENCE_MS);
    await this.server.prepare?.(place);
    this.#box = await startSignalbox({
      policy: `version: 1
providers:
  own: { ${this.server.provider}, base_url: "${this.#url}" }
models:
  smol:
    provider: own
    price: { input: 0, output: 0 }
    context_window: 2048
    max_output: 1024
    capabilities: [${this.server.capabilities.join(', ')}]
    quality: { default: 0.5 }
    deadlines: { first_token_ms: ${PATIENCE_MS}, idle_ms: ${PATIENCE_MS}, total_ms: ${PATIENCE_MS} }
`,
    });
  }

  async stop(): Promise<void> {
    await this.#box?.stop();
    this.#child?.kill();
    await this.#child?.exited;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Starts a gateway with the policy of the page that finds the models of this kind of server. The caller stops it. */
  startFinding(): Promise<Signalbox> {
    const block = blocksOf(OWN_SERVERS).find(
      ({ words: [kind, name] }) => kind === 'policy' && name === this.server.page,
    )!;
    return startSignalbox({ policy: `version: 1\n${block.text.replace(/http:\/\/\S+?(?=[ }\n])/, this.#url)}` });
  }

  post(path: string, body: object, init: RequestInit = {}): Promise<Response> {
    return this.#box!.post(path, { model: 'smol', ...body }, init);
  }

  chat(body: object, init: RequestInit = {}): Promise<Response> {
    return this.post('/v1/chat/completions', { temperature: 0, max_tokens: 24, ...body }, init);
  }

  /** Makes the same call without the gateway. */
  direct(body: object): Promise<Response> {
    return fetch(`${this.#url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'smol', temperature: 0, max_tokens: 24, ...body }),
    });
  }
}

/** An answer in the Messages API. */
interface MessageAnswer {
  readonly usage: { readonly input_tokens: number; readonly cache_read_input_tokens?: number | null };
}

/** Returns the part of an answer that callers see. */
const seen = ({ choices: [choice], usage }: Pick<Answer, 'choices' | 'usage'>) => ({
  text: choice!.message.content,
  finish: choice!.finish_reason,
  prompt: usage.prompt_tokens,
  output: usage.completion_tokens,
});

/**
 * Calls `ask` before and after `others`, and returns its result; null if the server does not repeat its own answers, because the state of
 * its cache can change them. The first call fills the cache.
 */
async function repeated<T>(ask: () => Promise<T>, others: () => Promise<void>): Promise<T | null> {
  await ask();
  const before = await ask();
  await others();
  const after = await ask();
  return JSON.stringify(before) === JSON.stringify(after) ? before : null;
}

/** Returns the same part of a stream. Without the server's usage, the gateway's own count is marked as estimated. */
async function seenInStream(response: Response) {
  const { chunks, done } = await eventsOf(response);
  expect([response.status, done]).toEqual([200, true]);
  const choices = chunks.flatMap(({ choices: [choice] }) => choice ?? []);
  const { usage } = chunks.findLast((chunk) => chunk.usage)!;
  const { platform } = chunks.findLast((chunk) => chunk.platform)!;
  return {
    text: choices.map(({ delta }) => delta.content ?? '').join(''),
    finish: choices.findLast((choice) => choice.finish_reason)!.finish_reason,
    ...(!platform.estimated && { prompt: usage.prompt_tokens, output: usage.completion_tokens }),
  };
}

async function ok(response: Response): Promise<Answer> {
  const answer = await answerOf(response);
  expect([response.status, answer.error?.message]).toEqual([200, undefined!]);
  return answer;
}

const words = fc.array(fc.constantFrom('Oslo', 'snow', 'count', 'to', 'three', 'why', 'is', 'the', 'sea', 'blue'), {
  minLength: 1,
  maxLength: 8,
});
const prompt = words.map((some) => `${some.join(' ')}?`);
const law = { seed, numRuns: runs };

for (const server of MODEL_SERVERS) {
  if (server.program !== undefined && Bun.which(server.program) === null) left.push(server.name);
  else describe(server.name, () => casesOf(server));
}

function casesOf(server: ModelServer): void {
  const stand = new Stand(server);
  beforeAll(() => stand.start(), PATIENCE_MS);
  afterAll(() => stand.stop());
  afterAll(() => {
    tried.push(
      `${server.name}: any of ${runs} prompts as in a direct call, streams, tools, schemas, aborts, five at once`,
    );
  });
  const can = (capability: string) => server.capabilities.includes(capability);

  test(
    'answers like a direct call: text, usage and finish reason, in JSON and as a stream',
    async () => {
      let compared = 0;
      await fc.assert(
        fc.asyncProperty(prompt, fc.integer({ min: 1, max: 24 }), async (text, max_tokens) => {
          const body = { messages: said(text), max_tokens };
          const found: unknown[] = [];
          const direct = await repeated(
            async () => seen(await ok(await stand.direct(body))),
            async () => {
              found.push(seen(await ok(await stand.chat(body))));
              const streaming = { stream: true, stream_options: { include_usage: true } };
              found.push(await seenInStream(await stand.chat({ ...body, ...streaming })));
            },
          );
          if (direct === null) return;
          const { text: answer, finish } = direct;
          expect(found).toEqual([direct, server.streamsUsage ? direct : { text: answer, finish }]);
          compared++;
        }),
        law,
      );
      expect(compared).toBeGreaterThan(0);
    },
    PATIENCE_MS,
  );

  test(
    'is found with the policy of its page, and its model answers the first request with auto',
    async () => {
      const finding = await stand.startFinding();
      try {
        const body = { model: 'auto', messages: said('Which sea is blue?'), max_tokens: 8 };
        const { platform, choices } = await ok(await finding.post('/v1/chat/completions', body));
        expect(platform.routed_model).toEndWith('/smol');
        expect(choices[0]?.message.content).not.toBeEmpty();
        console.log(finding.lines.find((line) => line.includes('models were found')));
      } finally {
        await finding.stop();
      }
    },
    PATIENCE_MS,
  );

  test(
    'ends at a stop sequence and at the largest output',
    async () => {
      const free = seen(await ok(await stand.chat({ messages: said('Count to ten.') })));
      const stop = [...free.text!].find((letter) => /[a-z]/i.test(letter))!;
      const cut = seen(await ok(await stand.chat({ messages: said('Count to ten.'), stop: [stop] })));
      expect([cut.finish, cut.text!.includes(stop)]).toEqual(['stop', false]);
      const short = seen(await ok(await stand.chat({ messages: said('Count to ten.'), max_tokens: 3 })));
      expect(short).toMatchObject({ finish: 'length', output: 3 });
    },
    PATIENCE_MS,
  );

  test(
    'answers in Responses and in Messages as in chat',
    async () => {
      const text = 'Say hello.';
      const found: unknown[] = [];
      const chat = await repeated(
        async () => seen(await ok(await stand.chat({ messages: said(text) }))),
        async () => {
          const responses = await stand.post('/v1/responses', { input: text, temperature: 0, max_output_tokens: 24 });
          const message = await stand.post('/v1/messages', { messages: said(text), temperature: 0, max_tokens: 24 });
          expect([responses.status, message.status]).toEqual([200, 200]);
          const body = (await message.json()) as MessageAnswer;
          const { input_tokens, cache_read_input_tokens = 0 } = body.usage;
          // The Messages API counts input from the cache separately.
          const usage = { ...body.usage, input_tokens: input_tokens + (cache_read_input_tokens ?? 0) };
          found.push(await responses.json(), { ...body, usage });
        },
      );
      if (chat === null) return;
      const usage = expect.objectContaining({ input_tokens: chat.prompt, output_tokens: chat.output });
      const content = [expect.objectContaining({ text: chat.text })];
      expect(found).toMatchObject([
        { output: [{ content }], usage },
        { content, usage },
      ]);
    },
    PATIENCE_MS,
  );

  test(
    'answers in a JSON schema if the policy declares it, and otherwise Signalbox refuses the field by name',
    async () => {
      const response = await stand.chat({ messages: said('Which city?'), ...FORM });
      if (can('json_schema')) {
        expect(JSON.parse(seen(await ok(response)).text!)).toEqual({ city: expect.stringMatching(/^(?:Oslo|Rome)$/) });
        return;
      }
      const { error } = await answerOf(response);
      expect([response.status, error.message]).toEqual([422, expect.stringContaining('`json_schema`')]);
      const json = await ok(
        await stand.chat({ messages: said('Answer in JSON.'), response_format: { type: 'json_object' } }),
      );
      if (seen(json).finish === 'stop') JSON.parse(seen(json).text!);
    },
    PATIENCE_MS,
  );

  test(
    'calls a forced tool once, with whole arguments, in one body and in a stream',
    async () => {
      const response = await stand.chat({ messages: said('The weather in Oslo?'), ...FORCED });
      if (server.forcedTools === 'lacked') return void expect(response.status).toBe(422);
      const { tool_calls: calls = [] } = (await ok(response)).choices[0]!.message;
      const streamed = await stand.chat({ messages: said('The weather in Oslo?'), ...FORCED, stream: true });
      const { chunks } = await eventsOf(streamed);
      const pieces = chunks.flatMap(({ choices: [choice] }) => choice?.delta.tool_calls ?? []);
      // A model's template can ignore `tool_choice`; then a direct call has no tool call either.
      if (server.forcedTools === 'ignored' && (calls ?? []).length === 0) return void expect(pieces).toEqual([]);
      expect(calls!.map(({ function: fn }) => [fn.name, Object.keys(JSON.parse(fn.arguments))])).toEqual([
        ['weather', ['city']],
      ]);
      expect(new Set(pieces.map(({ index }) => index))).toEqual(new Set([0]));
      expect(pieces.map(({ function: fn }) => fn?.arguments ?? '').join('')).toBe(calls![0]!.function.arguments);
    },
    PATIENCE_MS,
  );

  test(
    'accepts any conversation: developer instructions, answers without content, tool results',
    async () => {
      const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } };
      const first = fc.constantFrom<object[]>(
        [],
        [{ role: 'developer', content: 'Be brief.' }],
        [{ role: 'system', content: 'Be brief.' }],
      );
      const turn = fc.oneof(
        prompt.map((text) => [...said(text), { role: 'assistant', content: 'Yes.' }]),
        fc
          .constantFrom<object>({ content: null }, { content: '' }, {})
          .map((content) => [
            ...said('The weather?'),
            { role: 'assistant', ...content, tool_calls: [call] },
            { role: 'tool', tool_call_id: 'call_1', content: 'Snow.' },
            { role: 'assistant', content: 'Snow.' },
          ]),
      );
      await fc.assert(
        fc.asyncProperty(first, fc.array(turn, { minLength: 1, maxLength: 3 }), async (begin, turns) => {
          const messages = [...begin, ...turns.flat(), ...said('And now?')];
          await ok(await stand.chat({ messages, tools: [tool], tool_choice: 'none', max_tokens: 4 }));
        }),
        law,
      );
    },
    PATIENCE_MS,
  );

  test(
    'continues after a caller disconnects during a stream',
    async () => {
      const leave = new AbortController();
      const body = { messages: said('Tell a long story.'), max_tokens: 1_000, stream: true };
      const response = await stand.chat(body, { signal: leave.signal });
      await response.body!.getReader().read();
      leave.abort();
      const since = performance.now();
      await ok(await stand.chat({ messages: said('Say hello.'), max_tokens: 4 }));
      console.log(`${server.name}: the next answer after ${Math.round(performance.now() - since)} ms`);
    },
    PATIENCE_MS,
  );

  test(
    'answers five requests at once, none lost',
    async () => {
      const texts = ['Oslo?', 'Rome?', 'Snow?', 'Sea?', 'Blue?'];
      const answers = await Promise.all(
        texts.map(async (text) => seen(await ok(await stand.chat({ messages: said(text), max_tokens: 8 })))),
      );
      expect(answers.every(({ output }) => output > 0)).toBeTrue();
    },
    PATIENCE_MS,
  );
}
