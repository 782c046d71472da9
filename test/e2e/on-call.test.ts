import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { LOOK_EVERY_MS } from '../../src/admin/alerts/alerts.ts';
import { objectOf, textOf } from '../../src/core/json/object.ts';
import type { Timers } from '../../src/core/time/timers.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { startReceiver } from '../admin/alerts/receiver.ts';
import { waitFor } from '../support/answers.ts';
import { startOwnServer } from '../support/own-server.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';
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
    - { name: spend, on: budget_share, at: [0.01], to: [slack] }
`,
);

/** Checks of alerts run twenty times a second; all other timers have their normal intervals. */
const quick: Timers = {
  after: processTimers.after,
  every: (ms, run) => processTimers.every(ms === LOOK_EVERY_MS ? 50 : ms, run),
};

let ahead = 0;
let box: Signalbox;
beforeAll(async () => {
  box = await startSignalbox({ policy: POLICY, env: ENV, timers: quick, now: () => Date.now() + ahead });
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
    for (let at = 0; at < 2; at++) await chat();
    expect(await jsonAt('/admin/status')).toMatchObject({ failing_guards: [] });
    last = textOf((await chat()).headers.get('x-request-id'));
  });

  test('sends an alert with its last error, and another one when it works again', async () => {
    await waitFor(() => told('guards').length > 0);
    expect(told('guards')[0]).toMatch(
      /^Signalbox, guards: Guard rules has failed at every request for \d+ s\. The last error, of req_\w+: the service answered with status 503$/,
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
    expect(out).toMatch(
      /The guard rules failed, so the request was not inspected\. The reason: the service answered with status 503\./,
    );
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
    const { out } = await box.run('doctor');
    expect(out).toContain('Guard services, rules: Its service replies.');
    // The provider of this test has no list of models.
    expect(out).toMatch(/^Warnings\n {2}Provider keys, fake/m);
    expect(out).toEndWith('\nNo problem was found, but one warning.\n');
  });
});

test('slow answers and errors send an alert once they exceed the limits of their rules', async () => {
  for (let at = 0; at < 20; at++) await chat();
  await waitFor(() => told('slow').length > 0);
  expect(told('slow')[0]).toMatch(
    /One of 10 answers in the last 5 min began after [\d.]+ s or later, .* The slowest model was best, with /,
  );
  expect(told('errors')).toEqual([]);
  upstream.behave({ status: 500, error: 'no' });
  for (let at = 0; at < 20; at++) await chat();
  await waitFor(() => told('errors').length > 0);
  expect(told('errors')[0]).toMatch(
    /of the requests in the last 5 min ended with an error \(\d+ of \d+\), more than 20 %\. The most frequent error was \w+/,
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

describe('a request', () => {
  const show = async (id: string, ...more: string[]) => {
    await waitFor(async () => (await box.run('decisions', 'show', id)).code === 0);
    return (await box.run('decisions', 'show', id, ...more)).out;
  };
  const ask = async (key: string, model = 'best') => {
    const answer = await box.post(
      '/v1/chat/completions',
      { model, max_tokens: 8, messages: [{ role: 'user', content: 'hello' }] },
      withKey(key),
    );
    await answer.text();
    return textOf(answer.headers.get('x-request-id'));
  };
  let [key, id, team] = ['', '', ''];
  beforeAll(async () => {
    upstream.behave({});
    ({ id: team } = objectOf(await (await box.post('/admin/teams', { name: 'search' })).json()) as { id: string });
    const made = await (await box.post('/admin/keys', { name: 'crawler', team })).json();
    ({ key, id } = made as { key: string; id: string });
  });

  test('is shown with the names of its key and team, the model that it named, and the reason', async () => {
    const out = await show(await ask(key, 'auto'));
    expect(out).toMatch(new RegExp(`^key +crawler \\(${id}\\)$`, 'm'));
    expect(out).toMatch(new RegExp(`^team +search \\(${team}\\)$`, 'm'));
    expect(out).toMatch(/^named model +auto$/m);
    expect(out).toMatch(/^reason +It went to best, which was chosen by auto:usual\.$/m);
    expect(out).not.toMatch(/policy revision|object/);
    const refused = await show(await ask(key, 'gpt-9'));
    expect(refused).toMatch(/^named model +gpt-9$/m);
    expect(refused).toMatch(/^reason +There is no model or selector `gpt-9`/m);
  });

  test('is shown with its internals by --verbose, and with all of them by --json', async () => {
    const request = await ask(key);
    expect(await show(request, '--verbose')).toMatch(/^policy revision +\w+$/m);
    expect(JSON.parse(await show(request, '--json'))).toMatchObject({
      ...{ key_name: 'crawler', team_name: 'search', user_name: null, named_model: 'best' },
      explanation: 'It went to best, which was requested by name.',
    });
  });

  test('that failed is shown with the last failure', async () => {
    upstream.behave({ status: 400, error: 'bad' });
    expect(await show(await ask(key))).toMatch(/^reason +No model answered \(\w+\): .*failed \(\w+ at fake/m);
    upstream.behave({});
  });

  test('with the secret of a revoked, expired or replaced key is found by its ID, with the name of the key', async () => {
    const replaced = key;
    const rotated = await (await box.post(`/admin/keys/${id}/rotate`, { overlap_seconds: 0 })).json();
    ({ key } = rotated as { key: string });
    const short = await (await box.post('/admin/keys', { name: 'short', expires_in_seconds: 60 })).json();
    const sent = [await ask(replaced)];
    expect((await box.run('keys', 'revoke', id)).code).toBe(0);
    ahead = 61_000;
    for (const one of [key, key, (short as { key: string }).key]) sent.push(await ask(one));
    ahead = 0;
    const found = await Promise.all(sent.map((one) => show(one)));
    expect(found.map((out) => /^key +(\w+) /m.exec(out)?.[1])).toEqual(['crawler', 'crawler', 'crawler', 'short']);
    expect(found[0]).toMatch(/^status +refused, HTTP 401, invalid_api_key$/m);
    expect(found.map((out) => /^reason +(.+)$/m.exec(out)?.[1])).toEqual([
      'The key was rotated, and this is its former secret.',
      'The key is revoked.',
      'The key is revoked.',
      'The key has expired.',
    ]);
    const guessed = key.slice(0, -6).concat('aaaaaa');
    await ask(guessed);
    const listed = await jsonAt('/admin/decisions?status=401');
    expect(listed.data.map(({ request_id }: { request_id: string }) => request_id)).toEqual(sent.toReversed());
    // Callers do not learn the reason.
    expect(await (await box.post('/v1/chat/completions', {}, withKey(key))).text()).toContain('expired or revoked');
  });
});

test('an alert about the budget of a key has the name of the key', async () => {
  const budgets = [{ limit_credits: 1, window: 'total' }];
  const key = objectOf(await (await box.post('/admin/keys', { name: 'importer', budgets })).json()).key;
  const body = { model: 'best', max_tokens: 64, messages: [{ role: 'user', content: 'hello' }] };
  expect((await box.post('/v1/chat/completions', body, withKey(`${key}`))).status).toBe(200);
  await waitFor(() => told('spend').length > 0);
  expect(told('spend')[0]).toMatch(/^Signalbox, spend: Budget “total of key importer” has spent/);
});

test('`keys show` accepts the name of a key, and names the IDs if several keys have it', async () => {
  const make = async (name = 'twin key') => objectOf(await (await box.post('/admin/keys', { name })).json()).id;
  const one = await make();
  const shown = await box.run('keys', 'show', 'twin key');
  expect([shown.code, shown.out]).toEqual([0, expect.stringContaining(`${one}`)]);
  expect((await box.run('keys', 'show', 'twin key', '--offline')).out).toContain(`${one}`);
  const lone = await make('lone');
  expect((await box.run('keys', 'revoke', 'lone')).err).toContain(
    `No key has this ID. The ID of the key with this name is ${lone}.`,
  );
  const other = await make();
  const both = await box.run('keys', 'show', 'twin key');
  expect(both.code).toBe(1);
  for (const id of [one, other]) expect(both.err).toContain(`${id}`);
  expect((await box.run('keys', 'show', 'twim key')).err).toContain('No key has this ID or name.');
});

test('`endpoints list` shows the state of each endpoint and why', async () => {
  upstream.behave({ status: 401, error: 'revoked' });
  await chat();
  const { code, out } = await box.run('endpoints', 'list');
  expect([code, out]).toEqual([0, expect.stringMatching(/^fake +best +\S+ +misconfigured .*401/m)]);
  const json = JSON.parse((await box.run('endpoints', 'list', '--json')).out);
  expect(json.data).toMatchObject([{ provider: 'fake', state: 'misconfigured' }]);
  // A pause can be shorter than a minute.
  expect(out).toContain(`${json.data[0].retry_at}`.slice(11, 19));
  upstream.behave({});
});
