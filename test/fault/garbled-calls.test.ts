import { expect, test } from 'bun:test';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { startSignalbox } from '../support/signalbox.ts';

test('a caller whose requests make a model garble its tool calls blocks no endpoint for other callers', async () => {
  const upstream = startFakeUpstream({ dialect: 'gemini' });
  const policy = testPolicy({ fake: { url: upstream.url, adapter: 'gemini' } }, { best: { endpoints: ['fake'] } });
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  try {
    const raw = [JSON.stringify({ candidates: [{ index: 0, finishReason: 'UNEXPECTED_TOOL_CALL' }] })];
    upstream.behave({ raw, contentType: 'application/json' });
    for (let at = 0; at < 6; at++) {
      const answer = await box.post('/v1/chat/completions', {
        model: 'best',
        messages: [{ role: 'user', content: 'x' }],
      });
      expect(answer.status).toBe(502);
    }
    const metrics = await (await box.get('/metrics')).text();
    expect(metrics).toMatch(/signalbox_attempts_total\{[^}]*outcome="malformed"\} 6/);
    expect(metrics).not.toMatch(/signalbox_endpoint_state\{[^}]*state="ejected"\} 1/);
    expect(box.lines.filter((line) => line.includes('is ejected'))).toEqual([]);
  } finally {
    await Promise.all([box.stop(), upstream.stop()]);
  }
});
