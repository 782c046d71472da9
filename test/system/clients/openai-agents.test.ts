import { afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { asksForWeather, startBench } from '../../support/dialect-bench.ts';

/** A tool loop of the Agents SDK in both dialects that it speaks, with a model of the same dialect and with another model. */
describe.each(['openai-responses', 'openai', 'anthropic'] as const)('%s', (dialect) => {
  const bench = startBench(dialect);
  afterEach(() => bench.upstream.behave({}));

  const asked: string[] = [];
  const weather = tool({
    name: 'weather',
    description: 'The weather of a city.',
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => `20 °C (${asked[asked.push(city) - 1]})`,
  });
  const agent = new Agent({ name: 'Forecaster', instructions: 'Be brief.', model: 'best', tools: [weather] });
  let runners: Record<'responses' | 'chat', Runner>;
  beforeAll(() => {
    const openAIClient = new OpenAI({ apiKey: bench.box.key, baseURL: bench.baseURL, maxRetries: 0 });
    const runner = (useResponses: boolean) =>
      new Runner({
        modelProvider: new OpenAIProvider({ openAIClient, useResponses }),
        // The SDK would send traces to OpenAI.
        tracingDisabled: true,
      });
    runners = { responses: runner(true), chat: runner(false) };
  });

  for (const way of ['responses', 'chat'] as const) {
    test(`a tool loop completes with ${way}`, async () => {
      bench.upstream.behave(asksForWeather);
      const before = asked.length;
      const { finalOutput, rawResponses } = await runners[way].run(agent, 'How is the weather?');
      expect(finalOutput).toBe('It is 20 °C (Bern) in Bern.');
      expect([asked.slice(before), rawResponses.length]).toEqual([['Bern'], 2]);
      expect(rawResponses.every(({ usage }) => usage.outputTokens > 0)).toBe(true);
      const sent = bench.upstream.requests.at(-1)!.asked;
      expect(sent.system).toBe('Be brief.');
      expect(sent.turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    });

    test(`a streamed tool loop completes with ${way}`, async () => {
      bench.upstream.behave(asksForWeather);
      const run = await runners[way].run(agent, 'How is the weather?', { stream: true });
      const text = (await Array.fromAsync(run.toTextStream())).join('');
      await run.completed;
      expect([text, run.finalOutput]).toEqual(Array(2).fill('It is 20 °C (Bern) in Bern.'));
    });

    test(`a broken stream ends the run with ${way}`, async () => {
      bench.upstream.next({ text: ['one ', 'two ', 'three'], cutAfter: bench.eventsWith(2) });
      const broken = (async () => {
        const run = await runners[way].run(agent, 'Count.', { stream: true });
        await Array.fromAsync(run.toTextStream());
        await run.completed;
      })();
      await expect(broken).rejects.toThrow('broke off before its end');
    });
  }
});
