import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type OwnServer, startOwnServer } from '../support/own-server.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';

/** Usage that a provider in Anthropic's dialect bills in addition to tokens. The tests request this usage through two dialects. */
const reported = {
  input_tokens: 100,
  cache_creation_input_tokens: 1_000,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 400, ephemeral_1h_input_tokens: 600 },
  output_tokens: 50,
  server_tool_use: { web_search_requests: 2 },
};
const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };
const answer = {
  ...{ id: 'msg_up', type: 'message', role: 'assistant', model: 'claude-haiku-5-5', stop_reason: 'end_turn' },
  content: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'Bern' } },
    found,
    { type: 'text', text: 'It rains.' },
  ],
  stop_sequence: null,
  usage: reported,
};

let upstream: OwnServer;
let box: Signalbox;
let funded: string;
let free: string;
const bodies: Record<string, unknown>[] = [];

beforeAll(async () => {
  upstream = startOwnServer(async (request) => {
    bodies.push(Object(await request.json()));
    return Response.json(answer);
  });
  const policy = testPolicy(
    { up: { url: `${upstream.url}/v1`, adapter: 'anthropic' } },
    {
      priced: { endpoints: ['up'], price: { input: 1, output: 5 } },
      bare: { endpoints: ['up'] },
    },
    `gateway: { tool_uses_max: 3, passthrough_tools: [odd_20260101] }
budgets:
  - { name: purse, each: key, match: 'key.labels.purse == "yes"', limit_credits: 5000, window: total }
`,
  )
    .replace('output: 5,', 'output: 5, cache_write: 1.25, cache_write_1h: 2, tool_uses: { web_search: 0.01 },')
    .replaceAll(/(priced|bare)-upstream/g, 'claude-haiku-5-5');
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  funded = await box.makeKey('--label', 'purse=yes');
  free = await box.makeKey();
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

const idOf = (key: string) => key.slice('sb_live_'.length).split('_')[0]!;
const search = { type: 'web_search_20250305', name: 'web_search' };
const say = (more: object = {}) => ({
  ...{ model: 'priced', max_tokens: 200, messages: [{ role: 'user', content: 'Weather in Bern?' }] },
  ...more,
});
const ask = (key: string, more: object = {}) => box.post('/v1/messages', say(more), withKey(key));

describe('a request whose provider bills more than tokens', () => {
  test('searches and an hour of cache are charged; an export shows them, and the audit computes the same charge', async () => {
    const before = bodies.length;
    const asked = await ask(funded, { tools: [search] });
    const got = Object(await asked.json());
    expect([asked.status, got.error]).toEqual([200, undefined]);
    // 100 × 1 + 400 × 1.25 + 600 × 2 + 50 × 5 thousandths of a Credit, and 2 searches at 10 Credits
    expect(got.platform.credits_consumed).toBe(22.05);
    // The caller gets exactly what the provider sent.
    expect(got.content).toEqual(answer.content);
    // The policy's limit of uses applies if the request has none.
    expect(bodies[before]!.tools).toEqual([{ ...search, max_uses: 3 }]);
    const { out } = await runHere(['ledger', 'export', '--key', idOf(funded), '--format', 'json', '--data', box.data]);
    const [line]: Record<string, unknown>[] = JSON.parse(out);
    const tokens = { input_tokens: 1_100, cache_write_tokens: 400, cache_write_1h_tokens: 600, output_tokens: 50 };
    expect(line).toMatchObject({ ...tokens, tool_uses: '{"web_search":2}', credits: 22.05 });
    expect([line!.usd_per_1m_cache_write, line!.usd_per_1m_cache_write_1h, line!.usd_tool_uses].map(Number)).toEqual([
      1.25, 2, 0.02,
    ]);
    const audited = await runHere(['ledger', 'audit', '--idle', '--data', box.data]);
    expect([audited.code, audited.out]).toEqual([0, expect.stringContaining('nothing wrong')]);
  });

  test('a request keeps its own limit of tool uses', async () => {
    const limited = { ...search, max_uses: 1 };
    const { status } = await ask(funded, { tools: [limited] });
    expect(status).toBe(200);
    expect(bodies.at(-1)!.tools).toEqual([limited]);
  });

  const FIELDS: readonly (readonly [what: string, more: object, field: string])[] = [
    ['a tier', { service_tier: 'priority' }, 'service_tier'],
    ['fast mode', { speed: 'fast' }, 'speed'],
    ['a region', { inference_geo: 'us' }, 'inference_geo'],
    ['a container', { container: 'c' }, 'container'],
    ['MCP servers', { mcp_servers: [{ type: 'url', url: 'https://m.example', name: 'm' }] }, 'mcp_servers'],
    ['a compaction', { compaction: {} }, 'compaction'],
    [
      'a compacting edit',
      { context_management: { edits: [{ type: 'clear_thinking_20251015' }, { type: 'compact_20260112' }] } },
      'context_management.edits[1].type',
    ],
    ['code that the service runs', { tools: [{ type: 'code_execution_20250825', name: 'run' }] }, 'tools[0]'],
  ];
  test.each(FIELDS)(
    'a tool without a price is refused if a fund pays, and allowed if none does: %s',
    async (_, more, field) => {
      const refused = await ask(funded, more);
      const { error } = Object(await refused.json());
      expect([refused.status, error.type, error.details]).toEqual([
        400,
        'invalid_request_error',
        expect.objectContaining({ error_code: 'unsupported_parameter', param: field }),
      ]);
      const passed = await ask(free, more);
      expect(passed.status).toBe(200);
      expect(bodies.at(-1)).toMatchObject(more);
    },
  );

  test('a request with searches or an hour of cache goes to a model whose price covers them', async () => {
    const hour = { system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }] };
    for (const more of [hour, { tools: [search] }]) {
      expect((await ask(funded, more)).status).toBe(200);
      const { error } = Object(await (await ask(funded, { ...more, model: 'bare' })).json());
      expect(error.details.error_code).toBe('unsupported_parameter');
      expect((await ask(free, { ...more, model: 'bare' })).status).toBe(200);
    }
  });

  test('a request with a tool that the policy allows to pass is served', async () => {
    expect((await ask(funded, { tools: [{ type: 'odd_20260101', name: 'odd' }] })).status).toBe(200);
  });

  test('the error names the field in the dialect of the request', async () => {
    const asked = {
      model: 'bare',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'Hi', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    };
    const chat = await box.post('/v1/chat/completions', asked, withKey(funded));
    expect([chat.status, Object(await chat.json()).error?.code]).toEqual([400, 'unsupported_parameter']);
  });
});
