import { afterEach, describe, expect, test } from 'bun:test';
import { ChatGoogleGenerativeAI, GoogleGenerativeAIEmbeddings } from '@langchain/google-genai';
import { startBench } from '../../support/dialect-bench.ts';
import { useSignalbox } from '../../support/use.ts';
import { COUNTED, gathered, testTools, USAGE } from './langchain-loops.ts';

/** LangChain's client of Gemini's API, with a model that speaks it and with models that do not. */
describe.each(['gemini', 'anthropic', 'openai'] as const)('%s', (dialect) => {
  const bench = startBench(dialect);
  afterEach(() => bench.upstream.behave({}));

  const chat = (model = 'auto') =>
    new ChatGoogleGenerativeAI({
      model,
      apiKey: bench.box.key,
      baseUrl: bench.box.url,
      maxOutputTokens: 1_000,
      maxRetries: 0,
    });

  test('invoke returns the text and its usage', async () => {
    bench.upstream.next({ text: 'Hello!', usage: USAGE });
    const message = await chat().invoke('Say hello.');
    expect(message.text).toBe('Hello!');
    expect(message.usage_metadata).toMatchObject(COUNTED);
    expect(message.response_metadata).toMatchObject({ finishReason: 'STOP' });
  });

  test('stream returns the text in pieces, and the usage at its end', async () => {
    bench.upstream.next({ text: ['Hel', 'lo'], usage: USAGE });
    const message = await gathered(await chat().stream('Say hello.'));
    expect(message.text).toBe('Hello');
    expect(message.usage_metadata).toMatchObject(COUNTED);
  });

  // No test breaks a stream: the client's library then rejects a promise that no code awaits, which ends the process.
  testTools(bench, chat);

  test('errors keep their status', async () => {
    const refused = chat('no-such-model').invoke('Hello?');
    await expect(refused).rejects.toMatchObject({ status: 404 });
  });
});

describe('with the simulated models', () => {
  const box = useSignalbox();

  test('several texts get their vectors', async () => {
    const embed = new GoogleGenerativeAIEmbeddings({ model: 'sim-embed', apiKey: box.key, baseUrl: box.url });
    const vectors = await embed.embedDocuments(['one', 'two']);
    expect(vectors.map(({ length }) => length)).toEqual([768, 768]);
  });
});
