import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import { waitFor } from '../../support/answers.ts';
import { startBench } from '../../support/dialect-bench.ts';
import { testPolicy } from '../../support/policies.ts';
import { useSignalbox, useUpstream } from '../../support/use.ts';

/** Token counts that Signalbox requests from the model's own service, through the official SDK. */
const messages = [{ role: 'user' as const, content: 'Say hello.' }];
const body = { model: 'best', messages };

describe.each(['anthropic', 'gemini'] as const)('a count for a model of %s', (dialect) => {
  const bench = startBench(dialect);
  let client: Anthropic;
  beforeAll(() => {
    client = new Anthropic({ apiKey: bench.box.key, baseURL: bench.box.url, maxRetries: 0 });
  });
  beforeEach(() => bench.upstream.behave({}));
  const isCount = ({ path }: { readonly path: string }) => /count_?tokens$/i.test(path);

  test('the service counts the complete prompt, and the count costs nothing', async () => {
    const spent = async () => {
      const usage = (await (await bench.box.get('/v1/usage')).json()) as Record<string, unknown>;
      return { ...usage, counted_until: null };
    };
    const before = await spent();
    bench.upstream.next({ usage: { prompt_tokens: 1_234 } });
    const tools = [{ name: 'look', description: 'Looks.', input_schema: { type: 'object' as const } }];
    const counted = await client.messages.countTokens({ ...body, system: 'Be brief.', tools });
    expect<unknown>(counted).toEqual({ input_tokens: 1_234, basis: 'provider' });
    const asked = bench.upstream.requests.at(-1)!;
    expect([isCount(asked), asked.text.includes('Be brief.'), asked.text.includes('look')]).toEqual([true, true, true]);
    expect(await spent()).toEqual(before);
  });

  test('a count for a selector is an estimate: Signalbox calls no service', async () => {
    const before = bench.upstream.requests.length;
    expect(await client.messages.countTokens({ ...body, model: 'auto' })).toMatchObject({
      basis: 'estimated',
    } as never);
    expect(bench.upstream.requests.length).toBe(before);
  });

  test('if the service refuses a count, Signalbox returns an estimate, and calls the service again for the next count', async () => {
    bench.upstream.next({ fail: 'context' });
    expect(await client.messages.countTokens(body)).toMatchObject({ basis: 'estimated' } as never);
    expect(await client.messages.countTokens(body)).toMatchObject({ basis: 'provider' } as never);
  });

  test.each(['0', '-3', '1.5'])('a reported count of %s tokens is ignored', async (tokens) => {
    const before = bench.upstream.requests.length;
    const name = dialect === 'gemini' ? 'totalTokens' : 'input_tokens';
    bench.upstream.behave({ raw: [`{"${name}": ${tokens}}`] });
    // Each case uses a model without earlier counts, because Signalbox avoids an endpoint that failed to count for a while.
    const model = { '0': 'best', '-3': 'vendor/plain', '1.5': 'hasty' }[tokens]!;
    expect(await client.messages.countTokens({ ...body, model })).toMatchObject({ basis: 'estimated' } as never);
    expect(bench.upstream.requests.length).toBe(before + 1);
  });
});

describe('a count by Anthropic', () => {
  const upstream = useUpstream({ dialect: 'anthropic' });
  const box = useSignalbox(() => ({
    policy: testPolicy({ one: { url: upstream.url, adapter: 'anthropic' } }, { best: { endpoints: ['one'] } }),
  }));

  test('Signalbox does not check constraints of an answer, which the counting service does not receive', async () => {
    const constraints = { min_output_tokens: 5_000, max_latency_ms: 1 };
    const answer = await box.post('/v1/messages/count_tokens', { ...body, constraints });
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ basis: 'provider' })]);
    expect(upstream.requests.at(-1)!.body).not.toHaveProperty('constraints');
  });

  test('Anthropic receives the prompt and its headers unchanged, without Signalbox’s own fields', async () => {
    const mark = { cache_control: { type: 'ephemeral' } };
    const sent = {
      model: 'best',
      system: [{ type: 'text', text: 'Be brief.', ...mark }],
      messages,
      thinking: { type: 'enabled', budget_tokens: 2_000 },
      context_management: { edits: [] },
    };
    const headers = { 'anthropic-beta': 'context-management-2025-06-27', 'x-claude-code-session-id': 's-1' };
    const answer = await box.post('/v1/messages/count_tokens', { ...sent, budget_limit: 1 }, { headers });
    expect(await answer.json()).toMatchObject({ basis: 'provider' });
    const got = upstream.requests.at(-1)!;
    expect(got.text).toBe(JSON.stringify({ ...sent, model: 'best-upstream' }));
    expect(got.headers.get('anthropic-beta')).toBe(headers['anthropic-beta']);
    expect(got.headers.get('x-claude-code-session-id')).toBeNull();
  });

  test('after a failed count Signalbox returns an estimate, keeps the endpoint healthy, and requests no count for a while', async () => {
    const counts = () => upstream.requests.filter(({ path }) => path.endsWith('count_tokens')).length;
    const before = counts();
    const asked = async () => {
      const answer = await box.post('/v1/messages/count_tokens', body);
      expect([answer.status, await answer.json()]).toMatchObject([200, { basis: 'estimated' }]);
      return counts() - before;
    };
    // These errors concern the prompt, not the endpoint.
    for (const fail of ['not_found', 'rejected', 'context'] as const) upstream.next({ fail });
    expect([await asked(), await asked(), await asked()]).toEqual([1, 2, 3]);
    upstream.behave(({ path }) => (path.endsWith('count_tokens') ? { fail: 'server' } : {}));
    expect([await asked(), await asked(), await asked()]).toEqual([4, 4, 4]);
    expect((await box.post('/v1/messages', { ...body, max_tokens: 10 })).status).toBe(200);
  });
});

