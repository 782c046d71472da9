import { expect, test } from 'bun:test';
import { answerOf } from '../support/answers.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { startSignalbox } from '../support/signalbox.ts';

const EVENTS = [
  { type: 'message_start', message: { usage: { input_tokens: 10, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello '.repeat(500) } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
  { type: 'message_stop' },
];

test('an answer that reports only a placeholder usage at its start is not charged as one token', async () => {
  const upstream = startFakeUpstream({ dialect: 'anthropic' });
  const policy = testPolicy({ fake: { url: upstream.url, adapter: 'anthropic' } }, { best: { endpoints: ['fake'] } });
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  try {
    upstream.behave({
      raw: EVENTS.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
      contentType: 'text/event-stream',
    });
    const body = { model: 'best', messages: [{ role: 'user', content: 'x' }] };
    const { usage, platform } = await answerOf(await box.post('/v1/chat/completions', body));
    expect(usage.completion_tokens).toBeGreaterThan(400);
    expect(platform.estimated).toBe(true);
  } finally {
    await Promise.all([box.stop(), upstream.stop()]);
  }
});
