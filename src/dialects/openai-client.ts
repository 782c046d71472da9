/** How programs use OpenAI's client library with Signalbox. */
export const OPENAI_CLIENT = {
  base: '/v1',
  client: { package: 'openai', name: 'OpenAI', key: 'apiKey: KEY' },
} as const;
