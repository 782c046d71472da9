import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCanary, Nets } from '../security/canary-support.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { forgetThreads } from '../support/dialects/anthropic-threads.ts';
import { expectError } from '../support/error-contract.ts';
import type { Behaviour, RecordedRequest } from '../support/fake-upstream.ts';
import { frequentTimers } from '../support/frequent-timers.ts';
import { testPolicy } from '../support/policies.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** Several keys of one provider, as callers, the provider and operators see them. */
const nets = new Nets();
const KEYS = {
  KEY_A: nets.add('KEY_A', makeCanary()),
  KEY_B: nets.add('KEY_B', makeCanary()),
  KEY_C: nets.add('KEY_C', makeCanary()),
};
const first = useUpstream({ key: undefined });
const second = useUpstream({ key: undefined });
const boxes: Signalbox[] = [];

afterEach(async () => {
  for (const upstream of [first, second]) {
    upstream.behave({});
    upstream.requests.length = 0;
  }
  await Promise.all(boxes.splice(0).map((box) => box.stop()));
});

const policyWith = (keys: string): string =>
  testPolicy(
    { first: first.url, second: second.url },
    { best: { endpoints: ['first'], quality: 0.9 }, plain: { endpoints: ['second'], quality: 0.5 } },
  ).replace('api_key_env: TEST_UPSTREAM_KEY', `api_keys_env: ${keys}`);

async function start(
  keys = '[KEY_A, KEY_B, KEY_C]',
  env: Readonly<Record<string, string>> = KEYS,
  edit = (policy: string) => policy,
): Promise<Signalbox> {
  const box = await startSignalbox({
    policy: edit(policyWith(keys)),
    env: { TEST_UPSTREAM_KEY: 'provider-secret-second', ...env },
    // A changed file takes effect within half a second.
    ...('KEYS_FILE' in env && { timers: frequentTimers(5) }),
  });
  boxes.push(box);
  return box;
}

let asked = 0;
const chat = (box: Signalbox, body: object = {}) =>
  box.post('/v1/chat/completions', {
    model: 'best',
    messages: [{ role: 'user', content: `Question ${++asked}` }],
    max_tokens: 20,
    ...body,
  });

const keyOf = ({ headers }: RecordedRequest) => headers.get('authorization')!.replace('Bearer ', '');
const keysSeen = () => first.requests.map(keyOf);

/** Makes the provider answer in another way to one key. */
const behaveFor =
  (key: string, behaviour: Behaviour) =>
  (request: RecordedRequest): Behaviour =>
    keyOf(request) === key ? behaviour : {};

const limited: Behaviour = { status: 429, headers: { 'retry-after': '600' } };

async function ask(box: Signalbox, times: number): Promise<void> {
  for (let turn = 0; turn < times; turn++) expect((await chat(box)).status).toBe(200);
}

