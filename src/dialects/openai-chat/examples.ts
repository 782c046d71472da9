/** The request bodies shown in the documentation. Tests check the request bodies against the schema. */

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
