import { Type } from 'signalbox/plugin';

export const OpenAiSettings = Type.Object(
  {
    service: Type.Union([Type.Literal('openai'), Type.Literal('azure')], {
      default: 'openai',
      description:
        'The service. Azure takes the key in another header. Neither can read reasoning that the other encrypted.',
    }),
    reasoning_summaries: Type.Union([Type.Literal('auto'), Type.Literal('left_out')], {
      default: 'auto',
      description:
        'Whether summaries of reasoning are requested beside tools. OpenAI refuses that to unverified organizations: use `left_out`.',
    }),
  },
  { additionalProperties: false, description: "OpenAI's models, by chat completions and by Responses." },
);
export type OpenAiSettings = typeof OpenAiSettings.static;