describe('keys of a pool', () => {
  test.each(['fastest', 'cheapest'])(
    'requests use all keys with `spread: %s`, and the record repeats the choice',
    async (mode) => {
      const box = await start(undefined, KEYS, (policy) =>
        policy.replace('    endpoints:', `    spread: ${mode}\n    endpoints:`),
      );
      await ask(box, 60);
      // The chance that a key gets none of the requests is less than one in ten billion.
      expect(new Set(keysSeen())).toEqual(new Set(Object.values(KEYS)));
      const answer = await chat(box);
      const { platform } = await answerOf(answer);
      expect(await (await box.get(`/v1/decisions/${platform.decision_id}`)).json()).toMatchObject({
        replay: { matches: true, endpoints: true },
        outcome: { attempts: [{ spread: { mode, drawn: true } }] },
      });
    },
  );

  test('a prompt that is too long for a model is sent to it once, and then to each fallback once', async () => {
    const tooLong: Behaviour = {
      status: 400,
      error: { message: 'This prompt is too long.', code: 'context_length_exceeded' },
    };
    first.behave(tooLong);
    const box = await start(undefined, KEYS, (policy) =>
      policy.replace(/endpoints: \[(.*first.*)\]/, 'endpoints: [$1, { provider: first, upstream: best-eu }]'),
    );
    await expectError(await chat(box), 'context_length_exceeded', 'messages');
    expect(keysSeen()).toHaveLength(1);
    const answered = await chat(box, { model: 'auto' });
    expect(answered.status).toBe(200);
    const { platform } = await answerOf(answered);
    expect(platform.attempts.map(({ model, failure }) => `${model} ${failure ?? 'ok'}`)).toEqual([
      'best context',
      'plain ok',
    ]);
    expect(keysSeen()).toHaveLength(2);
  });

  test('requests use the keys in turn', async () => {
    const box = await start();
    await ask(box, 9);
    expect(new Set(keysSeen().slice(0, 3))).toEqual(new Set(Object.values(KEYS)));
    expect(keysSeen().slice(3, 6)).toEqual(keysSeen().slice(0, 3));
    expect(keysSeen().slice(6)).toEqual(keysSeen().slice(0, 3));
  });

  test('a key gets requests in proportion to its weight', async () => {
    const box = await start('[KEY_A, { api_key_env: KEY_B, weight: 3 }]');
    await ask(box, 8);
    expect(keysSeen().filter((key) => key === KEYS.KEY_B)).toHaveLength(6);
    expect(keysSeen().filter((key) => key === KEYS.KEY_A)).toHaveLength(2);
  });

  test('a variable may hold several keys, one a line', async () => {
    const box = await start('[KEYS]', { KEYS: `${KEYS.KEY_A}\r\n\n  ${KEYS.KEY_B}\n` });
    await ask(box, 4);
    expect(keysSeen().toSorted()).toEqual([KEYS.KEY_A, KEYS.KEY_A, KEYS.KEY_B, KEYS.KEY_B].toSorted());
  });

  test('a variable that is not set adds no key, and the provider serves with the others', async () => {
    const box = await start('[KEY_A, KEY_B]', { KEY_B: KEYS.KEY_B });
    await ask(box, 2);
    expect(keysSeen()).toEqual([KEYS.KEY_B, KEYS.KEY_B]);
  });
});

describe('a paused key', () => {
  for (const [what, behaviour, failure] of [
    ['rate-limited', limited, 'rate_limited'],
    ['rejected', { fail: 'auth' }, 'auth'],
  ] as const) {
    test(`a ${what} key is paused, and its request goes on with the next key at once`, async () => {
      const box = await start();
      first.behave(behaveFor(KEYS.KEY_A, behaviour));
      const tried: string[][] = [];
      for (let turn = 0; turn < 9; turn++) {
        const { platform } = await answerOf(await chat(box));
        tried.push(platform.attempts.map((one) => `${one.model} ${one.failure ?? 'ok'}`));
      }
      expect(tried.filter((one) => one.length > 1)).toEqual([[`best ${failure}`, 'best ok']]);
      expect(keysSeen().filter((key) => key === KEYS.KEY_A)).toHaveLength(1);
      expect(keysSeen().filter((key) => key === KEYS.KEY_B).length).toBeGreaterThanOrEqual(4);
      expect(second.requests).toHaveLength(0);
    });
  }

  test('with one key rate-limited and one rejected, the third key answers every request', async () => {
    const box = await start();
    const ways: Record<string, Behaviour> = { [KEYS.KEY_A]: limited, [KEYS.KEY_B]: { fail: 'auth' } };
    first.behave((request) => ways[keyOf(request)] ?? {});
    await ask(box, 6);
    expect(keysSeen().filter((key) => key === KEYS.KEY_C)).toHaveLength(6);
    expect(keysSeen()).toHaveLength(8);
  });

  test('a fault of the provider is not repeated with every key before another model is tried', async () => {
    const box = await start();
    first.behave({ status: 500 });
    const { platform } = await answerOf(await chat(box, { model: 'auto' }));
    expect(platform.attempts.map(({ model, failure }) => `${model} ${failure ?? 'ok'}`)).toEqual([
      'best server',
      'plain ok',
    ]);
    expect(first.requests).toHaveLength(1);
  });
});

