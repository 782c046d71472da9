import { expect, test } from 'bun:test';
import { keptBy } from '../support/kept-conversations.ts';
import { startLivePolicy } from '../support/live-policy.ts';
import { TOY } from '../support/policies.ts';

test('the next request after an edit to `turns_bytes_max: 0` drops all conversations, however small it is', async () => {
  const live = await startLivePolicy({ 'policy.yaml': TOY });
  const { box } = live;
  const send = async (...messages: readonly object[]) =>
    expect((await box.post('/v1/chat/completions', { model: 'toy', max_tokens: 20, messages })).status).toBe(200);
  const turns = [
    { role: 'system', content: 'You are an agent. '.repeat(500) },
    { role: 'user', content: 'Begin.' },
    { role: 'assistant', content: 'Next.' },
    { role: 'user', content: 'Go on.' },
  ];
  for (let turn = 0; turn < 3; turn++) await send(...turns);
  expect(await keptBy(box)).toBe(1);
  const { revision } = await live.status();
  live.replace('policy.yaml', `${TOY}gateway: { turns_bytes_max: 0 }\n`);
  await live.changedFrom(revision);
  await send({ role: 'user', content: 'Hi.' });
  expect(await keptBy(box)).toBe(0);
  await live.stop();
});