describe('a count of a prompt that the policy allows to only one provider', () => {
  const far = useUpstream({ dialect: 'anthropic' });
  const near = useUpstream({ dialect: 'anthropic' });
  const box = useSignalbox(() => ({
    policy: testPolicy(
      { far: { url: far.url, adapter: 'anthropic' }, near: { url: near.url, adapter: 'anthropic' } },
      { best: { endpoints: ['far', 'near'] } },
      `constraints:
  - name: secrets-stay-near
    when: 'request.metadata["secret"] != ""'
    require: 'endpoint.provider == "near"'
`,
    ),
  }));

  test('Signalbox requests the count from the allowed provider', async () => {
    const count = (more: object) => box.post('/v1/messages/count_tokens', { ...body, ...more });
    expect(await (await count({ metadata: { secret: 'yes' } })).json()).toMatchObject({ basis: 'provider' });
    expect([far.requests.length, near.requests.length]).toEqual([0, 1]);
    expect(await (await count({})).json()).toMatchObject({ basis: 'provider' });
    expect([far.requests.length, near.requests.length]).toEqual([1, 1]);
  });

  test('Signalbox requests the count from the next endpoint if one is down', async () => {
    far.next({ fail: 'server' });
    const answer = await box.post('/v1/messages/count_tokens', body);
    expect(await answer.json()).toMatchObject({ basis: 'provider' });
    expect(near.requests.at(-1)!.path).toEndWith('count_tokens');
  });
});

describe('a count that waits for its service', () => {
  const upstream = useUpstream({ dialect: 'anthropic' });
  const box = useSignalbox(() => ({
    policy: testPolicy(
      { one: { url: upstream.url, adapter: 'anthropic' } },
      { best: { endpoints: ['one'] } },
      `gateway: { retries_max: 0, drop_tools: [web_search_20250305] }
rate_limits: [{ name: one-stream, each: key, match: "true", concurrent_streams: 1 }]
budgets: [{ name: all, each: key, limit_credits: 1000, window: total }]
`,
    ),
  }));
  /** Remove the time of the report, which differs. */
  const usage = async () => {
    const { counted_until: _, ...sums } = (await (await box.get('/v1/usage')).json()) as Record<string, unknown>;
    return sums;
  };
  const decisions = async () => ((await (await box.get('/admin/decisions')).json()) as { data: unknown[] }).data;

  test('while a count waits for its service, it holds no money, takes no stream of its key, and leaves no decision and no charge', async () => {
    const before = { usage: await usage(), decisions: await decisions() };
    expect(before).toMatchObject({ usage: { funds: [{ open_reservations: 0 }] }, decisions: [] });
    upstream.next({ hang: 'headers' });
    const leaving = new AbortController();
    const { signal } = leaving;
    const count = box.post('/v1/messages/count_tokens', { ...body, stream: true }, { signal }).catch(() => null);
    await waitFor(() => upstream.requests.at(-1)?.path.endsWith('count_tokens'));
    expect({ usage: await usage(), decisions: await decisions() }).toEqual(before);
    const stream = await box.post('/v1/messages', { ...body, max_tokens: 10, stream: true });
    expect([stream.status, (await stream.text()).includes('message_stop')]).toEqual([200, true]);
    leaving.abort();
    expect(await count).toBeNull();
    // The stream's decision is the only decision.
    expect(await waitFor(async () => [await decisions()].find(({ length }) => length > 0))).toHaveLength(1);
  });

  test('the service counts the prompt that a model would get, without tools that the policy drops', async () => {
    const tools = [
      { type: 'web_search_20250305', name: 'web_search' },
      { name: 'look', input_schema: { type: 'object' } },
    ];
    expect((await box.post('/v1/messages/count_tokens', { ...body, tools })).status).toBe(200);
    expect(Reflect.get(upstream.requests.at(-1)!.body, 'tools')).toEqual([tools[1]]);
  });
});
