import { expect, test } from 'bun:test';
import { answerOf, eventsOf } from '../support/answers.ts';
import { useSignalbox } from '../support/use.ts';

/** The shipped policy without a provider: the first minutes with Signalbox. */
const hello = [{ role: 'user', content: 'Say hello.' }];
const box = useSignalbox();

const ask = (body: object) => box.post('/v1/chat/completions', { model: 'auto', messages: hello, ...body });
test.concurrent('every selector of the shipped policy answers offline, and the answer says that it is simulated', async () => {
  const selectors = ['auto', 'auto-fast', 'auto-cheap'];
  const answers = await Promise.all(selectors.map(async (model) => answerOf(await ask({ model }))));
  for (const { choices, platform, usage } of answers) {
    expect(choices[0]?.message.content).toContain('simulated answer');
    expect(platform.routed_model).toStartWith('sim-');
    expect(platform.credits_consumed).toBeGreaterThan(0);
    expect(usage.completion_tokens).toBeGreaterThan(0);
  }
});

test.concurrent.each([
  ['Say hello.', ['sim-large', 'sim-flash', 'sim-small']],
  ['Explain why water boils earlier on a mountain.', ['sim-large', 'sim-flash', 'sim-small']],
])(
  '“%s”: auto balances, auto-fast chooses the fast model, auto-cheap chooses the cheap model',
  async (content, models) => {
    const routed = ['auto', 'auto-fast', 'auto-cheap'].map(async (model) => {
      const { platform } = await answerOf(await ask({ model, messages: [{ role: 'user', content }] }));
      return platform.routed_model;
    });
    expect(await Promise.all(routed)).toEqual(models);
  },
);

test.concurrent('a simulated stream comes in pieces and ends correctly', async () => {
  const { chunks, done } = await eventsOf(await ask({ model: 'sim-flash', stream: true }));
  expect(done).toBe(true);
  expect(chunks.length).toBeGreaterThan(5);
  expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toContain('simulated answer');
});
