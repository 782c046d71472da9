import { platform } from '../../api/platform.ts';

/** The bodies that the documentation shows. Tests hold them against the schemas. */

export const RESPONSES_REQUESTS = {
  simple: { summary: 'Let Signalbox choose', value: { model: 'auto', input: 'Say hello.' } },
  agent: {
    summary: 'An agent, streamed, with a tool and a hard limit',
    value: {
      model: 'auto',
      stream: true,
      store: false,
      budget_limit: 5,
      instructions: 'You help with code.',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Which files are here?' }] }],
      tools: [
        {
          type: 'function',
          name: 'list_files',
          description: 'Lists the files of a folder.',
          parameters: { type: 'object', properties: { folder: { type: 'string' } }, required: ['folder'] },
        },
      ],
    },
  },
} as const;

const echo = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  parallel_tool_calls: true,
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  reasoning: { effort: null, summary: null },
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  truncation: 'disabled',
  metadata: {},
  prompt_cache_key: null,
  safety_identifier: null,
  service_tier: 'default',
  previous_response_id: null,
  background: false,
  store: false,
};

const head = { id: 'resp_0a4x1wm3zk0', object: 'response', created_at: 1795161464, model: 'gpt-6-luna' };
const content = { type: 'output_text', text: 'Hello!', annotations: [], logprobs: [] };
const item = { type: 'message', id: 'msg_0a4x1wm3zk0_0', status: 'completed', role: 'assistant', content: [content] };

export const RESPONSES_ANSWER = {
  ...head,
  status: 'completed',
  completed_at: 1795161465,
  error: null,
  incomplete_details: null,
  usage: {
    input_tokens: 15,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 88,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 103,
  },
  output: [item],
  platform,
  ...echo,
};

const begun = {
  ...RESPONSES_ANSWER,
  status: 'in_progress',
  completed_at: null,
  usage: null,
  output: [],
  platform: undefined,
};
const place = { item_id: item.id, output_index: 0 };
const part = { ...place, content_index: 0 };

export const RESPONSES_EVENTS = [
  { type: 'response.created', response: begun },
  { type: 'response.in_progress', response: begun },
  { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
  { type: 'response.content_part.added', ...part, part: { ...content, text: '' } },
  { type: 'response.output_text.delta', ...part, delta: 'Hello!', logprobs: [] },
  { type: 'response.output_text.done', ...part, text: 'Hello!', logprobs: [] },
  { type: 'response.content_part.done', ...part, part: content },
  { type: 'response.output_item.done', output_index: 0, item },
  { type: 'response.completed', response: RESPONSES_ANSWER },
].map(({ type, ...members }, at) => ({ type, sequence_number: at, ...members }));

/** The same as it comes over the wire. */
export const RESPONSES_STREAM = RESPONSES_EVENTS.map(
  (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
).join('');
