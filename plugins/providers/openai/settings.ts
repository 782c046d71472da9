import { Type } from 'signalbox/plugin';

export const OpenAiSettings = Type.Object(
  {
    service: Type.Union([Type.Literal('openai'), Type.Literal('azure')], {
      default: 'openai',
      description:
        'Who serves the models. Azure has the key in a header of its own; and what one of them has encrypted of a model’s reasoning the other cannot read.',
    }),
    reasoning_summaries: Type.Union([Type.Literal('auto'), Type.Literal('left_out')], {
      default: 'auto',
      description:
        'Whether models that reason beside tools are asked to tell of it. OpenAI refuses such requests of organizations that it has not verified: `left_out` is for them.',
    }),
  },
  { additionalProperties: false, description: "OpenAI's models, by chat completions and by Responses." },
);
export type OpenAiSettings = typeof OpenAiSettings.static;