describe('the limits and labels of keys', () => {
  test('a key gets no more requests than its own limit, and the other keys take the rest', async () => {
    const box = await start('[{ api_key_env: KEY_A, limits: { requests_per_minute: 2 } }, KEY_B]');
    await ask(box, 9);
    expect(keysSeen().filter((key) => key === KEYS.KEY_A)).toHaveLength(2);
    expect(keysSeen().filter((key) => key === KEYS.KEY_B)).toHaveLength(7);
  });

  test('each key in a variable has the limits of its entry', async () => {
    const box = await start('[{ api_key_env: KEYS, limits: { requests_per_minute: 1 } }, KEY_C]', {
      KEYS: `${KEYS.KEY_A}\n${KEYS.KEY_B}`,
      KEY_C: KEYS.KEY_C,
    });
    await ask(box, 6);
    const count = (key: string) => keysSeen().filter((one) => one === key).length;
    expect([count(KEYS.KEY_A), count(KEYS.KEY_B), count(KEYS.KEY_C)]).toEqual([1, 1, 4]);
  });

  test('the decision, the log and the endpoints name a key by its label', async () => {
    const box = await start('[{ api_key_env: KEY_A, label: team-a }, { api_key_env: KEY_B, label: team-b }]');
    first.behave(behaveFor(KEYS.KEY_A, limited));
    let decision = '';
    while (!keysSeen().includes(KEYS.KEY_A)) decision = (await answerOf(await chat(box))).platform.decision_id;
    const explained = (await (await box.get(`/v1/decisions/${decision}`)).json()) as {
      outcome: { attempts: { failure: string | null; key: string | null }[] };
    };
    expect(explained.outcome.attempts.map(({ failure, key }) => [failure, key])).toEqual([
      ['rate_limited', 'team-a'],
      [null, 'team-b'],
    ]);
    expect(await statesOf(box)).toEqual({ 'team-a': 'cooling', 'team-b': 'healthy' });
    const lines = await waitFor(() => {
      const found = box.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      const failed = found.filter((line) => line.upstream === 'best-upstream' && line.kind === 'rate_limited');
      const answered = found.filter((line) => line.decision === decision && line.endpoint_key !== undefined);
      return failed.length > 0 && answered.length > 0 ? { failed, answered } : null;
    });
    expect(lines.failed.map(({ key }) => key)).toEqual(['team-a']);
    expect(lines.answered.map((line) => line.endpoint_key)).toEqual(['team-b']);
    expect(nets.find('somewhere', [JSON.stringify(explained), ...box.lines].join('\n'))).toEqual([]);
  });
});

describe('the models that a pause concerns', () => {
  for (const [what, behaviour, isOfModel] of [
    ['a rate-limited key is paused only for the model that was called', limited, true],
    ['a rejected key is paused for all models', { fail: 'auth' }, false],
  ] as const) {
    test(what, async () => {
      const box = await start('[KEY_A, KEY_B]', KEYS, (policy) =>
        policy.replace('provider: second', 'provider: first'),
      );
      first.behave(behaveFor(KEYS.KEY_A, behaviour));
      await ask(box, 4);
      expect(keysSeen().filter((key) => key === KEYS.KEY_A)).toHaveLength(1);
      first.behave({});
      first.requests.length = 0;
      for (let turn = 0; turn < 4; turn++) expect((await chat(box, { model: 'plain' })).status).toBe(200);
      expect(keysSeen().filter((key) => key === KEYS.KEY_A)).toHaveLength(isOfModel ? 2 : 0);
    });
  }
});

interface EndpointsAnswer {
  readonly data: readonly { readonly model: string; readonly key: string | null; readonly state: string }[];
}
const statesOf = async (box: Signalbox): Promise<Record<string, string>> => {
  const { data } = (await (await box.get('/admin/endpoints')).json()) as EndpointsAnswer;
  return Object.fromEntries(data.filter(({ model }) => model === 'best').map(({ key, state }) => [key ?? '', state]));
};

