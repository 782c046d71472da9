import { type Static, Type } from '@sinclair/typebox';
import { closed, notAMap } from '../../core/define/parts.ts';
import type { FallbackReason } from '../../core/request/fallbacks.ts';

/** The most models in a list of fallbacks. */
const LISTED_MAX = 16;

const ModelName = Type.String({
  minLength: 1,
  ...notAMap(
    'the list belongs to the model or selector that it stands in, so it has only the models to try next: `fallbacks: [b, c]`',
  ),
});

const list = (description: string, example: readonly string[]) =>
  Type.Optional(Type.Array(ModelName, { maxItems: LISTED_MAX, examples: [example], description }));

const ByReason = closed('The models to try next, by reason.', {
  error: list('If the model is not available, fails or does not answer in time, or cannot serve the request.', ['b']),
  rate_limit: list('If the provider limits the request rate.', ['b']),
  context: list('If the prompt is too long for the model. This is decided before the call if possible.', ['long']),
  refused: list(
    'If the model or a content filter refuses to answer, before the caller has received content. The refused answer is paid, and the next attempt needs room in the budget.',
    ['c'],
  ),
} satisfies Record<FallbackReason, unknown>);

/** The models to try after a model or the choice of a selector. */
export const FallbacksText = Type.Optional(
  Type.Union([Type.Array(ModelName, { maxItems: LISTED_MAX }), ByReason], {
    examples: [['b', 'c'], { error: ['b'], context: ['long'] }],
    expected: 'a list of model IDs, or lists of model IDs for `error`, `rate_limit`, `context` and `refused`',
    description:
      'IDs of the models to try next, in this order. A plain list is for the reasons `error`, `rate_limit` and `context`. A fallback must be able and allowed to serve the request, like a model that the request names. The fallbacks of a fallback do not count.',
  }),
);
export type FallbacksText = Static<typeof FallbacksText>;
