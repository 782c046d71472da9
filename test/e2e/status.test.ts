import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { NEWS_SUBJECTS } from '../../src/store/news.ts';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** `GET /admin/status` describes the server and its place at the database. */
const upstream = useUpstream();
const box = useSignalbox(() => ({ policy: testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }) }));

const chat = (more = {}) =>
  box.post('/v1/chat/completions', {
    ...{ model: 'best', messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 20 },
    ...more,
  });

async function status(): Promise<Readonly<Record<string, unknown>>> {
  const response = await box.get('/admin/status');
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>;
}

async function figure(name: string): Promise<number> {
  const page = await (await box.get('/metrics')).text();
  return Number(new RegExp(`^${RegExp.escape(name)} (.+)$`, 'm').exec(page)?.[1]);
}

/** Takes over the data folder, like another server after the lock was removed. */
function takeOver(by: number): void {
  using db = new Database(join(box.data, 'signalbox.db'));
  db.run('UPDATE fence SET epoch = epoch + ?', [by]);
}

test('the status shows the slot of the server, and that the server’s copies are up to date with the database', async () => {
  expect((await chat()).status).toBe(200);
  expect(await status()).toEqual({
    version: expect.any(String),
    policy_revision: expect.stringMatching(/^[0-9a-f]{16}$/),
    slot: 0,
    epoch: 1,
    is_current: true,
    problem: null,
    failing_guards: [],
    clock_offset_ms: 0,
    copies: NEWS_SUBJECTS.map((subject) => ({ subject, age_ms: 0 })),
  });
  expect(await Promise.all(['slot', 'epoch', 'current'].map((one) => figure(`signalbox_instance_${one}`)))).toEqual([
    0, 1, 1,
  ]);
  expect(await figure('signalbox_instance_copy_age_seconds{subject="keys"}')).toBe(0);
});

test('a server that another server has fenced off reports what happened and what to do, and works again once the takeover is undone', async () => {
  takeOver(1);
  // The server notices the takeover without a request that would write.
  await waitFor(async () => (await box.get('/readyz')).status === 503);
  const sent = upstream.requests.length;
  await expectError(await chat(), 'overloaded');
  expect(upstream.requests.length).toBe(sent);
  expect(await status()).toMatchObject({
    is_current: false,
    problem: 'The database cannot be written: another server has taken over this data folder; stop this one.',
  });
  expect(await figure('signalbox_instance_current')).toBe(0);
  const [alive, ready] = [await box.get('/healthz'), await box.get('/readyz')];
  expect([alive.status, ready.status, await ready.json()]).toEqual([
    200,
    503,
    expect.objectContaining({ status: 'unwritable' }),
  ]);
  takeOver(-1);
  await waitFor(async () => (await box.get('/readyz')).status === 200);
  expect((await chat()).status).toBe(200);
  expect(await status()).toMatchObject({ is_current: true, problem: null });
});

test('running answers are completed while a server is fenced off', async () => {
  // After some requests, records must refer to readings other than the policy's own figures.
  for (let sent = 0; sent < 20; sent++) await (await chat({ stream: true })).text();
  await Bun.sleep(1_500);
  upstream.next({ headersAfterMs: 2_500 }, { headersAfterMs: 2_500 });
  const sent = upstream.requests.length;
  const answers = [chat(), chat({ stream: true })];
  await waitFor(() => upstream.requests.length >= sent + 2);
  takeOver(1);
  const [whole, stream] = await Promise.all(answers);
  expect(whole?.status).toBe(200);
  expect(await stream?.text()).toEndWith('data: [DONE]\n\n');
  takeOver(-1);
  await waitFor(async () => (await box.get('/readyz')).status === 200);
});
