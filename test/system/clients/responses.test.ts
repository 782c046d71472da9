import { afterEach, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import type { Response, ResponseInputItem } from 'openai/resources/responses/responses';
import { z } from 'zod';
import { waitFor } from '../../support/answers.ts';
import {
  asksForWeather,
  COMMIT_AFTER_MS,
  platformOf,
  RESPONSES_UPSTREAMS,
  startBench,
} from '../../support/dialect-bench.ts';
import type { Behaviour, RecordedRequest } from '../../support/fake-upstream.ts';
import { checkedFetch, checkStreams } from '../../support/open-responses/schemas.ts';
import { rejection } from './openai-rejection.ts';

/**
 * The official OpenAI client uses Responses with upstreams of every dialect. These tests check every body and event against the schemas of
 * Open Responses.
 */
describe.each(RESPONSES_UPSTREAMS)('%s', (dialect) => {
  /** OpenAI's own service answers these requests itself. */
  const isPassed = dialect === 'openai-responses';
  const bench = startBench(dialect);
  let client: OpenAI;

  beforeAll(() => {
    client = new OpenAI({ apiKey: bench.box.key, baseURL: bench.baseURL, maxRetries: 0, fetch: checkedFetch });
  });
  afterEach(async () => {
    bench.upstream.behave({});
    await checkStreams();
  });

  const ask = { model: 'auto', input: 'Say hello.', store: false };
  const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
  const USED = { input_tokens: 10, output_tokens: 20, total_tokens: 30 };

  describe('a response', () => {
    test('a response has text, status, usage, `platform` and headers', async () => {
      bench.upstream.next({ text: 'Hello!', usage: USAGE });
      const { data: answer, response, request_id } = await client.responses.create(ask).withResponse();
      expect(response.headers.get('x-signalbox-model')).toBe('best');
      expect(answer).toMatchObject({ status: 'completed', output_text: 'Hello!', store: false });
      expect(answer.model).toBe(isPassed ? 'gpt-6-luna' : 'best');
      expect(answer.usage).toMatchObject(USED);
      expect(platformOf(answer)).toMatchObject({ routed_model: 'best', credits_consumed: 0.09 });
      expect(request_id).toStartWith('req_');
    });

    test('a response accepts our fields, and repeats the settings of the request', async () => {
      const own = { route_strategy: { cost_weight: 1, quality_weight: 0 }, budget_limit: 10 };
      const asked = { ...ask, ...own, instructions: 'Be brief.', max_output_tokens: 500, metadata: { team: 'a' } };
      const answer = await client.responses.create(asked);
      expect(platformOf(answer)).toMatchObject({ routed_model: 'vendor/plain', route_reason: 'auto:weighted' });
      expect(answer).toMatchObject({ instructions: 'Be brief.', max_output_tokens: 500, metadata: { team: 'a' } });
      const { asked: seen, text } = bench.upstream.requests.at(-1)!;
      expect([seen.system, seen.maxTokens]).toEqual(['Be brief.', 500]);
      for (const name of Object.keys(own)) expect(text).not.toContain(name);
    });

    test('a response that reaches its cap is incomplete, in JSON and as a stream', async () => {
      bench.upstream.behave({ text: 'Hel', finish: 'length' });
      const json = await client.responses.create(ask);
      const stream = await client.responses.stream(ask).finalResponse();
      for (const answer of [json, stream]) {
        expect(answer).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
        if (!isPassed) expect(answer.output[0]).toMatchObject({ type: 'message', status: 'incomplete' });
      }
    });

    test('a response of a model that refuses has the refusal as a part', async () => {
      bench.upstream.next({ text: [], refusal: 'I may not.' });
      const { output, status } = await client.responses.create(ask);
      const [message] = output;
      const content = message?.type === 'message' ? message.content : [];
      if (dialect === 'gemini') expect(status).toBe('incomplete');
      else expect(content).toMatchObject([{ type: 'refusal', refusal: 'I may not.' }]);
    });

    test('a response has reasoning as a separate item', async () => {
      bench.upstream.behave({ reasoning: 'Let me think.', text: 'Yes.' });
      const asked = { ...ask, model: 'best', reasoning: { effort: 'low' as const, summary: 'auto' as const } };
      const json = await client.responses.create(asked);
      const stream = await client.responses.stream(asked).finalResponse();
      for (const { output, output_text } of [json, stream]) {
        const [first] = output;
        expect(first).toMatchObject({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Let me think.' }] });
        expect(output_text).toBe('Yes.');
      }
    });
  });

  describe('a stream', () => {
    test('a stream has the API’s events in order, and ends with the complete response', async () => {
      bench.upstream.next({ text: ['Hel', 'lo'], usage: USAGE });
      const events = await Array.fromAsync(await client.responses.create({ ...ask, stream: true }));
      const types = events.map(({ type }) => type).filter((type) => type !== 'response.output_text.delta');
      expect(types.slice(0, 8)).toEqual([
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        ...(dialect === 'gemini' ? ['response.output_item.added' as const] : ['response.completed' as const]),
      ]);
      const last = events.at(-1)!;
      if (last.type !== 'response.completed') throw new Error(last.type);
      expect(last.response.usage).toMatchObject(USED);
      expect(platformOf(last.response)).toMatchObject({ routed_model: 'best', credits_consumed: 0.09 });
    });

    test('the stream helper returns the same response as JSON', async () => {
      bench.upstream.behave({ text: 'Hello there!', usage: USAGE });
      const json = await client.responses.create({ ...ask, model: 'best' });
      const stream = client.responses.stream({ ...ask, model: 'best' });
      const deltas: string[] = [];
      stream.on('response.output_text.delta', ({ delta }) => void deltas.push(delta));
      const final = await stream.finalResponse();
      expect(final.output_text).toBe('Hello there!');
      expect(deltas.join('')).toBe('Hello there!');
      expect(deltas.length).toBeGreaterThan(1);
      expect(plain(final)).toEqual(plain(json));
    });

    test('a broken stream raises an error, and does not end as completed', async () => {
      bench.upstream.next({ text: ['one ', 'two ', 'three'], cutAfter: bench.eventsWith(2) });
      const seen: string[] = [];
      const error = await rejection(
        (async () => {
          for await (const event of await client.responses.create({ ...ask, model: 'best', stream: true })) {
            seen.push(event.type);
          }
        })(),
      );
      expect(error.message).toContain('broke off before its end');
      expect(seen).toContain('response.output_text.delta');
      expect(seen).not.toContain('response.completed');
    });

    test('a stream that has sent its status fails with an event', async () => {
      bench.upstream.next({ headersAfterMs: 2 * COMMIT_AFTER_MS, status: 500 });
      const stream = await client.responses.create({ ...ask, model: 'best', stream: true });
      const error = await rejection(Array.fromAsync(stream));
      expect(error).toMatchObject({ code: 'upstream_failed', type: 'upstream_error' });
    });

    test('Signalbox aborts the upstream call when the reader of a stream disconnects', async () => {
      bench.upstream.next({ text: ['a ', 'b ', 'c '], hang: bench.eventsWith(2) });
      const before = bench.upstream.aborted;
      const stream = await client.responses.create({ ...ask, model: 'best', stream: true });
      for await (const { type } of stream) if (type === 'response.output_text.delta') break;
      await waitFor(() => bench.upstream.aborted > before);
    });
  });

  describe('tools', () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const weather = { type: 'function' as const, name: 'weather', parameters, strict: false };

    test.each(['JSON', 'a stream'])('the client calls tools and sends their output, by %s', async (way) => {
      bench.upstream.behave(asksForWeather);
      const answer = (input: ResponseInputItem[]): Promise<Response> => {
        const body = { ...ask, input, tools: [weather] };
        return way === 'JSON' ? client.responses.create(body) : client.responses.stream(body).finalResponse();
      };
      const input: ResponseInputItem[] = [{ role: 'user', content: 'What is the weather in Bern?' }];
      const { output } = await answer(input);
      const [call] = output.filter((item) => item.type === 'function_call');
      expect(call).toMatchObject({ name: 'weather', arguments: '{"city":"Bern"}' });
      input.push(...output.map(sendable), { type: 'function_call_output', call_id: call!.call_id, output: '20 °C' });
      expect((await answer(input)).output_text).toBe('It is 20 °C in Bern.');
    });

    test('tools of type `custom` are called with plain text, and their output reaches the model', async () => {
      const patch = { type: 'custom' as const, name: 'patch', description: 'Edits files.' };
      bench.upstream.behave(({ asked }: RecordedRequest): Behaviour => {
        const [result] = asked.turns.at(-1)?.results ?? [];
        if (result) return { text: `The tool said ${result.text}.` };
        return {
          toolCalls: [{ name: 'patch', arguments: JSON.stringify({ input: '*** "Begin"\n+1' }), id: 'call_9' }],
        };
      });
      const input: ResponseInputItem[] = [{ role: 'user', content: 'Edit it.' }];
      const streamed = await client.responses.stream({ ...ask, input, tools: [patch] }).finalResponse();
      const { output } = await client.responses.create({ ...ask, input, tools: [patch] });
      for (const items of [output, streamed.output]) {
        const call = items.find((item) => item.type === 'custom_tool_call');
        expect(call).toMatchObject({ name: 'patch', input: '*** "Begin"\n+1' });
      }
      const call = output.find((item) => item.type === 'custom_tool_call')!;
      input.push(...(output as ResponseInputItem[]));
      input.push({ type: 'custom_tool_call_output', call_id: call.call_id, output: 'Done' });
      expect((await client.responses.create({ ...ask, input, tools: [patch] })).output_text).toBe(
        'The tool said Done.',
      );
      const { calls } = bench.upstream.requests.at(-1)!.asked.turns.find(({ role }) => role === 'assistant')!;
      expect(calls).toEqual([{ name: 'patch', input: { input: '*** "Begin"\n+1' } }]);
    });

    test.skipIf(isPassed)(
      'tools of a namespace are called with it, and equal names in two namespaces stay separate',
      async () => {
        const list = { type: 'function' as const, name: 'list', parameters, strict: false };
        const tools = ['crm', 'shop'].map((name) => ({
          type: 'namespace' as const,
          name,
          description: name,
          tools: [list, { ...list, name: `only_${name}` }],
        }));
        bench.upstream.next({
          toolCalls: [
            { name: 'shop__list', arguments: '{}' },
            { name: 'only_crm', arguments: '{}' },
          ],
        });
        const { output } = await client.responses.create({ ...ask, tools });
        const calls = output.filter((item) => item.type === 'function_call');
        expect(calls.map(({ name, namespace }) => [namespace, name])).toEqual([
          ['shop', 'list'],
          ['crm', 'only_crm'],
        ]);
        expect(bench.upstream.requests.at(-1)!.asked.tools).toEqual([
          'crm__list',
          'only_crm',
          'shop__list',
          'only_shop',
        ]);
      },
    );

    test('the helper parses tool calls', async () => {
      bench.upstream.next({ toolCalls: [{ name: 'weather', arguments: '{"city":"Bern"}' }] });
      const tools = [zodResponsesFunction({ name: 'weather', parameters: z.object({ city: z.string() }) })];
      const { output } = await client.responses.parse({ ...ask, tools });
      expect(output.find(({ type }) => type === 'function_call')).toMatchObject({ parsed_arguments: { city: 'Bern' } });
    });
  });

  test('the helper parses an answer in a schema', async () => {
    bench.upstream.next({ text: '{"name":"Bern","people":134000}' });
    const City = z.object({ name: z.string(), people: z.number() });
    const answer = await client.responses.parse({ ...ask, text: { format: zodTextFormat(City, 'city') } });
    expect(answer.output_parsed).toEqual({ name: 'Bern', people: 134_000 });
    expect(bench.upstream.requests.at(-1)?.asked.schema).toMatchObject({ required: ['name', 'people'] });
  });

  describe('an error', () => {
    test.each([
      ['no such model', { model: 'none' }, 404, 'model_not_found', 'model'],
      ['no input', { input: undefined }, 400, 'missing_field', 'input'],
      ['a stored response', { previous_response_id: 'resp_1' }, 400, 'unsupported_parameter', 'previous_response_id'],
      ['a conversation', { conversation: 'conv_1' }, 400, 'unsupported_parameter', 'conversation'],
      ['a run in the background', { background: true }, 400, 'unsupported_parameter', 'background'],
      ['a template', { prompt: { id: 'pmpt_1' } }, 400, 'unsupported_parameter', 'prompt'],
      ['a misspelt field', { max_output_token: 5 }, 400, 'unknown_field', 'max_output_token'],
      [
        'a part without its text',
        { input: [{ role: 'user', content: [{ type: 'input_text' }] }] },
        400,
        'missing_field',
        'input[0].content[0].text',
      ],
      [
        'a call without its name',
        { input: [{ type: 'function_call', call_id: 'c', arguments: '' }] },
        400,
        'missing_field',
        'input[0].name',
      ],
      ['a budget too low', { budget_limit: 0.001 }, 400, 'budget_limit_too_low', 'budget_limit'],
    ] as const)('an error for %s has its code and field', async (_, body, status, code, param) => {
      const { length } = bench.upstream.requests;
      const error = await rejection(client.responses.create({ ...ask, ...(body as object) }));
      expect([error.status, error.code, error.param ?? null]).toEqual([status, code, param]);
      expect(bench.upstream.requests.length).toBe(length);
    });

    test('an error about a stored item names the setting to change', async () => {
      const input = [{ type: 'item_reference' as const, id: 'msg_1' }];
      const error = await rejection(client.responses.create({ ...ask, input }));
      expect(error).toMatchObject({ status: 400, code: 'unsupported_parameter', param: 'input[0]' });
      expect(error.message).toContain('`store: false`');
    });
  });
});

/** Prepares an item to be sent back. The stream helper adds a member that OpenAI's own service refuses. */
const sendable = (item: object) => ({ ...item, parsed_arguments: undefined }) as unknown as ResponseInputItem;

/** The part that JSON and a stream of the same answer share: no IDs and times. */
function plain({ output, usage, status, ...answer }: Response): object {
  const { credits_consumed } = platformOf(answer)!;
  const items = output.map((item) => ({
    ...item,
    id: '',
    ...('encrypted_content' in item && { encrypted_content: '' }),
  }));
  return {
    items: JSON.parse(JSON.stringify(items).replaceAll(/,"parsed":null/g, '')),
    usage,
    status,
    credits_consumed,
  };
}
