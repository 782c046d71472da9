import type { Static } from '@sinclair/typebox';
import { closed, integer, oneOfExplained } from './schema-parts.ts';

export const AbortText = closed(
  {
    bills: oneOfExplained({
      means: {
        stops: 'What was written until it noticed.',
        whole: 'The whole answer, as if nothing had happened.',
        unknown: 'Any of that.',
      },
      examples: ['stops'],
      description: 'Only under `stops` a hold grows with its answer.',
    }),
    margin_tokens: integer(
      { minimum: 0, maximum: 1_000_000, default: 64 },
      'With `stops`: output tokens that it may have written and not sent.',
    ),
    margin_ms: integer({ minimum: 0, maximum: 60_000, default: 250 }, 'With `stops`: milliseconds until it stops.'),
  },
  {
    description: 'What it bills of an aborted answer. Default: by the adapter, mostly `unknown`.',
  },
);
export type AbortText = Static<typeof AbortText>;
