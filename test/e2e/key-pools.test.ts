import { afterEach, describe, expect, test } from 'bun:test';
import { answerOf } from '../support/answers.ts';
import type { Behaviour, RecordedRequest } from '../support/fake-upstream.ts';
import { testPolicy } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** Several keys of one provider, as callers, the provider and operators see them. */
const KEYS = { KEY_A: 'provider-secret-alpha-1', KEY_B: 'provider-secret-bravo-2', KEY_C: 'provider-secret-carol-3' };
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

const policyWith = (keys: string, more = ''): string =>
  testPolicy(
    { first: first.url, second: second.url },
    { best: { endpoints: ['first'], quality: 0.9 }, plain: { endpoints: ['second'], quality: 0.5 } },
    more,
  ).replace('api_key_env: TEST_UPSTREAM_KEY', `api_keys_env: ${keys}`);

async function start(keys = '[KEY_A, KEY_B, KEY_C]', env: Readonly<Record<string, string>> = KEYS): Promise<Signalbox> {
  const box = await startSignalbox({
    policy: policyWith(keys),
    env: { TEST_UPSTREAM_KEY: 'provider-secret-second', ...env },
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
    expect(keysSeen().toSorted()).toEqual([KEYS.KEY_A, KEYS.KEY_A, KEYS.KEY_B, KEYS.KEY_B]);
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
