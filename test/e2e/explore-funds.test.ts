import { expect, test } from 'bun:test';
import { answerOf, waitFor } from '../support/answers.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { startSignalbox } from '../support/signalbox.ts';

test('exploration never costs an answer: a model that the funds cannot pay is not tried', async () => {
  await using upstream = { ...startFakeUpstream({ key: UPSTREAM_KEY }), [Symbol.asyncDispose]: () => upstream.stop() };
  const models = {
    cheap: { endpoints: ['fake'], price: { input: 0.01, output: 0.04 } },
    dear: { endpoints: ['fake'], price: { input: 10, output: 40 } },
  };
  const more = `gateway: { failed_auth_per_minute: 1000000, retries_max: 0 }
learning: { mode: on, explore: { share: 1, quality_margin: 1 } }
`;
  const policy = testPolicy({ fake: upstream.url }, models, more);
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  await using _ = { [Symbol.asyncDispose]: () => box.stop() };
  const key = await box.makeKey('--budget', '1/day');
  const poor = { headers: { authorization: `Bearer ${key}` } };
  await waitFor(async () => (await box.get('/v1/models', poor)).status === 200);
  const ask = async (at: number, init: RequestInit) => {
    const messages = [{ role: 'user', content: `What is ${at} and ${at}?` }];
    const response = await box.post('/v1/chat/completions', { model: 'auto', messages, max_tokens: 64 }, init);
    return (await answerOf(response)).platform;
  };
  const chosen = async (init: RequestInit) => {
    const all = await Promise.all(Array.from({ length: 24 }, (_, at) => ask(at, init)));
    return [...new Set(all.map(({ routed_model, route_reason }) => `${routed_model} ${route_reason}`))].sort();
  };
  // Of 24 draws all are alike once in eight million times.
  expect(await chosen({})).toEqual(['cheap auto:balanced', 'dear auto:balanced:explored']);
  expect(await chosen(poor)).toEqual(['cheap auto:balanced']);
});
