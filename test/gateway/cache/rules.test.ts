import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { quietFor, waitFor } from '../../support/answers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { CACHE_HEADER, cachingServer, missAndHit } from './support.ts';

const upstream = useUpstream();

const bodyOf = (question: string, more = {}) => ({
  model: 'best',
  temperature: 0,
  messages: [{ role: 'user', content: question }],
  ...more,
});

const chat = (box: Signalbox, question: string, more: object = {}, headers: Record<string, string> = {}) =>
  box.post('/v1/chat/completions', bodyOf(question, more), { headers });

const as = (key: string, more: Record<string, string> = {}) => ({ authorization: `Bearer ${key}`, ...more });

const resultOf = async (sending: Promise<Response>): Promise<string | null> => {
  const response = await sending;
  await response.text();
  return response.headers.get(CACHE_HEADER);
};

/** Returns the record of an answer, once it is written. */
const decisionOf = (box: Signalbox, { headers }: Pick<Response, 'headers'>) =>
  waitFor(async () => {
    const response = await box.get(`/v1/decisions/${headers.get('x-signalbox-decision-id')}`);
    return response.ok ? ((await response.json()) as { readonly outcome: unknown }) : null;
  });

/** Stores the answer to a question. */
const store = (box: Signalbox, question: string, more = {}, headers = {}) =>
  missAndHit(upstream, () => chat(box, question, more, headers));

/** Whether an answer never comes from the cache, although its request is sent again for a while. */
const staysMiss = (send: () => Promise<string | null>) => quietFor(300, 'a hit', async () => (await send()) === 'hit');

let boxes: Signalbox[] = [];
const open = async (cache: string, models = {}) => {
  const box = await cachingServer(upstream.url, cache, models);
  boxes.push(box);
  return box;
};
afterAll(async () => {
  await Promise.all(boxes.map((box) => box.stop()));
  boxes = [];
});

describe('the cache of a key', () => {
  let box: Signalbox;
  beforeAll(async () => {
    box = await open('cache: {}\n');
  });

  test('applies only to requests with `temperature: 0` or a `seed`, unless the policy says otherwise', async () => {
    await store(box, 'reproducible');
    await store(box, 'seeded', { temperature: 1, seed: 7 });
    expect(await resultOf(chat(box, 'sampled', { temperature: 1 }))).toBeNull();
    expect(await resultOf(chat(box, 'usual', { temperature: undefined }))).toBeNull();
  });

  test('tells requests apart by every member of the body', async () => {
    await store(box, 'alike');
    const others = [
      { max_tokens: 9 },
      { metadata: { a: '1' } },
      { user: 'ada' },
      { stream: true },
      { stop: 'x' },
      { model: 'auto' },
      { budget_limit: 5 },
    ];
    for (const more of others) expect(await resultOf(chat(box, 'alike', more))).toBe('miss');
    expect(await resultOf(chat(box, 'alike'))).toBe('hit');
  });

  test('gives no key the answer of another, whatever its headers say', async () => {
    await store(box, 'private');
    const other = await box.makeKey();
    const forged = {
      ...as(other),
      'x-signalbox-key': box.key,
      'x-api-key-id': box.key,
      'x-forwarded-user': 'admin',
      'x-signalbox-cache': 'hit',
      'cache-control': 'only-if-cached',
    };
    expect(await resultOf(chat(box, 'private', {}, forged))).toBe('miss');
    expect(await resultOf(chat(box, 'private'))).toBe('hit');
  });

  test('obeys `no-store`, `no-cache` and `max-age` of a request', async () => {
    await store(box, 'controlled');
    expect(await resultOf(chat(box, 'controlled', {}, { 'cache-control': 'no-store' }))).toBeNull();
    expect(await resultOf(chat(box, 'controlled', {}, { 'cache-control': 'private, no-cache' }))).toBe('miss');
    expect(await resultOf(chat(box, 'controlled', {}, { 'cache-control': 'max-age=60' }))).toBe('hit');
    await waitFor(
      async () => (await resultOf(chat(box, 'controlled', {}, { 'cache-control': 'max-age=0' }))) === 'miss',
    );
    await staysMiss(() => resultOf(chat(box, 'never', {}, { 'cache-control': 'no-store' })));
    expect(await resultOf(chat(box, 'never'))).toBe('miss');
  });

  test('stores no error, and no answer that was cut or refused', async () => {
    upstream.behave(() => ({ status: 500 }));
    await staysMiss(() => resultOf(chat(box, 'failing')));
    upstream.behave(() => ({ text: 'half', finish: 'length' }));
    await staysMiss(() => resultOf(chat(box, 'too long')));
    upstream.behave(() => ({ refusal: 'I cannot help with that.' }));
    await staysMiss(() => resultOf(chat(box, 'refused')));
    upstream.behave(() => ({ text: ['half', 'of it'], cutAfter: 1 }));
    await staysMiss(() => resultOf(chat(box, 'broken', { stream: true })));
    upstream.behave({});
    expect(await resultOf(chat(box, 'broken', { stream: true }))).toBe('miss');
  });

  test('is erased with its key', async () => {
    const key = await box.makeKey('--name', 'brief');
    await store(box, 'brief', {}, as(key));
    const id = key.split('_')[2]!;
    expect((await box.run('keys', 'revoke', id)).code).toBe(0);
    expect(await resultOf(chat(box, 'brief'))).toBe('miss');
  });

  test('a repeat with an `Idempotency-Key` gets the stored answer of its name before the cache is read', async () => {
    await store(box, 'named');
    const named = { 'idempotency-key': 'one' };
    const first = await chat(box, 'named', {}, named);
    expect(first.headers.get(CACHE_HEADER)).toBe('hit');
    const again = await chat(box, 'named', {}, named);
    expect(again.headers.get('x-signalbox-replayed')).toBe('true');
    expect(await again.text()).toBe(await first.text());
    expect(await box.run('ledger', 'audit')).toMatchObject({ code: 0 });
  });
});

