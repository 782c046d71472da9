import { Type } from 'signalbox/plugin';

export const OpenAiSettings = Type.Object(
  {
    service: Type.Union([Type.Literal('openai'), Type.Literal('azure'), Type.Literal('bedrock')], {
      default: 'openai',
      description:
        'The service. Azure expects the key in another header. No service can read reasoning that another one encrypted.',
    }),
    reasoning_summaries: Type.Union([Type.Literal('auto'), Type.Literal('left_out')], {
      default: 'auto',
      description:
        'Whether requests with tools ask for summaries of the reasoning. OpenAI rejects this for unverified organizations; use `left_out` for them.',
    }),
  },
  { additionalProperties: false, description: "OpenAI's models, through chat completions and Responses." },
);
export type OpenAiSettings = typeof OpenAiSettings.static;
