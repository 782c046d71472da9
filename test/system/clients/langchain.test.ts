import { afterEach, describe, expect, test } from 'bun:test';
import { type AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, type ChatOpenAIFields } from '@langchain/openai';
import { z } from 'zod';
import { asksForWeather, startBench, UPSTREAM_DIALECTS } from '../../support/dialect-bench.ts';

describe.each(UPSTREAM_DIALECTS)('%s', (dialect) => {
  const bench = startBench(dialect);
  afterEach(() => bench.upstream.behave({}));

  const chat = (model = 'auto', fields: ChatOpenAIFields = {}) =>
    new ChatOpenAI({
      model,
      apiKey: bench.box.key,
      configuration: { baseURL: bench.baseURL },
      maxRetries: 0,
      ...fields,
    });

  const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
  const City = z.object({ name: z.string(), people: z.number() });

  /** The pieces of a stream put together as LangChain does it. */
  async function gathered(stream: AsyncIterable<AIMessageChunk>): Promise<{ pieces: number; message: AIMessageChunk }> {
    const pieces = await Array.fromAsync(stream);
    return { pieces: pieces.length, message: pieces.reduce((all, piece) => all.concat(piece)) };
  }

  test('invoke gives a message with its usage, model and finish reason', async () => {
    bench.upstream.next({ text: 'Hello!', usage: USAGE });
    const message = await chat().invoke('Say hello.');
    expect(message.text).toBe('Hello!');
    expect(message.usage_metadata).toMatchObject({ input_tokens: 10, output_tokens: 20, total_tokens: 30 });
    expect(message.response_metadata).toMatchObject({ model_name: 'best', finish_reason: 'stop' });
  });

  test('our fields are sent through modelKwargs', async () => {
    const strategy = { modelKwargs: { route_strategy: { cost_weight: 1, quality_weight: 0 } } };
    const message = await chat('auto', strategy).invoke('Say hello.');
    expect(message.response_metadata).toMatchObject({ model_name: 'vendor/plain' });
  });

  test('stream gives the text in pieces, and the usage once', async () => {
    bench.upstream.next({ text: ['Hel', 'lo'], usage: USAGE });
    const { pieces, message } = await gathered(await chat().stream('Say hello.'));
    expect(pieces).toBeGreaterThan(2);
    expect(message.text).toBe('Hello');
    expect(message.usage_metadata).toMatchObject({ input_tokens: 10, output_tokens: 20, total_tokens: 30 });
    expect(message.response_metadata).toMatchObject({ finish_reason: 'stop', model_name: 'best' });
  });

  test('a stream that breaks raises', async () => {
    bench.upstream.next({ text: ['one ', 'two ', 'three'], cutAfter: bench.eventsWith(2) });
    const broken = (async () => gathered(await chat('best').stream('Count.')))();
    await expect(broken).rejects.toThrow('broke off before its end');
  });

  describe('bound tools', () => {
    const weather = tool(async ({ city }) => `20 °C, ${city}`, {
      name: 'weather',
      description: 'The weather of a city.',
      schema: z.object({ city: z.string() }),
    });

    test('are called, and their results answered', async () => {
      bench.upstream.behave(asksForWeather);
      const model = chat().bindTools([weather]);
      const question = new HumanMessage('How is the weather?');
      const asked = await model.invoke([question]);
      expect(asked.tool_calls).toMatchObject([{ id: 'call_1', name: 'weather', args: { city: 'Bern' } }]);
      const result: ToolMessage = await weather.invoke({ ...asked.tool_calls![0]!, type: 'tool_call' });
      expect(result).toBeInstanceOf(ToolMessage);
      const answered = await model.invoke([question, asked, result]);
      expect(answered.text).toBe('It is 20 °C, Bern in Bern.');
    });

    test('are called through a stream', async () => {
      bench.upstream.behave(asksForWeather);
      const { message } = await gathered(await chat().bindTools([weather]).stream('How is the weather?'));
      expect(message.tool_calls).toMatchObject([{ id: 'call_1', name: 'weather', args: { city: 'Bern' } }]);
      expect(message.invalid_tool_calls ?? []).toEqual([]);
      expect(message.response_metadata).toMatchObject({ finish_reason: 'tool_calls' });
    });
  });

  describe('withStructuredOutput', () => {
    test('parses an answer in a JSON schema', async () => {
      bench.upstream.next({ text: '{"name":"Bern","people":134000}' });
      const model = chat().withStructuredOutput(City, { method: 'jsonSchema' });
      expect(await model.invoke('Which city?')).toEqual({ name: 'Bern', people: 134_000 });
    });

    test('parses the arguments of a forced tool', async () => {
      bench.upstream.next({ toolCalls: [{ name: 'city', arguments: '{"name":"Bern","people":134000}' }] });
      const model = chat().withStructuredOutput(City, { name: 'city', method: 'functionCalling' });
      expect(await model.invoke('Which city?')).toEqual({ name: 'Bern', people: 134_000 });
      expect(bench.upstream.requests.at(-1)?.asked.toolChoice).toEqual(['city']);
    });
  });

  test('errors keep status and code', async () => {
    const refused = chat('no-such-model').invoke('Hello?');
    await expect(refused).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
  });
});
