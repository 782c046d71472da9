import { expect, test } from 'bun:test';
import { objectsIn } from '../../src/core/json/object.ts';
import { waitFor } from '../support/answers.ts';
import { ENDINGS, expectDropped, keptBy } from '../support/kept-conversations.ts';
import { testPolicy } from '../support/policies.ts';
import { openResponses } from '../support/responses-socket.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy({ first: upstream.url }, { best: { endpoints: ['first'] } }, 'gateway: { retries_max: 0 }\n'),
}));

for (const ending of ENDINGS) {
  test(`after ${ending}, no conversation is in memory, and a request in progress leaves none`, () =>
    expectDropped(ending, box, box, 'best'));
}

test('the conversations of other keys stay if a key is revoked', async () => {
  const body = JSON.stringify({
    model: 'best',
    messages: ['system', 'user', 'user'].map((role) => ({ role, content: `${role} `.repeat(2_000) })),
  });
  const send = async (key: string) =>
    await (await box.post('/v1/chat/completions', undefined, { body, ...withKey(key) })).text();
  // News of the changes before may arrive late and drop everything, so one revocation of several has to leave the other conversation.
  await waitFor(async () => {
    const keys = [await made(), await made()] as const;
    await waitFor(async () => {
      for (const { key } of keys) await send(key);
      return (await keptBy(box)) === 2;
    });
    expect((await box.post(`/admin/keys/${keys[0].id}/revoke`, {})).ok).toBe(true);
    await waitFor(async () => (await keptBy(box)) !== 2);
    return (await keptBy(box)) === 1;
  });
});

test('the requests of a WebSocket continue one kept conversation, and the provider gets all its messages', async () => {
  const before = (await keptBy(box)) ?? 0;
  const { socket, ask } = openResponses(box, box.key);
  let previous: unknown;
  for (const word of ['first', 'second', 'third', 'fourth']) {
    const last = (await ask({ input: `${word} `.repeat(1_000), previous_response_id: previous })).at(-1);
    expect(last?.type).toBe('response.completed');
    previous = Reflect.get(Object(last?.response), 'id');
  }
  socket.close();
  expect(await keptBy(box)).toBe(before + 1);
  const roles = objectsIn(upstream.requests.at(-1)?.body.messages).map(({ role }) => role);
  expect(roles).toEqual(['user', 'assistant', 'user', 'assistant', 'user', 'assistant', 'user']);
});

const made = async () =>
  (await (await box.post('/admin/keys', {})).json()) as { readonly id: string; readonly key: string };