describe('what operators see of a pool', () => {
  test('the log, metrics and endpoints name a paused key by its variable, and no key by its value', async () => {
    const box = await start();
    first.behave((request) => {
      if (keyOf(request) === KEYS.KEY_A) return limited;
      const error = { message: `Incorrect API key provided: ${KEYS.KEY_B}` };
      return keyOf(request) === KEYS.KEY_B ? { status: 401, error } : {};
    });
    await ask(box, 4);
    expect(await statesOf(box)).toEqual({ KEY_A: 'cooling', KEY_B: 'misconfigured', KEY_C: 'healthy' });
    const page = await (await fetch(`${box.url}/metrics`)).text();
    expect(page).toMatch(/signalbox_endpoint_state\{provider="first",.*key="KEY_A".*state="cooling"\} 1/);
    expect(page).toMatch(/signalbox_endpoint_state\{provider="second",model="plain",upstream="plain-upstream",state=/);
    // The log has a change of state once it is published, shortly after the answer.
    const paused = await waitFor(() => {
      const lines = box.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      const keys = lines.filter(({ from }) => from === 'healthy').map(({ key }) => key);
      return keys.length >= 2 ? keys : null;
    });
    expect(paused.toSorted()).toEqual(['KEY_A', 'KEY_B']);
    const decided = await box.post('/v1/route', { model: 'best', messages: [{ role: 'user', content: 'Hello' }] });
    const { decision_id: decision } = (await decided.json()) as { decision_id: string };
    const paths = [
      '/admin/endpoints',
      '/admin/policy',
      '/admin/policy/files',
      `/v1/decisions/${decision}`,
      '/v1/models',
    ];
    const answers = await Promise.all(paths.map(async (path) => (await box.get(path)).text()));
    const stored = readdirSync(box.data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
    const shown = [page, ...answers, ...box.lines, ...stored].join('\n');
    expect(nets.find('somewhere', shown)).toEqual([]);
    expect(nets.find('a sample', `a log with ${KEYS.KEY_C}`)).toHaveLength(1);
  });

  test('the explanation for another policy uses the measurements of the keys that this policy lists', async () => {
    const box = await start('[KEY_A, KEY_B]');
    first.behave(behaveFor(KEYS.KEY_A, limited));
    await ask(box, 2);
    const choiceWith = async (keys: string) => {
      const request = { model: 'auto', messages: [{ role: 'user', content: 'Hello' }] };
      const policy = { files: [{ name: 'policy.yaml', text: policyWith(keys) }] };
      const explained = await box.post('/admin/policy/explain', { request, policy });
      expect(explained.status).toBe(200);
      return ((await explained.json()) as { choice: string }).choice;
    };
    expect([await choiceWith('[KEY_A]'), await choiceWith('[KEY_B]'), await choiceWith('[KEY_B, KEY_A]')]).toEqual([
      'plain',
      'best',
      'best',
    ]);
  });

  test('a decision that was made with other keys is repeated with the same result', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'keys');
    writeFileSync(file, `${KEYS.KEY_A}\n${KEYS.KEY_B}\n`);
    const box = await start('[KEYS]', { KEYS_FILE: file });
    first.behave(behaveFor(KEYS.KEY_A, limited));
    await ask(box, 2);
    const { platform } = await answerOf(await chat(box, { model: 'auto' }));
    writeFileSync(file, `${KEYS.KEY_C}\n`);
    await box.post('/admin/policy/reload', {});
    await waitFor(async () => Object.keys(await statesOf(box)).length === 1);
    await ask(box, 1);
    const explained = await (await box.get(`/v1/decisions/${platform.decision_id}`)).json();
    expect(explained).toMatchObject({ choice: 'best', replay: { matches: true } });
    rmSync(folder, { recursive: true });
  });
});

