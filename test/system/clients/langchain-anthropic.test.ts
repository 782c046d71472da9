import { afterEach, describe, expect, test } from 'bun:test';
import { ChatAnthropic } from '@langchain/anthropic';
import { platformOf, startBench } from '../../support/dialect-bench.ts';
import { COUNTED, gathered, testLoops, USAGE } from './langchain-loops.ts';

/** LangChain's client of Anthropic Messages, with a model that speaks Messages and one that does not. */
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

  test('invoke returns the text, its usage and its price', async () => {
    bench.upstream.next({ text: 'Hello!', usage: USAGE });
    const message = await chat().invoke('Say hello.');
    expect(message.text).toBe('Hello!');
    expect(message.usage_metadata).toMatchObject(COUNTED);
    expect(message.response_metadata).toMatchObject({ stop_reason: 'end_turn' });
    expect(platformOf(message.response_metadata)).toMatchObject({ routed_model: 'best', credits_consumed: 0.09 });
  });

  test('stream returns the text in pieces, and the usage as LangChain sums it', async () => {
    bench.upstream.next({ text: ['Hel', 'lo'], usage: USAGE });
    const message = await gathered(await chat().stream('Say hello.'));
    expect(message.text).toBe('Hello');
    // LangChain takes the input from the first event, which only Anthropic fills with a count, and adds the output of the first and last
    // event.
    const { input_tokens: input = 0, output_tokens: output } = message.usage_metadata ?? {};
    if (dialect === 'anthropic') expect([input, output]).toEqual([10, 21]);
    else {
      expect(input).toBeGreaterThan(0);
      expect(output).toBe(20);
    }
  });

  testLoops(bench, chat);

  test('errors keep their status and type', async () => {
    const refused = chat('no-such-model').invoke('Hello?');
    await expect(refused).rejects.toMatchObject({ status: 404, error: { error: { type: 'not_found_error' } } });
  });
});
