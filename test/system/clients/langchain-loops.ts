import { expect, test } from 'bun:test';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { type AIMessageChunk, HumanMessage, type ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { z } from 'zod';
import { asksForWeather, type startBench } from '../../support/dialect-bench.ts';

/** Joins the pieces of a stream as LangChain does. */
export const gathered = async (stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> =>
  (await Array.fromAsync(stream)).reduce((all, piece) => all.concat(piece));

/** The usage that an upstream reports, and the same usage as LangChain shows it. */
export const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
export const COUNTED = { input_tokens: 10, output_tokens: 20, total_tokens: 30 };

/** Tests each of LangChain's clients with a broken stream and with tools. @param chat makes a client for a model */
export function testLoops(bench: ReturnType<typeof startBench>, chat: (model?: string) => BaseChatModel): void {
  test('a broken stream raises an error', async () => {
    bench.upstream.next({ text: ['one ', 'two ', 'three'], cutAfter: bench.eventsWith(2) });
    const broken = (async () => gathered(await chat('best').stream('Count.')))();
    await expect(broken).rejects.toThrow('broke off before its end');
  });

  testTools(bench, chat);
}

export function testTools(bench: ReturnType<typeof startBench>, chat: () => BaseChatModel): void {
  test('LangChain calls bound tools and sends their results, in JSON and as a stream', async () => {
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
      expect((await model.invoke([question, asked, result])).text).toContain('20 °C, Bern');
    }
  });
}
