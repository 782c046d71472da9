import { expect, test } from 'bun:test';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { type AIMessageChunk, HumanMessage, type ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { z } from 'zod';
import { asksForWeather, type startBench } from '../../support/dialect-bench.ts';

/** The pieces of a stream put together as LangChain does it. */
export const gathered = async (stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> =>
  (await Array.fromAsync(stream)).reduce((all, piece) => all.concat(piece));

/** The usage that an upstream reports, and as LangChain tells it. */
export const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
export const COUNTED = { input_tokens: 10, output_tokens: 20, total_tokens: 30 };

/** What each of LangChain's clients does with a stream that breaks and with tools. @param chat makes a client for a model */
export function testLoops(bench: ReturnType<typeof startBench>, chat: (model?: string) => BaseChatModel): void {
  test('a stream that breaks raises', async () => {
    bench.upstream.next({ text: ['one ', 'two ', 'three'], cutAfter: bench.eventsWith(2) });
    const broken = (async () => gathered(await chat('best').stream('Count.')))();
    await expect(broken).rejects.toThrow('broke off before its end');
  });

  test('bound tools are called, whole and streamed, and their results answered', async () => {
    bench.upstream.behave(asksForWeather);
    const weather = tool(async ({ city }) => `20 °C, ${city}`, {
      name: 'weather',
      description: 'The weather of a city.',
      schema: z.object({ city: z.string() }),
    });
    const model = chat().bindTools!([weather]);
    const question = new HumanMessage('How is the weather?');
    const whole = await model.invoke([question]);
    for (const asked of [whole, await gathered(await model.stream([question]))]) {
      expect(asked.tool_calls).toMatchObject([{ name: 'weather', args: { city: 'Bern' } }]);
      expect(asked.invalid_tool_calls ?? []).toEqual([]);
      const result: ToolMessage = await weather.invoke({ ...asked.tool_calls![0]!, type: 'tool_call' });
      expect((await model.invoke([question, asked, result])).text).toBe('It is 20 °C, Bern in Bern.');
    }
  });
}
