/** The request bodies shown in the documentation. Tests check the request bodies against the schema. */

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
