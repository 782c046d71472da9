import { afterEach, describe, expect, test } from 'bun:test';
import { ChatAnthropic } from '@langchain/anthropic';
import { type AIMessageChunk, HumanMessage, type ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { z } from 'zod';
import { asksForWeather, platformOf, startBench } from '../../support/dialect-bench.ts';

/** LangChain's client of Messages, with a model that speaks them and one that does not. */
describe.each(['anthropic', 'gemini'] as const)('%s', (dialect) => {
  const bench = startBench(dialect);
  afterEach(() => bench.upstream.behave({}));

  const chat = (model = 'auto') =>
    new ChatAnthropic({
      model,
      apiKey: bench.box.key,
      anthropicApiUrl: bench.box.url,
      maxTokens: 1_000,
      maxRetries: 0,
    });
  const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
  const counted = { input_tokens: 10, output_tokens: 20, total_tokens: 30 };

  const gathered = async (stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> =>
    (await Array.fromAsync(stream)).reduce((all, piece) => all.concat(piece));

  test('invoke gives the text, its usage and its price', async () => {
    bench.upstream.next({ text: 'Hello!', usage });
    const message = await chat().invoke('Say hello.');
    expect(message.text).toBe('Hello!');
    expect(message.usage_metadata).toMatchObject(counted);
    expect(message.response_metadata).toMatchObject({ stop_reason: 'end_turn' });
    expect(platformOf(message.response_metadata)).toMatchObject({ routed_model: 'best', credits_consumed: 0.09 });
  });

  test('stream gives the text in pieces, and the usage as LangChain adds it up', async () => {
    bench.upstream.next({ text: ['Hel', 'lo'], usage });
    const message = await gathered(await chat().stream('Say hello.'));
    expect(message.text).toBe('Hello');
    // It takes the input from the first event, where only Anthropic has counted it, and adds the output of first and last.
    const { input_tokens: input = 0, output_tokens: output } = message.usage_metadata ?? {};
    if (dialect === 'anthropic') expect([input, output]).toEqual([10, 21]);
    else {
      expect(input).toBeGreaterThan(0);
      expect(output).toBe(20);
    }
  });

  test('a stream that breaks raises', async () => {
    bench.upstream.next({ text: ['one ', 'two ', 'three'], cutAfter: bench.eventsWith(2) });
    const broken = (async () => gathered(await chat('best').stream('Count.')))();
    await expect(broken).rejects.toThrow('broke off before its end');
  });

  test('bound tools are called, whole and streamed, and their results answered', async () => {
    bench.upstream.behave(asksForWeather);
    const weather = tool(async ({ city }) => `20 °C, ${city}`, {
      name: 'weather',
      schema: z.object({ city: z.string() }),
    });
    const model = chat().bindTools([weather]);
    const question = new HumanMessage('How is the weather?');
    const whole = await model.invoke([question]);
    for (const asked of [whole, await gathered(await model.stream([question]))]) {
      expect(asked.tool_calls).toMatchObject([{ name: 'weather', args: { city: 'Bern' } }]);
      const result: ToolMessage = await weather.invoke({ ...asked.tool_calls![0]!, type: 'tool_call' });
      expect((await model.invoke([question, asked, result])).text).toBe('It is 20 °C, Bern in Bern.');
    }
  });

  test('errors keep their status and type', async () => {
    const refused = chat('no-such-model').invoke('Hello?');
    await expect(refused).rejects.toMatchObject({ status: 404, error: { error: { type: 'not_found_error' } } });
  });
});
