/** The request bodies shown in the documentation. Tests check the request bodies against the schema. */

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
