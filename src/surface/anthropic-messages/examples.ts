import { platform } from '../../api/platform.ts';

/** The bodies that the documentation shows. Tests hold them against the schemas. */

export const MESSAGES_REQUESTS = {
  simple: {
    summary: 'Let Signalbox choose',
    value: { model: 'auto', max_tokens: 1024, messages: [{ role: 'user', content: 'Say hello.' }] },
  },
  tools: {
    summary: 'Streamed, with a tool and a hard limit',
    value: {
      model: 'auto-cheap',
      max_tokens: 1024,
      stream: true,
      budget_limit: 5,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: 'What is the weather in Bern?' }],
      tools: [
        {
          name: 'weather',
          description: 'The weather of a city.',
          input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      ],
    },
  },
} as const;

const head = { id: 'msg_0a4x1wm3zk0', type: 'message', role: 'assistant', model: 'gpt-6-luna' };
const begun = { container: null, diagnostics: null, stop_sequence: null, stop_details: null };
const counts = {
  input_tokens: 15,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: 88,
  output_tokens_details: { thinking_tokens: 0 },
  server_tool_use: null,
};
const start = {
  ...counts,
  input_tokens: 0,
  output_tokens: 0,
  service_tier: null,
  inference_geo: null,
  speed: null,
};

export const MESSAGES_ANSWER = {
  ...head,
  ...begun,
  content: [{ type: 'text', text: 'Hello! How can I help you?' }],
  stop_reason: 'end_turn',
  usage: { ...start, ...counts },
  platform,
};

/** The events of a stream. */
export const MESSAGES_EVENTS = [
  { type: 'message_start', message: { ...head, ...begun, content: [], stop_reason: null, usage: start } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello!' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null, stop_details: null, container: null },
    usage: counts,
    platform,
  },
  { type: 'message_stop' },
];

/** The same as it comes over the wire. */
export const MESSAGES_STREAM = MESSAGES_EVENTS.map(
  (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
).join('');
