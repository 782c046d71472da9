import { expect, test } from 'bun:test';
import { textRequest } from 'signalbox/plugin';
import { exampleProvider } from './index.ts';

const adapter = exampleProvider.prepare({});
if (adapter.kind !== 'wire') throw new Error('the adapter must call a service over the network');

test('a request contains the question and the cap on its output', () => {
  const model = { capabilities: [], lacks: [], acceptsTemperature: true, ttftMs: 1, outputTokensPerSecond: 100 };
  const request = textRequest('How is the weather?');
  const made = adapter.request({ upstream: 'm-1', request, extras: {}, stream: false, outputCap: 64, model });
  if ('kind' in made) throw new Error(made.message);
  expect(made.path).toBe('/generate');
  expect(JSON.parse(made.body)).toMatchObject({
    model: 'm-1',
    messages: [{ role: 'user', text: 'How is the weather?' }],
    max_tokens: 64,
  });
});

test('an answer that reaches its cap has the finish reason length', () => {
  expect(adapter.reply('{"text":"Rai","stop":"limit"}')).toContainEqual(
    expect.objectContaining({ type: 'finish', reason: 'length' }),
  );
});
