import { expect, test } from 'bun:test';
import { defectsIn } from '../support/nonsense.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** Every value of a rich body of each dialect is replaced by values that no client sends there. `npm test` uses a third of them. */
const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy({ first: upstream.url }, { best: { endpoints: ['first'] } }),
  env: UPSTREAM_ENV,
}));

const text = { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral', ttl: '5m' } };
const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 1 };
const added = { type: 'tool_addition', tool: { type: 'tool_definition', definition: search } };
const TERMS = {
  budget_limit: 10,
  constraints: { max_cost_credits: 1, max_latency_ms: 1_000, required_languages: ['js'] },
  route_strategy: { cost_weight: 1, quality_weight: 1 },
  metadata: { user_id: 'u', session_id: 's' },
};
const MESSAGES = {
  ...TERMS,
  model: 'best',
  max_tokens: 50,
  system: [text],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
        { type: 'document', title: 't', context: 'c', source: { type: 'content', content: [text] } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 't', signature: 's' },
        { type: 'redacted_thinking', data: 'd' },
        { type: 'tool_use', id: 't1', name: 'f', input: { a: 1 } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 't1', content: [text], is_error: true },
        { type: 'compaction', content: 'x', tool_changes: [added] },
      ],
    },
  ],
  tools: [{ name: 'f', description: 'd', input_schema: { type: 'object' }, strict: true }, search],
  tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true },
  thinking: { type: 'enabled', budget_tokens: 20 },
  output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
  context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
  stop_sequences: ['x'],
  thread: { type: 'continue', previous_message_id: 'msg_1' },
  mcp_servers: [],
  service_tier: 'auto',
};
const RESPONSES = {
  ...TERMS,
  model: 'best',
  instructions: 'i',
  input: [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Hi' },
        { type: 'input_image', image_url: 'data:image/png;base64,aGk=', detail: 'low' },
        { type: 'input_file', file_data: 'data:text/plain;base64,aGk=', filename: 'f' },
      ],
    },
    { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 'x' }], encrypted_content: 'e' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x', annotations: [] }] },
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}', namespace: 'n' },
    { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'x' }] },
    { type: 'custom_tool_call', call_id: 'c2', name: 'p', input: 'x' },
    { type: 'custom_tool_call_output', call_id: 'c2', output: 'x' },
    { type: 'additional_tools', tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'web_search' }] }] },
  ],
  tools: [
    { type: 'function', name: 'f', parameters: { type: 'object' }, strict: false },
    { type: 'custom', name: 'p', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
    { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'g' }] },
  ],
  tool_choice: { type: 'function', name: 'f' },
  text: { format: { type: 'json_schema', name: 's', schema: { type: 'object' }, strict: true }, verbosity: 'low' },
  reasoning: { effort: 'low', summary: 'auto' },
  include: ['reasoning.encrypted_content'],
  max_output_tokens: 50,
  max_tool_calls: 3,
  prompt_cache_key: 'k',
};
const EMBEDDINGS = { ...TERMS, model: 'best', input: ['a', 'b'], dimensions: 3, encoding_format: 'base64' };

test.each([
  ['/v1/messages', MESSAGES],
  ['/v1/messages/count_tokens', MESSAGES],
  ['/v1/responses', RESPONSES],
  ['/v1/chat/completions', RESPONSES],
  ['/v1/embeddings', EMBEDDINGS],
  ['/v1/route', MESSAGES],
  ['/v1/route', RESPONSES],
  ['/v1/route', { ...EMBEDDINGS, operation: 'embed' }],
] as const)('%s: a nonsensical value anywhere in a body never causes an internal error', async (path, body) => {
  expect(await defectsIn(body, async (changed) => (await box.post(path, changed)).status)).toEqual([]);
});

test.each([
  ['/v1/messages', MESSAGES],
  ['/v1/responses', { model: '', input: 'Hi' }],
  ['/v1/chat/completions', { model: '', messages: [{ role: 'user', content: 'Hi' }] }],
  ['/v1/embeddings', { model: '', input: 'Hi' }],
  ['/v1/route', { model: '', messages: [{ role: 'user', content: 'Hi' }] }],
] as const)('%s: the name of a model has at most 256 characters', async (path, body) => {
  const [longest, longer] = [256, 257].map((length) => box.post(path, { ...body, model: 'm'.repeat(length) }));
  expect([(await longest!).status, (await longer!).status]).toEqual([404, 400]);
});
