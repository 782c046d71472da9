import { expect, test } from 'bun:test';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { openaiAdapter, openTo, partsOf } from '../support/provider-call.ts';

test('a request that the adapter cannot translate is refused with the adapter’s message, and never sent', async () => {
  const upstream = startFakeUpstream();
  const refusal = { kind: 'rejected', message: '`messages[0].content[0].file` is no PDF' } as const;
  const call = openTo(upstream.url, { adapter: { ...openaiAdapter(), request: () => refusal } });
  expect(await partsOf(call)).toEqual([{ type: 'failure', failure: refusal }]);
  expect([call.sent, upstream.requests]).toEqual([false, []]);
  await upstream.stop();
});
