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
      description: 'What it bills. A hold grows with its answer only under `stops`.',
    }),
    reports: oneOfExplained({
      means: {
        each: 'With each event of a stream, or nearly.',
        end: 'At the end of an answer.',
      },
      default: 'end',
      examples: ['each'],
      description: 'When it reports usage. A hold grows only under `stops` with `each`.',
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