describe('rotated keys', () => {
  const folder = temporaryFolder();
  const file = join(folder, 'keys');
  afterAll(() => rmSync(folder, { recursive: true }));
  const replace = (...keys: readonly string[]) => {
    writeFileSync(`${file}.tmp`, `${keys.join('\n')}\n`);
    renameSync(`${file}.tmp`, file);
  };
  const reload = (box: Signalbox) => box.post('/admin/policy/reload', {});

  test('a pause belongs to the value of a key: it survives another order and new keys, and a new value is not paused', async () => {
    const { KEY_A, KEY_B, KEY_C } = KEYS;
    replace(KEY_A, KEY_B);
    const box = await start('[KEYS]', { KEYS_FILE: file });
    const ways: Record<string, Behaviour> = { [KEY_A]: limited, [KEY_B]: { fail: 'auth' } };
    first.behave((request) => ways[keyOf(request)] ?? {});
    await chat(box);
    expect(await statesOf(box)).toEqual({ 'KEYS#1': 'cooling', 'KEYS#2': 'misconfigured' });
    replace(KEY_C, KEY_B, KEY_A);
    expect((await reload(box)).status).toBe(200);
    expect(await statesOf(box)).toEqual({ 'KEYS#1': 'healthy', 'KEYS#2': 'misconfigured', 'KEYS#3': 'cooling' });
    const before = first.requests.length;
    await ask(box, 3);
    expect(keysSeen().slice(before)).toEqual([KEY_C, KEY_C, KEY_C]);
    replace('provider-secret-delta-4', KEY_B, KEY_A);
    await reload(box);
    expect(await statesOf(box)).toEqual({ 'KEYS#1': 'healthy', 'KEYS#2': 'misconfigured', 'KEYS#3': 'cooling' });
    await ask(box, 1);
    expect(keysSeen().at(-1)).toBe('provider-secret-delta-4');
  });

  test('keys are rotated under load by replacing their file, and no request fails', async () => {
    const { KEY_A, KEY_B, KEY_C } = KEYS;
    replace(KEY_A, KEY_B);
    const box = await start('[KEYS]', { KEYS_FILE: file });
    const known = new Set<string>([KEY_A, KEY_B, KEY_C]);
    first.behave((request) => (known.has(keyOf(request)) ? { betweenChunksMs: 2 } : { fail: 'auth' }));
    const statuses: number[] = [];
    let isOver = false;
    const callers = Array.from({ length: 4 }, async (_, at) => {
      while (!isOver) {
        const response = await chat(box, { stream: at % 2 === 0 });
        await response.text();
        statuses.push(response.status);
        await Bun.sleep(25);
      }
    });
    await waitFor(() => first.requests.length > 20);
    replace(KEY_B, KEY_C);
    await waitFor(() => keysSeen().includes(KEY_C), 8_000);
    const from = first.requests.length;
    await waitFor(() => first.requests.length > from + 20);
    known.delete(KEY_A);
    const late = first.requests.length;
    await waitFor(() => first.requests.length > late + 40);
    isOver = true;
    await Promise.all(callers);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(new Set(keysSeen().slice(late))).toEqual(new Set([KEY_B, KEY_C]));
  });
});

describe('a conversation at a provider with several accounts', () => {
  const pool = `[{ api_key_env: KEY_A, account: main }, { api_key_env: KEY_B, account: main }, KEY_C]`;
  const long = (text: string) => ({ role: 'user', content: `${text} ${'You are a helpful assistant. '.repeat(300)}` });

  test('turns whose prompt is cached use the keys of the account that has the cache, in turn', async () => {
    const box = await start(pool);
    first.behave({ text: 'A fake.' });
    for (let conversation = 0; conversation < 6; conversation++) {
      first.requests.length = 0;
      let messages: object[] = [long(`Conversation ${conversation}.`)];
      for (let turn = 0; turn < 5; turn++) {
        expect((await chat(box, { messages })).status).toBe(200);
        messages = [...messages, { role: 'assistant', content: 'A fake.' }, { role: 'user', content: `And ${turn}?` }];
      }
      const seen = new Set(keysSeen());
      const isOther = seen.has(KEYS.KEY_C);
      expect(seen).toEqual(new Set(isOther ? [KEYS.KEY_C] : [KEYS.KEY_A, KEYS.KEY_B]));
    }
  });

  test('encrypted reasoning goes to keys of the account that wrote it, and to no other account', async () => {
    const box = await start(pool, KEYS, (policy) =>
      policy
        .replaceAll('capabilities: [tools,', 'capabilities: [reasoning, tools,')
        .replace('passthrough: [verbosity]', 'settings: { reasoning_history: reasoning_details }'),
    );
    first.behave({ text: 'A fake.' });
    const details = [{ type: 'reasoning.encrypted', data: 'sealed-by-the-account' }];
    const question = { role: 'user', content: 'What is sealed?' };
    while (keysSeen().at(-1) !== KEYS.KEY_C) await chat(box, { messages: [question] });
    const turn = [
      question,
      { role: 'assistant', content: 'A fake.', reasoning_details: details },
      { role: 'user', content: 'Go on.' },
    ];
    first.requests.length = 0;
    for (let at = 0; at < 4; at++) await chat(box, { messages: turn });
    expect(new Set(keysSeen())).toEqual(new Set([KEYS.KEY_C]));
    expect(first.requests.every(({ text }) => text.includes('sealed-by-the-account'))).toBe(true);
    first.behave(behaveFor(KEYS.KEY_C, limited));
    expect((await chat(box, { messages: turn })).status).toBe(200);
    expect(keysSeen().at(-1)).not.toBe(KEYS.KEY_C);
    expect(first.requests.at(-1)!.text).not.toContain('sealed-by-the-account');
  });
});

