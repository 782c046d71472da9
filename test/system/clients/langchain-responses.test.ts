import { afterEach, describe, expect, test } from 'bun:test';
import { type AIMessageChunk, HumanMessage, type ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { asksForWeather, startBench } from '../../support/dialect-bench.ts';

/** LangChain's client of OpenAI where it asks Responses: by its setting, or because a model is called so. */
describe.each(['openai-responses', 'anthropic'] as const)('%s', (dialect) => {
  const bench = startBench(dialect);
  afterEach(() => bench.upstream.behave({}));

  const chat = (model = 'best') =>
    new ChatOpenAI({
      model,
      useResponsesApi: true,
      apiKey: bench.box.key,
      configuration: { baseURL: bench.baseURL },
      maxRetries: 0,
    });
  const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
  const counted = { input_tokens: 10, output_tokens: 20, total_tokens: 30 };

  const gathered = async (stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> =>
    (await Array.fromAsync(stream)).reduce((all, piece) => all.concat(piece));

  test('invoke and stream give the same text and usage', async () => {
    bench.upstream.behave({ text: ['Hel', 'lo'], usage });
    for (const message of [await chat().invoke('Say hello.'), await gathered(await chat().stream('Say hello.'))]) {
      expect(message.text).toBe('Hello');
      expect(message.usage_metadata).toMatchObject(counted);
      expect(message.response_metadata).toMatchObject({ status: 'completed' });
    }
  });

  test('a stream that breaks raises', async () => {
    bench.upstream.next({ text: ['one ', 'two ', 'three'], cutAfter: bench.eventsWith(2) });
    const broken = (async () => gathered(await chat().stream('Count.')))();
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

  test('a name with “codex” is asked by Responses, and its refusal keeps status and code', async () => {
    const asked: string[] = [];
    const model = new ChatOpenAI({
      model: 'no-such-codex',
      apiKey: bench.box.key,
      configuration: {
        baseURL: bench.baseURL,
        fetch(url, init) {
          asked.push(String(url));
          return fetch(url, init);
        },
      },
      maxRetries: 0,
    });
    await expect(model.invoke('Hello?')).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
    expect(asked).toEqual([`${bench.baseURL}/responses`]);
  });
});
