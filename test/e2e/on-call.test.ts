import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { LOOK_EVERY_MS } from '../../src/admin/alerts/alerts.ts';
import { textOf } from '../../src/core/json/object.ts';
import type { Timers } from '../../src/core/time/timers.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { startReceiver } from '../admin/alerts/receiver.ts';
import { waitFor } from '../support/answers.ts';
import { startOwnServer } from '../support/own-server.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** The person on call learns of each problem, its reason and its subject, without a search in the log. */
const receiver = startReceiver();
const upstream = useUpstream();
/** The service of a guard, which can be down. */
let isDown = false;
const service = startOwnServer(() => new Response(isDown ? 'overloaded' : '{}', { status: isDown ? 503 : 200 }));
afterAll(async () => {
  await service.stop();
  receiver[Symbol.dispose]();
});

const ENV = { ...UPSTREAM_ENV, SLACK_URL: `${receiver.url}/slack` };
const POLICY = testPolicy(
  { fake: upstream.url },
  { best: { endpoints: ['fake'] } },
  `guards:
  - name: rules
    guard: webhook
    service: { url: "${service.url}", allow_private_network: true }
    on_match: block
    on_failure: flag
alerts:
  webhooks:
    slack: { url_env: SLACK_URL, format: slack, allow_private_network: true }
  rules:
    - { name: guards, on: guard_failing, after_seconds: 0, to: [slack] }
    - { name: refused, on: key_refused, to: [slack] }
    - { name: errors, on: error_rate, above: 0.2, to: [slack] }
    - { name: slow, on: slow_answers, above_seconds: 0.0001, to: [slack] }
`,
);

/** Checks of alerts run twenty times a second; all other timers have their normal intervals. */
const quick: Timers = {
  after: processTimers.after,
  every: (ms, run) => processTimers.every(ms === LOOK_EVERY_MS ? 50 : ms, run),
};

let box: Signalbox;
beforeAll(async () => {
  box = await startSignalbox({ policy: POLICY, env: ENV, timers: quick });
});
afterAll(() => box.stop());
beforeEach(() => {
  receiver.received.length = 0;
});

const chat = async () => {
  const answer = await box.post('/v1/chat/completions', {
    model: 'best',
    max_tokens: 8,
    messages: [{ role: 'user', content: 'hello' }],
  });
  await answer.text();
  return answer;
};
const told = (rule: string) =>
  receiver.received.map(({ text }) => text).filter((text) => text.startsWith(`Signalbox, ${rule}: `));
const jsonAt = async (path: string) => JSON.parse(await (await box.get(path)).text());

describe('a guard whose service is down', () => {
  let last = '';
  beforeAll(async () => {
    isDown = true;
    for (let at = 0; at < 3; at++) last = textOf((await chat()).headers.get('x-request-id'));
  });

  test('sends an alert with its last error, and another one when it works again', async () => {
    await waitFor(() => told('guards').length > 0);
    expect(told('guards')[0]).toMatch(
      /^Signalbox, guards: Guard rules has failed at every request for \d+ s\. The last error, of req_\w+: it failed: .*503/,
    );
  });

  test('is named with its last error by the status of the server and the list of guards', async () => {
    const failing = { failures: 3, error: expect.stringContaining('503'), request_id: last };
    expect(await jsonAt('/admin/status')).toMatchObject({ failing_guards: [{ name: 'rules', ...failing }] });
    expect(await jsonAt('/admin/guards')).toMatchObject({ data: [{ name: 'rules', failing }] });
    expect((await box.run('guards', 'list')).out).toContain('503');
  });

  test('is the reason that the ID of a request leads to', async () => {
    await waitFor(async () => (await box.run('decisions', 'show', last)).code === 0);
    const { out } = await box.run('decisions', 'show', last);
    expect(out).toMatch(/The guard rules failed, so the request was not inspected\. The reason: it failed: .*503/);
  });

  test('is a problem of `doctor`', async () => {
    const { code, out } = await box.run('doctor');
    expect([code, out]).toEqual([
      2,
      expect.stringMatching(/Guard services, rules: The guard cannot inspect anything: .*503/),
    ]);
  });

  test('is well after the first request that it inspects', async () => {
    isDown = false;
    await chat();
    await waitFor(() => told('guards').length > 0);
    expect(told('guards')[0]).toContain('Guard rules works again.');
    expect(await jsonAt('/admin/status')).toMatchObject({ failing_guards: [] });
    expect((await box.run('doctor')).out).toContain('Guard services, rules: Its service replies.');
  });
});

test('slow answers and errors send an alert once they exceed the limits of their rules', async () => {
  for (let at = 0; at < 20; at++) await chat();
  await waitFor(() => told('slow').length > 0);
  expect(told('slow')[0]).toMatch(/One of 10 answers in the last 5 min began after [\d.]+ s or later/);
  expect(told('errors')).toEqual([]);
  upstream.behave({ status: 500, error: 'no' });
  for (let at = 0; at < 20; at++) await chat();
  await waitFor(() => told('errors').length > 0);
  expect(told('errors')[0]).toMatch(
    /of the requests in the last 5 min ended with an error \(\d+ of \d+\), more than 20 %/,
  );
});

test('a key that the provider refuses sends an alert at once', async () => {
  const other = await startSignalbox({ policy: POLICY, env: ENV, timers: quick });
  try {
    upstream.behave({ status: 401, error: 'revoked' });
    await other.post('/v1/chat/completions', { model: 'best', messages: [{ role: 'user', content: 'hello' }] });
    await waitFor(() => told('refused').length > 0);
    expect(told('refused')).toEqual([
      'Signalbox, refused: Provider fake refuses its key. The key may be revoked: replace it.',
    ]);
  } finally {
    await other.stop();
  }
});
