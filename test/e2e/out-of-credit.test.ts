import { describe, expect, test } from 'bun:test';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** The answers that callers get if a provider's account has no credit, or if the provider limits its request rate. */
const poor = useUpstream();
const rich = useUpstream();
const bare = useUpstream();
const slow = useUpstream();

const box = useSignalbox(() => ({
  policy: testPolicy(
    { poor: poor.url, rich: rich.url, bare: bare.url, slow: slow.url, brief: slow.url },
    {
      alone: { endpoints: ['poor'] },
      twin: { endpoints: ['poor', 'poor'] },
      spared: { endpoints: ['poor', 'rich'] },
      large: { endpoints: ['bare'] },
      long: { endpoints: ['slow'] },
      short: { endpoints: ['brief'] },
    },
    'gateway: { retries_max: 0 }\n',
  ),
}));

const messages = [{ role: 'user', content: 'Hi' }];
const chat = (model: string, more: object = {}) => box.post('/v1/chat/completions', { model, messages, ...more });
const reload = () => box.post('/admin/policy/reload', {});
const calls = () => poor.requests.length;

describe('a provider whose account has no credit', () => {
  test('an account without credit is a 503 without a time to retry, not a rate limit', async () => {
    poor.next({ fail: 'billing' });
    const response = await chat('alone');
    const { message } = await expectError(response, 'upstream_out_of_credit');
    expect(message).toContain('has no credit left');
    expect([response.headers.get('retry-after'), response.headers.get('retry-after-ms')]).toEqual([null, null]);
  });

  test('an account without credit pauses the whole provider: further requests get the same answer without a call', async () => {
    const before = calls();
    for (const [path, body] of [
      ['/v1/chat/completions', { messages }],
      ['/v1/messages', { messages, max_tokens: 20 }],
      ['/v1/responses', { input: 'Hi', store: false }],
      ['/v1/route', { messages }],
    ] as const) {
      const response = await box.post(path, { model: 'twin', ...body });
      const error = (await response.json()) as { error: { type: string; details: Record<string, unknown> } };
      expect([response.status, response.headers.get('x-should-retry'), response.headers.has('retry-after')]).toEqual([
        503,
        'false',
        false,
      ]);
      expect(error.error.type).toBe(path === '/v1/messages' ? 'api_error' : 'server_error');
      expect(error.error.details.unavailable).toEqual([{ model: 'twin', state: 'out_of_credit' }]);
    }
    expect(calls()).toBe(before);
  });

  test('other endpoints serve the request if an account has no credit', async () => {
    expect((await reload()).status).toBe(200);
    poor.next({ fail: 'billing' });
    const { platform } = await answerOf(await chat('spared'));
    expect(platform.attempts).toMatchObject([{ provider: 'poor', failure: 'credit' }, { provider: 'rich' }]);
    const before = calls();
    const next = await answerOf(await chat('spared', { stream: false }));
    expect(next.platform.attempts).toMatchObject([{ provider: 'rich', failure: null }]);
    expect(calls()).toBe(before);
  });

  test('other endpoints of a provider without credit are skipped in the same request', async () => {
    expect((await reload()).status).toBe(200);
    const before = calls();
    poor.next({ fail: 'billing' });
    await expectError(await chat('twin'), 'upstream_out_of_credit');
    expect(calls()).toBe(before + 1);
  });

  test('the log, the metrics and the list of endpoints show an account without credit', async () => {
    const line = await waitFor(() => box.lines.find((text) => text.includes('has no credit left')));
    expect(JSON.parse(line)).toMatchObject({ level: 'error', provider: 'poor', why: 'credit 429' });
    const page = await (await box.get('/metrics')).text();
    expect(page).toMatch(/signalbox_endpoint_state\{[^}]*model="alone"[^}]*state="out_of_credit"[^}]*\} 1/);
    expect(page).toMatch(/signalbox_attempts_total\{[^}]*provider="poor"[^}]*outcome="credit"[^}]*\} \d/);
    const { data } = (await (await box.get('/admin/endpoints')).json()) as { data: { model: string; state: string }[] };
    expect(data.find(({ model }) => model === 'alone')?.state).toBe('out_of_credit');
  });

  test('a 402 without further details refuses only the request, which may be too expensive', async () => {
    await answerOf(await chat('large'));
    bare.next({ status: 402, error: { message: 'This request requires more credits, or fewer max_tokens.' } });
    await expectError(await chat('large'), 'upstream_out_of_credit');
    expect((await chat('large')).status).toBe(200);
  });
});

describe('a provider that limits its request rate', () => {
  test('a rate limit for longer than SDKs wait says not to retry at once', async () => {
    slow.next({ status: 429, headers: { 'retry-after': '120' } });
    const response = await chat('long');
    await expectError(response, 'upstream_rate_limited', null, false);
    expect(response.headers.get('retry-after')).toBe('120');
  });

  test('a rate limit also applies to the next requests, with the rest of the pause and without a call', async () => {
    const before = slow.requests.length;
    const response = await chat('long');
    const { details } = await expectError(response, 'upstream_rate_limited', null, false);
    expect(Number(response.headers.get('retry-after'))).toBeWithin(100, 121);
    expect(details).toEqual({ unavailable: [{ model: 'long', state: 'cooling' }] });
    expect(slow.requests.length).toBe(before);
  });

  test('a rate limit of a minute or less says to retry after that time', async () => {
    slow.next({ status: 429, headers: { 'retry-after': '50' } });
    await expectError(await chat('short'), 'upstream_rate_limited');
    const response = await chat('short');
    await expectError(response, 'upstream_rate_limited');
    expect(Number(response.headers.get('retry-after'))).toBeWithin(40, 51);
  });
});
