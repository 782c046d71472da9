import { expect, test } from 'bun:test';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { failureIn, openaiAdapter, openTo, partsOf } from '../support/provider-call.ts';

test('a wait that an adapter reads from a body is at most a day, like a wait from a header', async () => {
  const upstream = startFakeUpstream();
  upstream.behave({ fail: 'rate_limited' });
  for (const [asked, told] of [
    [1_500.2, 1_501],
    [-1, 0],
    [1e15, 86_400_000],
  ] as const) {
    const failure = () => ({ kind: 'rate_limited' as const, message: 'no', status: 429, retryAfterMs: asked });
    const call = openTo(upstream.url, { adapter: { ...openaiAdapter(), failure } });
    expect(failureIn(await partsOf(call))?.retryAfterMs).toBe(told);
  }
  await upstream.stop();
});
