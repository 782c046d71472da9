import { beforeAll, describe, expect, test } from 'bun:test';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';

const SAYS_HI = { role: 'user', content: 'Hi' };
const NAMESPACE = { type: 'namespace', name: 'n', description: 'd' };
const HOUR = { cache_control: { type: 'ephemeral', ttl: '1h' } };
/** Returns a message with one block. */
const saying = (block: object) => ({ messages: [{ role: 'user', content: [block] }] });
const adds = (definition: object) => ({ type: 'tool_addition', tool: { type: 'tool_definition', definition } });
const page = { type: 'text', text: 'A page.' };

/**
 * Every field of the three dialects that can add charges beyond the tokens of the conversation, according to the references of OpenAI and
 * Anthropic of November 2026, with a value that does so. If a fund pays and no price covers the field, the request is refused with the
 * field's name. Add each new field to this list and to the `billing.ts` of its surface.
 */
const BILLED: Readonly<
  Record<string, { readonly body: object; readonly fields: readonly (readonly [string, object])[] }>
> = {
  '/v1/chat/completions': {
    body: { messages: [{ role: 'user', content: 'Hi' }] },
    fields: [
      ['service_tier', { service_tier: 'priority' }],
      ['web_search_options', { web_search_options: {} }],
      ['audio', { audio: { voice: 'v', format: 'wav' } }],
      ['modalities', { modalities: ['text', 'audio'] }],
      ['prediction', { prediction: { type: 'content', content: 'x' } }],
      ['best_of', { best_of: 3 }],
    ],
  },
  '/v1/responses': {
    body: { input: 'Hi' },
    fields: [
      ['service_tier', { service_tier: 'flex' }],
      ['context_management', { context_management: [{ type: 'compaction', compact_threshold: 1_000 }] }],
      ['prompt_cache_options', { prompt_cache_options: { mode: 'explicit' } }],
      ['prompt', { prompt: { id: 'pmpt_1' } }],
      ['image', { image: {} }],
      ['modalities', { modalities: ['audio'] }],
      ['audio', { audio: {} }],
      ['background', { background: true }],
      ['previous_response_id', { previous_response_id: 'resp_1' }],
      ['conversation', { conversation: 'conv_1' }],
      ['tools', { tools: [{ type: 'web_search' }] }],
      ['tools[0]', { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }],
      ['tools[0]', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }],
      ['tools[0]', { tools: [{ type: 'image_generation' }] }],
      ['tools[0]', { tools: [{ type: 'mcp', server_label: 's', server_url: 'https://m.example' }] }],
      ['tools[0]', { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] }],
      ['tools[0]', { tools: [{ type: 'of_tomorrow' }] }],
      ['input[1].tools[0]', { input: [SAYS_HI, { type: 'additional_tools', tools: [{ type: 'image_generation' }] }] }],
      [
        'input[1].tools[0].tools[0]',
        { input: [SAYS_HI, { type: 'tool_search_output', tools: [{ ...NAMESPACE, tools: [{ type: 'mcp' }] }] }] },
      ],
      ['tools', { input: [SAYS_HI, { type: 'additional_tools', tools: [{ type: 'web_search' }] }] }],
      ['input[1]', { input: [SAYS_HI, { type: 'compaction_trigger' }] }],
    ],
  },
  '/v1/messages': {
    body: { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
    fields: [
      ['service_tier', { service_tier: 'priority' }],
      ['speed', { speed: 'fast' }],
      ['inference_geo', { inference_geo: 'us' }],
      ['container', { container: 'c_1' }],
      ['mcp_servers', { mcp_servers: [{ type: 'url', url: 'https://m.example', name: 'm' }] }],
      ['compaction', { compaction: {} }],
      ['context_management.edits[0].type', { context_management: { edits: [{ type: 'compact_20260112' }] } }],
      ['fallbacks', { fallbacks: 'default' }],
      ['fallback_credit_token', { fallback_credit_token: 'x' }],
      ['billing_policy', { billing_policy: {} }],
      ['cache_control', { cache_control: { type: 'ephemeral', ttl: '1h' } }],
      ['tools', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
      ['tools', { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }],
      ['tools[0]', { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }],
      ['tools[0]', { tools: [{ type: 'of_tomorrow_20270101', name: 'new' }] }],
      ['messages[0].content[0].tool.definition', saying(adds({ type: 'code_execution_20250825' }))],
      ['tools', saying(adds({ type: 'web_search_20250305', max_uses: -9 }))],
      [
        'messages[0].content[0].tool_changes[0].tool.definition',
        saying({ type: 'compaction', content: 'Short.', tool_changes: [adds({ type: 'advisor_20260301' })] }),
      ],
      ['cache_control', saying({ type: 'search_result', source: 's', title: 't', content: [page], ...HOUR })],
      ['cache_control', saying({ type: 'search_result', source: 's', title: 't', content: [{ ...page, ...HOUR }] })],
      ['cache_control', saying({ type: 'document', source: { type: 'content', content: [page] }, ...HOUR })],
      ['cache_control', { tools: [{ type: 'bash_20250124', name: 'bash', ...HOUR }] }],
    ],
  },
};

/** Media whose size in bytes is no bound on their tokens, and which only their own dialect can express. */
const UNBOUNDED: readonly (readonly [what: string, path: string, body: object])[] = [
  ...[
    { type: 'message', role: 'user', content: [{ type: 'input_file', file_url: 'https://a.example/long.pdf' }] },
    { type: 'message', role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] },
    { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', file_id: 'file_1' } },
    { type: 'image_generation_call', id: 'ig_1' },
  ].map((item) => [JSON.stringify(item), '/v1/responses', { input: [SAYS_HI, item] }] as const),
  ...[
    { type: 'document', source: { type: 'url', url: 'https://a.example/long.pdf' } },
    {
      type: 'web_fetch_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: {
        type: 'web_fetch_result',
        content: { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
      },
    },
  ].map((block) => [JSON.stringify(block), '/v1/messages', { max_tokens: 100, ...saying(block) }] as const),
];

const box = useSignalbox();
let key: string;
beforeAll(async () => {
  key = await box.makeKey('--budget', '500/month');
});

describe.each(Object.entries(BILLED))(
  '%s: a field that can add charges is refused if a fund pays and it has no price',
  (path, { body, fields }) => {
    const ask = async (more: object) => {
      const answer = await box.post(path, { model: 'sim-small', ...body, ...more }, withKey(key));
      const { error } = Object(await answer.json());
      return [answer.status, error?.param ?? error?.details?.param, error?.code ?? error?.details?.error_code];
    };

    test('a request without such fields is served', async () => {
      const [status] = await ask({});
      expect(status).toBe(200);
    });

    test.each(fields)('%s', async (field, more) => {
      const [status, param, code] = await ask(more);
      expect([status, param]).toEqual([400, field]);
      expect(code).toBe('unsupported_parameter');
    });
  },
);

test.each(UNBOUNDED)('%s has no upper bound, so no fund pays for it', async (_, path, body) => {
  const answer = await box.post(path, { model: 'sim-small', ...body }, withKey(key));
  expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining('have no upper bound')]);
});

test.each([
  ['/v1/messages', 'tools[0].max_uses', (most: number) => ({ max_tokens: 9, ...saying(page), tools: [limited(most)] })],
  ['/v1/responses', 'max_tool_calls', (most: number) => ({ input: 'Hi', max_tool_calls: most })],
] as const)('%s: a limit of tool uses that is not a count is refused', async (path, field, bodyOf) => {
  for (const most of [-1, 0.5, 1e300]) {
    const answer = await box.post(path, { model: 'sim-small', ...bodyOf(most) }, withKey(key));
    const { error } = Object(await answer.json());
    expect([answer.status, error.param ?? error.details.param]).toEqual([400, field]);
  }
});

const limited = (max_uses: number) => ({ type: 'web_search_20250305', name: 'web_search', max_uses });
