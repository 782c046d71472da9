import { platform } from '../../api/platform.ts';

/** The bodies that the documentation shows. Tests hold them against the schemas. */

export const usage = {
  prompt_tokens: 15,
  completion_tokens: 88,
  total_tokens: 103,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
};

export const CHAT_REQUESTS = {
  simple: {
    summary: 'Let Signalbox choose',
    value: { model: 'auto', messages: [{ role: 'user', content: 'Say hello.' }] },
  },
  limited: {
    summary: 'Cheap, streamed, with a hard limit',
    value: {
      model: 'auto-cheap',
      stream: true,
      stream_options: { include_usage: true },
      budget_limit: 5,
      messages: [{ role: 'user', content: 'Summarise the history of railway signalling.' }],
    },
  },
  tools: {
    summary: 'With a tool, weights and limits on the choice',
    value: {
      model: 'auto',
      messages: [{ role: 'user', content: 'What is the weather in Bern?' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'The weather of a city.',
            parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
          },
        },
      ],
      route_strategy: { cost_weight: 0.2, quality_weight: 0.8 },
      constraints: { max_latency_ms: 30000 },
    },
  },
} as const;

export const CHAT_ANSWER = {
  id: 'chatcmpl-0a4x1wm3zk0',
  object: 'chat.completion',
  created: 1795161464,
  model: 'gpt-6-luna',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Hello! How can I help you?', refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage,
  platform,
};

const head = { id: 'chatcmpl-0a4x1wm3zk0', object: 'chat.completion.chunk', created: 1795161464, model: 'gpt-6-luna' };

/** The chunks of a stream with `include_usage`. */
export const CHAT_CHUNKS = [
  { ...head, choices: [{ index: 0, delta: { role: 'assistant', content: 'Hel' } }] },
  { ...head, choices: [{ index: 0, delta: { content: 'lo!' } }] },
  { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], platform },
  { ...head, choices: [], usage },
];

/** The same as it comes over the wire. */
export const CHAT_STREAM = `${CHAT_CHUNKS.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;