describe('a hit', () => {
  const BUDGET = 'budgets: [{ name: all, limit_credits: 1, window: day, match: \'key.labels.thin == "yes"\' }]\n';

  test('at no price is served with an exhausted budget, and at a price it is refused', async () => {
    for (const [price, status] of [
      [0, 200],
      [0.4, 402],
    ] as const) {
      const box = await open(`cache: { price_credits: ${price} }\n${BUDGET}`);
      const key = await box.makeKey('--label', 'thin=yes');
      const { hit } = await store(box, 'cheap', { max_tokens: 10 }, as(key));
      expect(hit.headers.get('x-signalbox-credits')).toBe(String(price));
      await waitFor(async () => (await chat(box, crypto.randomUUID(), { max_tokens: 30 }, as(key))).status === 402);
      const statuses = await waitFor(async () => {
        const response = await chat(box, 'cheap', { max_tokens: 10 }, as(key));
        return price === 0 || response.status === 402 ? response.status : null;
      });
      expect(statuses).toBe(status);
      expect(await box.run('ledger', 'audit')).toMatchObject({ code: 0 });
    }
  });

  test('is used only while the model that answered is on the lists of its key', async () => {
    const models = { other: { endpoints: ['fake'], price: { input: 4, output: 16 }, quality: 0.5 } };
    const box = await open('cache: {}\n', models);
    const key = await box.makeKey('--name', 'listed');
    const { hit } = await store(box, 'for a selector', { model: 'auto' }, as(key));
    const chosen = hit.headers.get('x-signalbox-model')!;
    const id = key.split('_')[2]!;
    expect((await box.run('keys', 'change', id, '--not-model', chosen)).code).toBe(0);
    const response = await chat(box, 'for a selector', { model: 'auto' }, as(key));
    expect([response.headers.get(CACHE_HEADER), response.headers.get('x-signalbox-model')]).toEqual([
      'miss',
      chosen === 'best' ? 'other' : 'best',
    ]);
  });

  test('counts under the limits of its key', async () => {
    const box = await open('cache: {}\n');
    const key = await box.makeKey('--rpm', '20');
    await store(box, 'limited', {}, as(key));
    const response = await waitFor(async () => {
      const found = await chat(box, 'limited', {}, as(key));
      return found.status === 200 ? null : found;
    });
    expect(response.status).toBe(429);
  });
});