describe('a thread that the provider stores', () => {
  const service = useUpstream({ dialect: 'anthropic', key: undefined });
  const keyOfMessage = ({ headers }: RecordedRequest) => headers.get('x-api-key')!;

  test('continues with the keys of its account only, even if all of them are paused', async () => {
    const { KEY_A, KEY_B, KEY_C } = KEYS;
    const keys = '[{ api_key_env: KEY_A, account: main }, { api_key_env: KEY_B, account: main }, KEY_C]';
    const box = await startSignalbox({
      policy: testPolicy({ service: { url: service.url, adapter: 'anthropic' } }, { best: { endpoints: ['service'] } })
        .replace('api_key_env: TEST_UPSTREAM_KEY', `api_keys_env: ${keys}, settings: { threads: true }`)
        .replace('best-upstream', 'claude-haiku-5-5'),
      env: KEYS,
    });
    boxes.push(box);
    const send = (thread: object) =>
      box.post(
        '/v1/messages',
        { model: 'best', max_tokens: 20, thread, messages: [{ role: 'user', content: 'Hello' }] },
        { headers: { authorization: `Bearer ${box.key}`, 'anthropic-beta': 'message-threads-2026-08-12' } },
      );
    const begin = async () => {
      // The fake gives all messages the same ID.
      forgetThreads();
      const { id } = (await (await send({ type: 'create' })).json()) as { id: string };
      return { id, key: keyOfMessage(service.requests.at(-1)!) };
    };
    const accountOf = (key: string) => (key === KEY_C ? 'own' : 'main');
    const used = new Set<string>();
    for (let at = 0; at < 6; at++) {
      const { id, key } = await begin();
      expect((await send({ type: 'continue', previous_message_id: id })).status).toBe(200);
      const next = keyOfMessage(service.requests.at(-1)!);
      expect(accountOf(next)).toBe(accountOf(key));
      used.add(next);
    }
    expect(used).toEqual(new Set([KEY_A, KEY_B, KEY_C]));
    const { id, key } = await begin();
    service.behave((request) => (accountOf(keyOfMessage(request)) === accountOf(key) ? limited : {}));
    service.requests.length = 0;
    expect((await send({ type: 'continue', previous_message_id: id })).ok).toBe(false);
    expect(service.requests.map((one) => accountOf(keyOfMessage(one)))).not.toContain(
      accountOf(key) === 'own' ? 'main' : 'own',
    );
  });
});

test('the models of a wildcard use all keys of the pool, and rules apply at each key', async () => {
  const box = await start(
    '[KEY_A, KEY_B]',
    KEYS,
    (policy) =>
      `${policy.replace(
        'models:\n',
        `models:\n  "any/*": { provider: first, unknown_price: { as: { input: 1, output: 2, basis: own, as_of: 2026-11-01 } } }\n`,
      )}\nconstraints:\n  - { name: no-dear, require: "model.price.output <= 10.0" }\n`,
  );
  first.behave((request) => (keyOf(request) === KEYS.KEY_A ? { status: 429, headers: { 'retry-after': '600' } } : {}));
  for (let turn = 0; turn < 4; turn++) expect((await chat(box, { model: 'any/thing' })).status).toBe(200);
  expect(keysSeen().filter((key) => key === KEYS.KEY_B)).toHaveLength(4);
  expect(keysSeen().filter((key) => key === KEYS.KEY_A)).toHaveLength(1);
});
