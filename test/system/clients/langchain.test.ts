import { afterEach, describe, expect, test } from 'bun:test';
import { ChatOpenAI, type ChatOpenAIFields } from '@langchain/openai';
import { z } from 'zod';
import { startBench, UPSTREAM_DIALECTS } from '../../support/dialect-bench.ts';
import { COUNTED, testLoops, USAGE } from './langchain-loops.ts';

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

  const City = z.object({ name: z.string(), people: z.number() });

  test('invoke returns a message with its usage, model and finish reason', async () => {
    bench.upstream.next({ text: 'Hello!', usage: USAGE });
    const message = await chat().invoke('Say hello.');
    expect(message.text).toBe('Hello!');
    expect(message.usage_metadata).toMatchObject(COUNTED);
    expect(message.response_metadata).toMatchObject({ model_name: 'best', finish_reason: 'stop' });
  });

  test('modelKwargs sends our fields', async () => {
    const strategy = { modelKwargs: { route_strategy: { cost_weight: 1, quality_weight: 0 } } };
    const message = await chat('auto', strategy).invoke('Say hello.');
    expect(message.response_metadata).toMatchObject({ model_name: 'vendor/plain' });
  });

  test('stream returns the text in pieces, and the usage once', async () => {
    bench.upstream.next({ text: ['Hel', 'lo'], usage: USAGE });
    const pieces = await Array.fromAsync(await chat().stream('Say hello.'));
    expect(pieces.length).toBeGreaterThan(2);
    const message = pieces.reduce((all, piece) => all.concat(piece));
    expect(message.text).toBe('Hello');
    expect(message.usage_metadata).toMatchObject(COUNTED);
    expect(message.response_metadata).toMatchObject({ finish_reason: 'stop', model_name: 'best' });
  });

  testLoops(bench, chat);

  describe('withStructuredOutput', () => {
    test('withStructuredOutput parses an answer in a JSON schema', async () => {
      bench.upstream.next({ text: '{"name":"Bern","people":134000}' });
      const model = chat().withStructuredOutput(City, { method: 'jsonSchema' });
      expect(await model.invoke('Which city?')).toEqual({ name: 'Bern', people: 134_000 });
    });

    test('withStructuredOutput parses the arguments of a forced tool', async () => {
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
