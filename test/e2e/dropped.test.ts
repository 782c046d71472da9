import { expect, test } from 'bun:test';
import { answerOf } from '../support/answers.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { startSignalbox } from '../support/signalbox.ts';

test('fields that an adapter drops from a long conversation are reported by a few names', async () => {
  const upstream = startFakeUpstream({ dialect: 'gemini' });
  const policy = testPolicy({ fake: { url: upstream.url, adapter: 'gemini' } }, { best: { endpoints: ['fake'] } });
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  try {
    const messages = Array.from({ length: 1_000 }, () => ({ role: 'user', name: 'eve', content: 'x' }));
    const { platform } = await answerOf(await box.post('/v1/chat/completions', { model: 'best', messages }));
    expect(platform.dropped.slice(0, 2)).toEqual(['messages[0].name', 'messages[1].name']);
    expect(platform.dropped.slice(64)).toEqual(['and 936 more']);
  } finally {
    await Promise.all([box.stop(), upstream.stop()]);
  }
});
