import { expect } from 'bun:test';
import { waitFor } from './answers.ts';
import { readPage, total } from './prometheus.ts';
import { chatHead, connect } from './raw-http.ts';
import { type Signalbox, withKey } from './signalbox.ts';

/** The number of conversations that a server keeps in memory. */
export const keptBy = async (box: Signalbox): Promise<number | null> =>
  total(readPage(await (await fetch(`${box.url}/metrics`)).text()), 'signalbox_conversations_kept');

/** A body with the messages of a conversation that is large enough to be kept. */
const bodyOf = (model: string, task: string): string =>
  JSON.stringify({
    model,
    max_tokens: 100,
    tools: [{ type: 'function', function: { name: 'read', parameters: { type: 'object' } } }],
    messages: [
      { role: 'system', content: 'You are an agent. '.repeat(500) },
      { role: 'user', content: task },
    ],
  });

interface OwnedKey {
  readonly id: string;
  readonly key: string;
}

const made = async <Body>(answer: Promise<Response>): Promise<Body> => {
  const response = await answer;
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Body;
};

/** Events after which no conversation of a caller may stay in memory. */
const ENDS = {
  async 'the key is revoked'(box: Signalbox) {
    const key = await made<OwnedKey>(box.post('/admin/keys', { name: 'agent' }));
    return { key, end: () => box.post(`/admin/keys/${key.id}/revoke`, {}) };
  },
  async 'the key above the key is revoked'(box: Signalbox) {
    const above = await made<OwnedKey>(box.post('/admin/keys', { scopes: ['chat', 'delegate'] }));
    const key = await waitFor(async () => {
      const response = await box.post('/v1/keys', {}, withKey(above.key));
      return response.ok ? ((await response.json()) as OwnedKey) : null;
    });
    return { key, end: () => box.post(`/admin/keys/${above.id}/revoke`, {}) };
  },
  async 'the user is deleted'(box: Signalbox) {
    const { id } = await made<OwnedKey>(box.post('/admin/users', { name: 'Ann' }));
    const key = await made<OwnedKey>(box.post('/admin/keys', { user: id }));
    return { key, end: () => box.post(`/admin/users/${id}`, undefined, { method: 'DELETE' }) };
  },
  async 'its words are erased'(box: Signalbox) {
    const key = await made<OwnedKey>(box.post('/admin/keys', { name: 'Ann' }));
    return { key, end: () => box.post('/admin/trail/erase', { subject: key.id }) };
  },
};
export const ENDINGS = Object.keys(ENDS) as (keyof typeof ENDS)[];

/**
 * Expects that a server drops the conversations of a caller after an event, and that a request whose body arrives during the event leaves
 * nothing.
 * @param here the server that the operator uses. @param there the server that the caller uses
 */
export async function expectDropped(
  ending: keyof typeof ENDS,
  here: Signalbox,
  there: Signalbox,
  model: string,
): Promise<void> {
  const { key, end } = await ENDS[ending](here);
  await waitFor(async () => (await there.get('/v1/models', withKey(key.key))).status === 200);
  const send = (body: string) => there.post('/v1/chat/completions', undefined, { ...withKey(key.key), body });
  // A conversation is kept once its key and its first turn are known, and creating the user or the key may still drop it.
  await waitFor(async () => {
    await (await send(bodyOf(model, 'First.'))).text();
    return (await keptBy(there)) === 1;
  });
  const waitForOpen = (count: number) =>
    waitFor(async () => {
      const page = readPage(await (await fetch(`${there.url}/metrics`)).text());
      return total(page, 'signalbox_requests_open') === count;
    });
  // An answered request counts for a moment, and would be taken for the late one.
  await waitForOpen(0);
  // All are turns of one conversation, so the last would be kept.
  const late = bodyOf(model, 'Late.');
  const connections = [await connect(there.url), await connect(there.url), await connect(there.url)];
  try {
    for (const connection of connections)
      await connection.write(`${chatHead(key.key, `content-length: ${late.length}`)}${late.slice(0, 5_000)}`);
    await waitForOpen(connections.length);
    expect((await end()).ok).toBe(true);
    await waitFor(async () => (await keptBy(there)) === 0);
    for (const connection of connections) {
      await connection.write(late.slice(5_000));
      await connection.response();
    }
    // If the creation of the caller emptied the memory, the server may learn of the event only now.
    await waitFor(async () => (await keptBy(there)) === 0);
  } finally {
    for (const connection of connections) connection.close();
  }
}
