import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** What the cache did: its hits, misses and savings, by model and key, why it did not apply, and what it stores. */
const upstream = useUpstream();

interface Counts {
  readonly hits: number;
  readonly partial: number;
  readonly misses: number;
  readonly hit_share: number | null;
  readonly saved_credits: number;
}
interface Status extends Counts {
  readonly requests: number;
  readonly counted_from: string | null;
  readonly charged_credits: number;
  readonly settings: object | null;
  readonly stored: { readonly answers: number; readonly bytes: number; readonly oldest_at: string | null } | null;
  readonly skipped: readonly { readonly reason: string; readonly requests: number }[];
  readonly data: readonly (Counts &
    Readonly<Record<'model' | 'key_id' | 'key_name', string | null>> & { by: string })[];
}

const rowsBy = ({ data }: Pick<Status, 'data'>, by: string) => data.filter((row) => row.by === by);

let box: Signalbox;
const keys: Record<string, { readonly id: string; readonly key: string }> = {};

async function makeKey(name: string, more: object = {}): Promise<void> {
  const response = await box.post('/admin/keys', { name, ...more });
  keys[name] = JSON.parse(await response.text());
}

const jsonAt = async <Body>(path: string, key = box.key): Promise<Body> => {
  const response = await box.get(path, withKey(key));
  expect([path, response.status]).toEqual([path, 200]);
  return JSON.parse(await response.text());
};
const statusOf = (query = '', key = box.key) => jsonAt<Status>(`/admin/cache?${query}`, key);

/** Sends a chat, and returns its price and its headers. */
async function chat(name: string, content: string, more: object = {}, headers: Record<string, string> = {}) {
  const body = { model: 'best', temperature: 0, messages: [{ role: 'user', content }], ...more };
  const response = await box.post('/v1/chat/completions', body, {
    headers: { authorization: `Bearer ${keys[name]!.key}`, ...headers },
  });
  const { platform } = JSON.parse(await response.text());
  return { price: platform.credits_consumed as number, result: response.headers.get('x-signalbox-cache') };
}

/** Repeats a chat until the cache answers it. Returns the price of the answers of models that came before. */
async function hit(name: string, content: string): Promise<{ readonly price: number; readonly misses: number }> {
  let misses = 0;
  let price = 0;
  await waitFor(async () => {
    const sent = await chat(name, content);
    if (sent.result === 'hit') return true;
    misses++;
    price = sent.price;
    return null;
  });
  return { price, misses };
}

const started = (cache: string) =>
  startSignalbox({
    policy: testPolicy(
      { fake: upstream.url },
      {
        best: { endpoints: ['fake'], price: { input: 4, output: 16 } },
      },
      cache,
    ),
    env: UPSTREAM_ENV,
  });

