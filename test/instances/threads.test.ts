import { afterAll, beforeAll, expect, test } from 'bun:test';
import { World } from '../store/hostile/world.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** A service that keeps the history of a conversation, with two applications on one store. */
const service = useUpstream({ dialect: 'anthropic' });
let fleet: Fleet;
let one: Signalbox;
let other: Signalbox;

beforeAll(async () => {
  const policy = testPolicy({ first: { url: service.url, adapter: 'anthropic' } }, { best: { endpoints: ['first'] } })
    .replaceAll('adapter: anthropic,', 'adapter: anthropic, settings: { threads: true },')
    .replaceAll('best-upstream', 'claude-haiku-5-5');
  fleet = await startFleet(new World(), 2, { policy, env: UPSTREAM_ENV });
  [one, other] = fleet.instances as [Signalbox, Signalbox];
});
afterAll(() => fleet.stop());

const turnAt = (at: Signalbox, key: string, thread: object) => {
  service.next({ text: 'Hello!' });
  const body = { model: 'best', max_tokens: 100, messages: [{ role: 'user', content: 'The weather?' }], thread };
  const headers = { authorization: `Bearer ${key}`, 'anthropic-beta': 'message-threads-2026-08-12' };
  return at.post('/v1/messages', body, { headers });
};

/** Sends the first turn of a thread. */
async function begun(at: Signalbox, key: string): Promise<string> {
  const answer = await turnAt(at, key, { type: 'create' });
  expect(answer.status).toBe(200);
  return Object(await answer.json()).id;
}

const goOn = (at: Signalbox, key: string, id: string) => turnAt(at, key, { type: 'continue', previous_message_id: id });

test('a conversation continues if each turn goes to the instance that did not serve the turn before', async () => {
  const key = await fleet.makeKey();
  let id = await begun(one, key);
  for (const at of [other, one, other]) {
    const answer = await goOn(at, key, id);
    expect(answer.status).toBe(200);
    id = Object(await answer.json()).id;
  }
  expect(service.requests.at(-1)!.body.messages).toHaveLength(1);
});

test('a key cannot find the thread of another key on any instance', async () => {
  const [key, foreign] = [await fleet.makeKey(), await fleet.makeKey()];
  const id = await begun(one, key);
  for (const at of [one, other]) expect((await goOn(at, foreign, id)).status).toBe(404);
});

test('a thread is erased with its key, on whichever instance the key is revoked', async () => {
  const key = await fleet.makeKey();
  const id = await begun(one, key);
  const keyId = key.split('_')[2]!;
  expect(await fleet.world.store.threads.find(keyId, id)).toMatchObject({ answer: id });
  expect((await other.post(`/admin/keys/${keyId}/revoke`, {})).status).toBe(200);
  expect(await fleet.world.store.threads.find(keyId, id)).toBeNull();
});
