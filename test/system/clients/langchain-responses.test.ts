import { afterEach, describe, expect, test } from 'bun:test';
import { ChatOpenAI } from '@langchain/openai';
import { startBench } from '../../support/dialect-bench.ts';
import { COUNTED, gathered, testLoops, USAGE } from './langchain-loops.ts';

/** LangChain's OpenAI client with the Responses API, which it uses by setting or because of the name of the model. */
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

  test('invoke and stream return the same text and usage', async () => {
    bench.upstream.behave({ text: ['Hel', 'lo'], usage: USAGE });
    for (const message of [await chat().invoke('Say hello.'), await gathered(await chat().stream('Say hello.'))]) {
      expect(message.text).toBe('Hello');
      expect(message.usage_metadata).toMatchObject(COUNTED);
      expect(message.response_metadata).toMatchObject({ status: 'completed' });
    }
  });

  testLoops(bench, chat);

  test('a name with “codex” makes LangChain use Responses, and a refused request keeps its status and code', async () => {
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
