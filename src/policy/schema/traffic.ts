import type { Static } from '@sinclair/typebox';
import { closed, number, optional } from '../../core/define/parts.ts';

const tokens = { minimum: 1, maximum: 10_000_000 };

export const TrafficText = closed('How much of your traffic is this task, and how long its requests are.', {
  share: number(
    { exclusiveMinimum: 0, maximum: 1_000_000, example: 3 },
    'Share of the requests, relative to the shares of the other tasks.',
  ),
  input_tokens: optional.integer(
    { ...tokens, example: 6000 },
    'Usual length of the input, in tokens. Default: the `default_input_tokens` of the task.',
  ),
  output_tokens: optional.integer(
    { ...tokens, example: 800 },
    'Usual length of the visible output, in tokens. Default: the `expected_output_tokens` of the task.',
  ),
});
export type TrafficText = Static<typeof TrafficText>;
