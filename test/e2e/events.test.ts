import { afterEach, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { LOOK_EVERY_MS } from '../../src/admin/alerts/alerts.ts';
import type { Timers } from '../../src/core/time/timers.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { startReceiver } from '../admin/alerts/receiver.ts';
import { waitFor } from '../support/answers.ts';
import { type DeafCaller, startDeafCaller } from '../support/deaf-caller.ts';
import { useEventReaders } from '../support/event-reader.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { startSignalbox, temporaryFolder, withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** The event feed of a server whose endpoints fail, whose budget is nearly spent, and whose readers do not read. */
const upstream = useUpstream();
const receiver = startReceiver();
const follow = useEventReaders();

/** Alert rules are checked twenty times a second; all other timers have their normal intervals. */
const quick: Timers = {
  after: processTimers.after,
  every: (ms, run) => processTimers.every(ms === LOOK_EVERY_MS ? 50 : ms, run),
};
/** A long model name, so that the events of its decisions are long. */
const LONG = 'm'.repeat(120);
const policy = testPolicy(
  { first: upstream.url, second: upstream.url },
  { best: { endpoints: ['first'] }, [LONG]: { endpoints: ['first'] }, plain: { endpoints: ['second'] } },
  `budgets:
  - { name: all-month, limit_credits: 4, window: month }
alerts:
  webhooks: { ops: { url_env: OPS_URL, allow_private_network: true, secret_env: OPS_SECRET } }
  rules:
    - { name: budgets, on: budget_share, at: [0.1], to: [ops] }
`,
);
const ENV = { OPS_URL: receiver.url, OPS_SECRET: 'a secret of 24 characters' };
const box = useSignalbox(() => ({ policy, env: ENV, timers: quick }));

const deaf: DeafCaller[] = [];
afterEach(() => {
  for (const caller of deaf.splice(0)) caller.hangUp();
});

const chat = async (model: string, key = box.key) => {
  const body = { model, messages: [{ role: 'user', content: 'The words of a canary' }], max_tokens: 100 };
  const response = await box.post('/v1/chat/completions', body, withKey(key));
  await response.text();
  return response.status;
};

test('the event feed reports that an endpoint is ejected and has recovered, and that a budget is nearly spent', async () => {
  const reader = await follow(box.url, withKey(box.key).headers);
  for (let faults = 0; faults < 5; faults++) {
    upstream.next({ status: 500 });
    expect(await chat('plain')).toBeGreaterThanOrEqual(500);
  }
  await waitFor(() => reader.of('endpoint').length === 1);
  const endpoint = { provider: 'second', model: 'plain', upstream: 'plain-upstream' };
  expect(reader.of('endpoint')[0]!.data).toEqual({
    ...endpoint,
    time: expect.any(String),
    from: 'healthy',
    to: 'ejected',
    why: '5 faults in a row; the last: server 500',
  });
  // No other endpoint serves this model, so the endpoint is tried although its breaker is open.
  expect(await chat('plain')).toBe(200);
  await waitFor(() => reader.of('endpoint').length > 1);
  expect(reader.of('endpoint').at(-1)!.data).toMatchObject({ ...endpoint, to: 'healthy' });

  expect(reader.of('alert')).toEqual([]);
  upstream.next({ usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 } });
  expect(await chat('best')).toBe(200);
  await waitFor(() => reader.of('alert').length === 1);
  const { data: alerts } = (await (await box.get('/admin/alerts')).json()) as { data: { id: string }[] };
  expect(reader.of('alert')[0]!.data).toEqual({
    id: alerts[0]!.id,
    time: expect.any(String),
    type: 'alert',
    rule: 'budgets',
    on: 'budget_share',
    text: expect.stringMatching(/^Signalbox, budgets: Budget “all-month” has spent \d+ % of its 4 Credits/),
  });
  expect(reader.text).not.toContain('canary');
});

/** Whether a stream opens; the stream is closed at once. */
async function opens(key: string): Promise<boolean> {
  const { status, body } = await box.get('/admin/events', withKey(key));
  await body?.cancel();
  return status === 200;
}

test('the event feed disconnects clients that do not read, and delays no other client', async () => {
  const readers = await box.makeKey('--name', 'figures', '--scope', 'report');
  const { host, port } = new URL(box.url);
  const request = `GET /admin/events HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${readers}\r\n\r\n`;
  for (let at = 0; at < 16; at++) deaf.push(startDeafCaller(Number(port), request));
  await waitFor(async () => !(await opens(readers)));

  const reader = await follow(box.url, withKey(box.key).headers);
  const caller = await box.makeKey('--name', 'a long name '.repeat(16));
  upstream.behave({ fail: 'rejected' });
  let chats = 0;
  // As much as the server keeps for one reader at most, and as its socket accepts.
  while (reader.text.length < 600_000) {
    expect(await Promise.all(Array.from({ length: 20 }, () => chat(LONG, caller)))).toEqual(Array(20).fill(400));
    chats += 20;
    await waitFor(() => reader.of('decision').length === chats);
  }
  await waitFor(() => opens(readers));
});

test('after a restart the event feed reports that events may be missing, whatever the client had received', async () => {
  const options = { policy, data: temporaryFolder(), env: { ...UPSTREAM_ENV, ...ENV, SIGNALBOX_API_KEY: box.key } };
  const ask = (url: string) =>
    fetch(`${url}/v1/chat/completions`, {
      ...withKey(box.key),
      method: 'POST',
      body: JSON.stringify({ model: LONG, messages: [{ role: 'user', content: 'Hello' }] }),
      headers: { ...withKey(box.key).headers, 'content-type': 'application/json' },
    });
  const before = await startSignalbox(options);
  const { headers } = withKey(box.key);
  const first = await follow(before.url, headers);
  await ask(before.url);
  await waitFor(() => first.events.length === 1);
  await before.stop();
  const after = await startSignalbox(options);
  // The server has sent as many events as before the restart, so that event numbers alone could be confused.
  const other = await follow(after.url, headers);
  await ask(after.url);
  await waitFor(() => other.events.length === 1);
  const back = await follow(after.url, { ...headers, 'last-event-id': first.events[0]!.id });
  await waitFor(() => back.events.length === 1);
  expect(back.events[0]).toMatchObject({ event: 'reset', id: other.events[0]!.id });
  await after.stop();
  rmSync(options.data, { recursive: true });
});
