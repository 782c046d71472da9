import { expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy(
    { first: upstream.url },
    { small: { endpoints: ['first'] }, big: { endpoints: ['first'] }, dated: { endpoints: ['first'] } },
    `constraints:
  - { name: leads, when: 'user.role != "lead"', require: 'model.id != "big"' }
  - { name: moved, when: 'team.name == "two"', require: 'model.id != "small"' }
  - { name: batch, when: 'key.labels.kind == "batch"', require: 'model.id != "dated"' }
gateway: { retries_max: 0 }
`,
  ),
}));

const send = async (
  method: string,
  path: string,
  body: object,
): Promise<{ readonly id: string; readonly key: string }> => {
  const { headers } = withKey(box.key);
  const init = { method, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(`${box.url}${path}`, init);
  expect(response.status).toBeLessThan(300);
  return (await response.json()) as { readonly id: string; readonly key: string };
};

/** A change of a user's team reaches its keys within a second; the tests allow four times as much, ms. */
const WITHIN = 4_000;

test('policy rules use a changed key and its changed user at the next request, and its changed team within a second', async () => {
  for (const name of ['one', 'two']) await send('POST', '/admin/teams', { name });
  const user = await send('POST', '/admin/users', { name: 'Ada', team: 'one', role: 'member' });
  const { id, key } = await send('POST', '/admin/keys', { user: user.id });
  const chat = async (model: string) =>
    (await box.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi.' }] }, withKey(key)))
      .status;
  const served = async () => [await chat('small'), await chat('big'), await chat('dated')];
  expect([await served(), await served()]).toEqual([
    [200, 422, 200],
    [200, 422, 200],
  ]);
  await send('PATCH', `/admin/users/${user.id}`, { role: 'lead' });
  expect(await served()).toEqual([200, 200, 200]);
  await send('PATCH', `/admin/users/${user.id}`, { team: 'two' });
  await waitFor(async () => (await chat('small')) === 422, WITHIN);
  expect(await served()).toEqual([422, 200, 200]);
  await send('PATCH', `/admin/keys/${id}`, { labels: { kind: 'batch' } });
  expect(await served()).toEqual([422, 200, 422]);
  await send('PATCH', `/admin/keys/${id}`, { labels: { kind: null } });
  await send('PATCH', `/admin/users/${user.id}`, { team: 'one', role: 'member' });
  await waitFor(async () => (await chat('small')) === 200, WITHIN);
  expect([await served(), await served()]).toEqual([
    [200, 422, 200],
    [200, 422, 200],
  ]);
});