describe('the status of the cache', () => {
  let asked: { readonly price: number; readonly misses: number };

  beforeAll(async () => {
    box = await started('cache: { when: key.labels.kind != "other", price_credits: 0.00001 }\n');
    await makeKey('faq');
    await makeKey('others');
    asked = await hit('faq', 'When do you open?');
    await chat('faq', 'When do you open?');
    await chat('others', 'When do you open?');
    await chat('others', 'Sampled.', { temperature: 1 });
    await chat('others', 'Not stored.', {}, { 'cache-control': 'no-store' });
    await waitFor(async () => (await statusOf()).requests >= asked.misses + 5);
  });
  afterAll(() => box.stop());

  test('counts hits, misses and their share, and the price that hits saved without their own price', async () => {
    const status = await statusOf();
    const misses = asked.misses + 1;
    expect(status).toMatchObject({
      ...{ requests: misses + 4, counted_from: null, hits: 2, partial: 0, misses, charged_credits: 0.00002 },
      settings: { partition: 'key', ttl_seconds: 3_600, price_credits: 0.00001, is_conditional: true, sampled: false },
      skipped: expect.arrayContaining([
        { reason: 'sampled', requests: 1 },
        { reason: 'no_store', requests: 1 },
      ]),
    });
    expect(asked.price).toBeGreaterThan(0);
    expect(status.hit_share).toBeCloseTo(2 / (misses + 2), 9);
    expect(status.saved_credits).toBeCloseTo(2 * (asked.price - 0.00001), 9);
    expect(rowsBy(status, 'model')).toMatchObject([
      { model: 'best', hits: 2, misses, saved_credits: status.saved_credits },
    ]);
  });

  test('names the keys with their own figures, and can be limited to a key, a model or a period', async () => {
    const status = await statusOf();
    expect(rowsBy(status, 'key')).toMatchObject([
      { key_id: keys.faq!.id, key_name: 'faq', hits: 2, misses: asked.misses },
      { key_id: keys.others!.id, key_name: 'others', hits: 0, misses: 1, hit_share: 0, saved_credits: 0 },
    ]);
    expect(await statusOf(`key=${keys.others!.id}`)).toMatchObject({ requests: 3, hits: 0, misses: 1 });
    expect(await statusOf('model=best')).toMatchObject({ hits: 2 });
    expect(await statusOf('to=2026-01-02')).toMatchObject({ requests: 0, hit_share: null, data: [] });
  });

  test('says how many answers are stored, with their size, only to those who may see all keys', async () => {
    const stored = await waitFor(async () => {
      const { stored } = await statusOf();
      return stored?.answers === 2 ? stored : null;
    });
    expect(stored.bytes).toBeGreaterThan(100);
    expect(Date.parse(stored.oldest_at!)).toBeWithin(Date.now() - 600_000, Date.now() + 1);
    await makeKey('reports', { scopes: ['report'] });
    const reported = await statusOf('', keys.reports!.key);
    expect(reported).toMatchObject({ hits: 2, stored: { answers: 2 } });
    expect(rowsBy(reported, 'key')).toMatchObject([
      { key_id: null, key_name: 'faq' },
      { key_id: null, key_name: 'others' },
    ]);
    expect((await box.get('/admin/cache', withKey(keys.faq!.key))).status).toBe(403);
  });

  test('the command prints the same with a server, and the counts from the database alone', async () => {
    const run = async (...args: string[]) => {
      const { out, err, code } = await box.run('cache', 'status', ...args);
      expect({ err, code }).toEqual({ err: '', code: 0 });
      return out;
    };
    const { from: _, to: __, ...served } = JSON.parse(await run('--json'));
    const { hits, misses, data } = await statusOf();
    expect(served).toMatchObject({ hits, misses, data });
    const offline = JSON.parse(await run('--json', '--offline'));
    expect(offline).toMatchObject({ hits, misses, data, stored: null, settings: null });
    const text = await run();
    for (const shown of ['best', 'faq', 'others', '2 hits', '1 sampled', '2 answers']) expect(text).toContain(shown);
  });

  test('a decision and the list of decisions say what the cache did, or why it did not apply', async () => {
    const { data } = await jsonAt<{ data: { id: string; cache: string | null }[] }>(
      '/admin/decisions?status=completed',
    );
    expect(new Set(data.map(({ cache }) => cache))).toEqual(new Set(['hit', 'miss', 'sampled', 'no_store']));
    for (const { id, cache } of data) {
      const { outcome } = await jsonAt<{ outcome: { cache: string | null } }>(`/v1/decisions/${id}`);
      expect(outcome.cache).toBe(cache);
    }
  });
});

test('without a cache, requests count as neither hits nor misses, and no settings are shown', async () => {
  box = await started('');
  try {
    await makeKey('plain');
    await chat('plain', 'Hi.');
    const status = await waitFor(async () => {
      const found = await statusOf();
      return found.requests === 1 ? found : null;
    });
    expect(status).toMatchObject({ hits: 0, misses: 0, skipped: [], data: [], settings: null });
    expect(status.stored).toEqual({ answers: 0, bytes: 0, oldest_at: null });
  } finally {
    await box.stop();
  }
});
