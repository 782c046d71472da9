import type { Static } from '@sinclair/typebox';
import { closed, figure, optional, whole } from '../../core/define/fields.ts';

const tokens = { minimum: 1, maximum: 10_000_000 };

export const TrafficText = closed('How much of your traffic is this task, and how long its requests are.', {
  share: figure('Share of the requests, relative to the shares of the other tasks.', {
    exclusiveMinimum: 0,
    maximum: 1_000_000,
    example: 3,
  }),
  input_tokens: optional(
    whole('Usual length of the input, in tokens. Default: the `default_input_tokens` of the task.', {
      ...tokens,
      example: 6000,
    }),
  ),
  output_tokens: optional(
    whole('Usual length of the visible output, in tokens. Default: the `expected_output_tokens` of the task.', {
      ...tokens,
      example: 800,
    }),
  ),
});
export type TrafficText = Static<typeof TrafficText>;