describe('guards on answers', () => {
  const guard = (action: string) =>
    `guards:\n  - { name: falcon, guard: words, settings: { deny: [falcon] }, on: [output], on_match: ${action} }\ncache: {}\n`;

  test('an answer that a guard blocked or masked is not stored', async () => {
    for (const action of ['block', 'mask']) {
      const box = await open(guard(action));
      upstream.behave({ text: 'The falcon flies.' });
      await staysMiss(() => resultOf(chat(box, 'Which bird?')));
      upstream.behave({});
    }
  });

  test('inspect an answer of the cache, too', async () => {
    const box = await open(guard('flag'));
    upstream.behave({ text: 'The falcon flies.' });
    const { hit } = await store(box, 'Which bird?');
    upstream.behave({});
    const decision = hit.headers.get('x-signalbox-decision-id')!;
    const line = await waitFor(() => box.lines.find((one) => one.includes(decision)));
    expect(JSON.parse(line)).toMatchObject({ cache: 'hit', guards: 'falcon/output:flag=1' });
    const { outcome } = await decisionOf(box, hit);
    expect(outcome).toMatchObject({
      status: 'completed',
      cache: 'hit',
      guards: [{ guard: 'falcon', side: 'output', action: 'flag', matches: { word: 1 } }],
    });
  });

  test('that end an answer of the cache are in its record with their verdict, as JSON and as a stream', async () => {
    let denied = 0;
    const service = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => new Response(null, { status: denied-- > 0 ? 403 : 200 }),
    });
    try {
      const box = await open(
        `guards:\n  - { name: outside, guard: webhook, service: { url: "http://127.0.0.1:${service.port}", allow_private_network: true }, on: [output], on_match: block }\ncache: {}\n`,
      );
      for (const stream of [false, true]) {
        await store(box, 'Which bird?', { stream });
        denied = 1;
        const blocked = await chat(box, 'Which bird?', { stream });
        expect(await blocked.text()).toContain('content_blocked');
        const { outcome } = await decisionOf(box, blocked);
        expect(outcome).toMatchObject({
          status: 'broken',
          error: 'content_blocked',
          credits_consumed: 0,
          cache: 'hit',
          guards: [{ guard: 'outside', side: 'output', action: 'block' }],
        });
      }
    } finally {
      await service.stop(true);
    }
  });
});

describe('a wider partition', () => {
  const reasonable = { labels: ['--label', 'project=one'], others: ['--label', 'project=two'] };

  test('shares answers among keys with equal labels and models, and only among them', async () => {
    const box = await open('cache: { partition: everyone }\n');
    const [first, second] = [await box.makeKey(...reasonable.labels), await box.makeKey(...reasonable.labels)];
    const stranger = await box.makeKey(...reasonable.others);
    const narrow = await box.makeKey(...reasonable.labels, '--model', 'best');
    await store(box, 'shared', {}, as(first));
    expect(await resultOf(chat(box, 'shared', {}, as(second)))).toBe('hit');
    expect(await resultOf(chat(box, 'shared', {}, as(stranger)))).toBe('miss');
    expect(await resultOf(chat(box, 'shared', {}, as(narrow)))).toBe('miss');
  });

  test('loses the answers of a line of child keys when a key above them is revoked, and an answer in progress is not stored', async () => {
    const box = await open('cache: { partition: everyone }\n');
    const childOf = async (key: string, scopes: string[]) => {
      const response = await box.post('/v1/keys', { scopes }, { headers: as(key) });
      return ((await response.json()) as { key: string }).key;
    };
    const above = await box.makeKey('--name', 'above', '--scope', 'chat', '--scope', 'delegate');
    const child = await childOf(above, ['chat', 'delegate']);
    const grandchild = await childOf(child, ['chat']);
    const stranger = await box.makeKey('--name', 'stranger');
    await store(box, 'of a child', {}, as(child));
    await store(box, 'of a grandchild', {}, as(grandchild));
    await store(box, 'of a stranger', {}, as(stranger));
    upstream.next({ headersAfterMs: 1_000 });
    const running = resultOf(chat(box, 'in progress', {}, as(grandchild)));
    await waitFor(() => upstream.requests.some(({ body }) => JSON.stringify(body).includes('in progress')));
    expect((await box.run('keys', 'revoke', above.split('_')[2]!)).code).toBe(0);
    expect(await running).toBe('miss');
    // Answers are stored in their order, so an answer that was stored afterwards shows that this one was not.
    await store(box, 'afterwards', {}, as(stranger));
    for (const question of ['of a child', 'of a grandchild', 'in progress'])
      expect(await resultOf(chat(box, question, {}, as(stranger)))).toBe('miss');
    expect(await resultOf(chat(box, 'of a stranger', {}, as(stranger)))).toBe('hit');
  });

  test('of a team has no entries for a key without a team', async () => {
    const box = await open('cache: { partition: team }\n');
    expect(await resultOf(chat(box, 'alone'))).toBeNull();
  });
});
