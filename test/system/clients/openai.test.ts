import { afterEach, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { waitFor } from '../../support/answers.ts';
import {
  asksForWeather,
  COMMIT_AFTER_MS,
  platformOf,
  startBench,
  UPSTREAM_DIALECTS,
} from '../../support/dialect-bench.ts';
import { rejection } from './openai-rejection.ts';

describe.each(UPSTREAM_DIALECTS)('%s', (dialect) => {
  const bench = startBench(dialect);
  let client: OpenAI;

  beforeAll(() => {
    client = new OpenAI({ apiKey: bench.box.key, baseURL: bench.baseURL, maxRetries: 0 });
  });
  afterEach(() => bench.upstream.behave({}));

  /** A test of a feature that not every dialect has. The tests of dialects check that requests for the feature avoid other dialects. */
  function onlyWith(capability: 'choices' | 'logprobs', name: string, run: () => Promise<void>): void {
    if (dialect !== 'anthropic') test(`${name} (${capability})`, run);
  }

  /** A stream chunk with the probability of its text; null makes the last chunk. */
  function scored(text: string | null): object {
    if (dialect === 'gemini') {
      const logprobsResult = { chosenCandidates: [{ token: text, logProbability: -0.1 }] };
      return {
        candidates: [text === null ? { finishReason: 'STOP' } : { content: { parts: [{ text }] }, logprobsResult }],
      };
    }
    const logprobs = { content: [{ token: text, logprob: -0.1, bytes: null, top_logprobs: [] }], refusal: null };
    const choice = text === null ? { delta: {}, finish_reason: 'stop' } : { delta: { content: text }, logprobs };
    return { choices: [{ index: 0, ...choice }] };
  }

  const messages = [{ role: 'user' as const, content: 'Say hello.' }];
  const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };

  describe('a completion', () => {
    test('a completion has text, finish reason, usage and the nulls that the types promise', async () => {
      bench.upstream.next({ text: 'Hello!', usage: USAGE });
      const {
        data: completion,
        response,
        request_id,
      } = await client.chat.completions.create({ model: 'auto', messages }).withResponse();
      expect(response.headers.get('x-signalbox-model')).toBe('best');
      expect(completion.model).toBe('best');
      // Gemini signs everything that it writes.
      const signed = dialect === 'gemini' && { extra_content: { google: { thought_signature: expect.any(String) } } };
      expect(completion.choices).toEqual([
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello!', refusal: null, ...signed },
          logprobs: null,
          finish_reason: 'stop',
        },
      ]);
      expect(completion.usage).toMatchObject(USAGE);
      expect(request_id).toStartWith('req_');
    });

    test('a completion accepts our fields and has `platform`', async () => {
      const body = {
        model: 'auto',
        messages,
        route_strategy: { cost_weight: 1, quality_weight: 0 },
        budget_limit: 10,
        constraints: { required_languages: ['python'] },
      };
      const completion = await client.chat.completions.create(body);
      expect(platformOf(completion)).toMatchObject({ routed_model: 'vendor/plain', route_reason: 'auto:weighted' });
      expect(platformOf(completion)?.credits_consumed).toBeGreaterThan(0);
    });

    onlyWith('choices', 'a completion has as many choices as `n` states', async () => {
      bench.upstream.next({ text: 'One of some.' });
      const { choices } = await client.chat.completions.create({ model: 'auto', messages, n: 3 });
      expect(choices.map(({ index, message }) => [index, message.content])).toEqual(
        [0, 1, 2].map((index) => [index, 'One of some.']),
      );
    });

    test('a completion of a model that refuses has the refusal in its own member', async () => {
      bench.upstream.next({ text: [], refusal: 'I may not.' });
      const { choices } = await client.chat.completions.create({ model: 'auto', messages });
      expect(choices[0]?.message).toMatchObject(
        dialect === 'gemini' ? { content: '', refusal: null } : { content: null, refusal: 'I may not.' },
      );
    });
  });

  describe('a stream', () => {
    test('a stream is a sequence of chunks with one finish reason, and usage on request', async () => {
      bench.upstream.next({ text: ['Hel', 'lo'], usage: USAGE });
      const stream = await client.chat.completions.create({
        model: 'auto',
        messages,
        stream: true,
        stream_options: { include_usage: true },
      });
      const chunks = await Array.fromAsync(stream);
      expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Hello');
      expect(chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(['stop']);
      expect(chunks.at(-1)?.choices).toEqual([]);
      expect(chunks.at(-1)?.usage).toMatchObject(USAGE);
      expect(platformOf(chunks.at(-2))).toMatchObject({ routed_model: 'best', credits_consumed: 0.09 });
    });

    test('the stream helper returns the same completion as JSON', async () => {
      bench.upstream.behave({ text: 'Hello there!', usage: USAGE });
      const json = await client.chat.completions.create({ model: 'best', messages });
      const stream = client.chat.completions.stream({
        model: 'best',
        messages,
        stream_options: { include_usage: true },
      });
      const deltas: string[] = [];
      const snapshots: string[] = [];
      const done: string[] = [];
      stream.on('content', (delta, snapshot) => {
        deltas.push(delta);
        snapshots.push(snapshot);
      });
      stream.on('content.done', ({ content }) => done.push(content));
      expect(await stream.finalContent()).toBe('Hello there!');
      expect(deltas.join('')).toBe('Hello there!');
      expect(deltas.length).toBeGreaterThan(1);
      expect(snapshots.at(-1)).toBe('Hello there!');
      expect(done).toEqual(['Hello there!']);
      const final = await stream.finalChatCompletion();
      expect(final.choices[0]).toMatchObject({
        finish_reason: 'stop',
        logprobs: null,
        message: { role: 'assistant', content: 'Hello there!', refusal: null },
      });
      expect(final.usage).toEqual(json.usage!);
      expect(platformOf(final)).toMatchObject({ credits_consumed: platformOf(json)!.credits_consumed });
    });

    onlyWith('choices', 'a stream of several choices keeps them separate and finishes each', async () => {
      bench.upstream.next({ text: ['a', 'b'] });
      const stream = client.chat.completions.stream({ model: 'auto', messages, n: 2 });
      const { choices } = await stream.finalChatCompletion();
      expect(choices.map(({ message, finish_reason }) => [message.content, finish_reason])).toEqual([
        ['ab', 'stop'],
        ['ab', 'stop'],
      ]);
    });

    test('a stream without text has an empty message and a finish reason', async () => {
      bench.upstream.next({ text: [] });
      const { choices } = await client.chat.completions.stream({ model: 'auto', messages }).finalChatCompletion();
      expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { role: 'assistant', content: '' } });
    });

    onlyWith(
      'logprobs',
      'a stream of token probabilities reports each with its token, and none for a refusal',
      async () => {
        const token = (text: string) => ({ token: text, logprob: -0.1, bytes: null, top_logprobs: [] });
        const raw = ['Hel', 'lo', null].map((text) => `data: ${JSON.stringify(scored(text))}\n\n`);
        bench.upstream.next({ raw });
        const stream = client.chat.completions.stream({ model: 'best', messages, logprobs: true });
        const seen: unknown[] = [];
        let refusals = 0;
        stream.on('chunk', ({ choices }) => {
          const [choice] = choices;
          if (choice?.logprobs) seen.push([choice.delta.content, choice.logprobs.content?.map((each) => each.token)]);
        });
        stream.on('logprobs.refusal.delta', () => refusals++);
        stream.on('logprobs.refusal.done', () => refusals++);
        const { choices } = await stream.finalChatCompletion();
        expect(seen).toEqual([
          ['Hel', ['Hel']],
          ['lo', ['lo']],
        ]);
        expect(refusals).toBe(0);
        expect(choices[0]?.logprobs).toEqual({ content: [token('Hel'), token('lo')], refusal: null });
      },
    );

    test('a stream of a refusal ends with the refusal', async () => {
      bench.upstream.next({ refusal: 'I may not do that.' });
      const stream = client.chat.completions.stream({ model: 'auto', messages });
      const done: string[] = [];
      stream.on('refusal.done', ({ refusal }) => done.push(refusal));
      const { choices } = await stream.finalChatCompletion();
      // Gemini reports a refusal without a text.
      const words = dialect === 'gemini' ? [] : ['I may not do that.'];
      expect(choices[0]?.message.refusal ?? null).toBe(words[0] ?? null);
      expect(done).toEqual(words);
      if (dialect !== 'openai') expect(choices[0]?.finish_reason).toBe('content_filter');
    });

    test('a broken stream raises an error with its code', async () => {
      bench.upstream.next({ text: ['one ', 'two ', 'three'], cutAfter: bench.eventsWith(2) });
      const seen: string[] = [];
      const error = await rejection(
        (async () => {
          const stream = await client.chat.completions.create({ model: 'best', messages, stream: true });
          for await (const { choices } of stream) seen.push(choices[0]?.delta.content ?? '');
        })(),
      );
      expect(seen.join('')).toBe('one two ');
      const message = expect.stringContaining('broke off before its end');
      expect(error).toMatchObject({ code: 'upstream_failed', type: 'upstream_error', message });
    });

    test('a stream that fails after only heartbeats raises an error, too', async () => {
      bench.upstream.next({ headersAfterMs: COMMIT_AFTER_MS + 200, status: 500 });
      const stream = await client.chat.completions.create({ model: 'best', messages, stream: true });
      expect(await rejection(Array.fromAsync(stream))).toMatchObject({ code: 'upstream_failed' });
    });

    test('a broken stream raises an error in the helper, too', async () => {
      bench.upstream.next({ text: ['one ', 'two ', 'three'], cutAfter: bench.eventsWith(2) });
      const stream = client.chat.completions.stream({ model: 'best', messages });
      expect(await rejection(stream.finalContent())).toMatchObject({ code: 'upstream_failed' });
    });

    test('aborting a stream aborts the call of the upstream', async () => {
      bench.upstream.next({ text: ['a ', 'b ', 'c '], hang: bench.eventsWith(2) });
      const before = bench.upstream.aborted;
      const stream = await client.chat.completions.create({ model: 'best', messages, stream: true });
      for await (const _ of stream) break;
      await waitFor(() => bench.upstream.aborted > before);
    });
  });

  test('aborting a completion aborts the call of the upstream', async () => {
    bench.upstream.next({ hang: 'headers' });
    const { aborted, requests } = bench.upstream;
    const before = requests.length;
    const controller = new AbortController();
    const pending = rejection(
      client.chat.completions.create({ model: 'best', messages }, { signal: controller.signal }),
    );
    await waitFor(() => bench.upstream.requests.length > before);
    controller.abort();
    expect(await pending).toBeInstanceOf(OpenAI.APIUserAbortError);
    await waitFor(() => bench.upstream.aborted > aborted);
  });

  describe('tools', () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const tool = { type: 'function' as const, function: { name: 'weather', parameters } };

    test('a call has the same ID, name and arguments in JSON and as a stream', async () => {
      bench.upstream.behave(asksForWeather);
      const json = await client.chat.completions.create({ model: 'auto', messages, tools: [tool] });
      const stream = client.chat.completions.stream({ model: 'auto', messages, tools: [tool] });
      const streamed = await stream.finalChatCompletion();
      for (const { choices } of [json, streamed]) {
        expect(choices[0]).toMatchObject({
          finish_reason: 'tool_calls',
          message: {
            content: null,
            tool_calls: [
              { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } },
            ],
          },
        });
      }
    });

    test('several calls in one stream keep their arguments separate', async () => {
      const toolCalls = ['Bern', 'Oslo'].map((city) => ({ name: 'weather', arguments: JSON.stringify({ city }) }));
      bench.upstream.next({ toolCalls });
      const stream = client.chat.completions.stream({ model: 'auto', messages, tools: [tool] });
      const { choices } = await stream.finalChatCompletion();
      const calls = choices[0]?.message.tool_calls ?? [];
      expect(calls.map((call) => call.type === 'function' && JSON.parse(call.function.arguments))).toEqual([
        { city: 'Bern' },
        { city: 'Oslo' },
      ]);
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    });

    for (const [finish, args] of [
      ['tool_calls', '{}'],
      // Gemini sends a call completely or not at all.
      ['length', dialect === 'gemini' ? '{}' : ''],
    ] as const) {
      test(`a call without arguments that ends with ${finish} has the arguments "${args}"`, async () => {
        bench.upstream.behave({ toolCalls: [{ name: 'weather', arguments: '' }], finish });
        const body = { model: 'auto', messages, tools: [tool] };
        const json = await client.chat.completions.create(body);
        expect(json.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'weather', arguments: args } }]);
        const stream = await client.chat.completions.create({ ...body, stream: true });
        const calls = (await Array.fromAsync(stream)).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
        expect(calls.map((call) => call.function?.arguments ?? '').join('')).toBe(args);
      });
    }

    for (const stream of [false, true]) {
      test(`the tool runner reaches the final answer, ${stream ? 'streaming' : 'in JSON'}`, async () => {
        bench.upstream.behave(asksForWeather);
        const asked: string[] = [];
        const weather = zodFunction({
          name: 'weather',
          description: 'The weather of a city.',
          parameters: z.object({ city: z.string() }),
          function: ({ city }) => {
            asked.push(city);
            return '20 °C';
          },
        });
        const runner = stream
          ? client.chat.completions.runTools({ model: 'auto', messages, tools: [weather], stream: true })
          : client.chat.completions.runTools({ model: 'auto', messages, tools: [weather] });
        expect(await runner.finalContent()).toBe('It is 20 °C in Bern.');
        expect(asked).toEqual(['Bern']);
      });
    }
  });

  describe('structured outputs', () => {
    const City = z.object({ name: z.string(), people: z.number() });
    const response_format = zodResponseFormat(City, 'city');
    const answer = '{"name":"Bern","people":134000}';

    test('the client parses structured outputs from JSON', async () => {
      bench.upstream.next({ text: answer });
      const { choices } = await client.chat.completions.parse({ model: 'auto', messages, response_format });
      expect(choices[0]?.message.parsed).toEqual({ name: 'Bern', people: 134_000 });
      expect(bench.upstream.requests.at(-1)?.asked.schema).toMatchObject({
        type: 'object',
        required: ['name', 'people'],
      });
    });

    test('the client parses structured outputs from a stream', async () => {
      bench.upstream.next({ text: answer });
      const stream = client.chat.completions.stream({ model: 'auto', messages, response_format });
      const { choices } = await stream.finalChatCompletion();
      expect(choices[0]?.message.parsed).toEqual({ name: 'Bern', people: 134_000 });
    });
  });

  describe('models', () => {
    test('the client lists selectors and models', async () => {
      const ids = (await Array.fromAsync(client.models.list())).map(({ id }) => id);
      expect(ids).toEqual(expect.arrayContaining(['auto', 'auto-fast', 'auto-cheap', 'best', 'vendor/plain']));
    });

    test('the client retrieves models by ID, even with a slash in the ID', async () => {
      for (const id of ['best', 'auto', 'vendor/plain']) {
        expect(await client.models.retrieve(id)).toMatchObject({ id, object: 'model' });
      }
      expect(await rejection(client.models.retrieve('vendor/none'))).toMatchObject({ code: 'model_not_found' });
    });
  });
});
