import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { PreparingStep } from '../../../src/gateway/request/steps.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { contentOf, send, startWith, WAYS } from './served.ts';

/** Replaces a word in every text of the conversation. */
const mask: PreparingStep = (prepared) => {
  const parts = prepared.request.conversation.turns.flatMap((turn) => turn.parts);
  prepared.edit(
    parts.flatMap((part) =>
      part.type === 'text' && part.at ? [{ at: part.at, value: part.text.replaceAll('hunter2', '[masked]') }] : [],
    ),
  );
};

const upstream = useUpstream();
let box: Signalbox;
beforeAll(async () => {
  box = await startWith(upstream.url, { onRequest: [mask] });
});
afterAll(() => box.stop());

test.each(WAYS)('a step that edits a request changes what the model receives: %s', async (_, way) => {
  const before = upstream.requests.length;
  await contentOf(way, await send(way, box, 'My password is hunter2.'));
  const sent = JSON.stringify(upstream.requests.slice(before).map(({ body }) => body));
  expect(sent).toContain('[masked]');
  expect(sent).not.toContain('hunter2');
});

test('a recommendation and a count of tokens read the edited request', async () => {
  const count = async (text: string) => {
    const body = { model: 'best', messages: [{ role: 'user', content: text }] };
    const counted = await box.post('/v1/messages/count_tokens', body);
    return (await counted.json()) as { input_tokens: number };
  };
  const long = 'hunter2 '.repeat(200);
  expect(await count(long)).toEqual(await count(long.replaceAll('hunter2', '[masked]')));
  const body = { model: 'auto', messages: [{ role: 'user', content: long }] };
  const advice = await box.post('/v1/route', body);
  expect(advice.status).toBe(200);
});

test('a request that is decided again is prepared once', async () => {
  let times = 0;
  const counting = await startWith(
    upstream.url,
    { onRequest: [() => void times++] },
    'budgets: [{ name: all, limit_credits: 0.5, window: day }]\n',
  );
  try {
    const bodies = Array.from({ length: 40 }, () => send(WAYS[0]![1], counting, 'Say hello.'));
    const statuses = (await Promise.all(bodies)).map(({ status }) => status);
    expect(statuses).toContain(402);
    expect(times).toBe(40);
  } finally {
    await counting.stop();
  }
});
