import { type Static, Type } from '@sinclair/typebox';
import { closed } from '../../core/define/fields.ts';
import { notAMap } from '../../core/define/policy-words.ts';
import { byReason, FALLBACK_REASONS, type FallbackReason, REASON_NAMES } from '../../core/request/fallbacks.ts';
import { together } from '../../core/text/text.ts';

/** The most models in a list of fallbacks. */
const LISTED_MAX = 16;

const ModelName = Type.String({
  minLength: 1,
  ...notAMap(
    'the list belongs to the model or selector that it stands in, so it has only the models to try next: `fallbacks: [b, c]`',
  ),
});

const modelNames = (description: string, example: readonly string[]) =>
  Type.Optional(Type.Array(ModelName, { maxItems: LISTED_MAX, examples: [example], description }));

const ByReason = closed(
  'The models to try next, by reason.',
  byReason((reason) => modelNames(FALLBACK_REASONS[reason].means, FALLBACK_REASONS[reason].example)),
);
const named = (reasons: readonly FallbackReason[]) => together(reasons.map((reason) => `\`${reason}\``));
const USUAL = REASON_NAMES.filter((reason) => FALLBACK_REASONS[reason].isUsual);

/** The models to try after a model or the choice of a selector. */
export const FallbacksText = Type.Optional(
  Type.Union([Type.Array(ModelName, { maxItems: LISTED_MAX }), ByReason], {
    examples: [['b', 'c'], { error: ['b'], context: ['long'] }],
    expected: `a list of model IDs, or lists of model IDs for ${named(REASON_NAMES)}`,
    description: `IDs of the models to try next, in this order. A plain list is for the reasons ${named(USUAL)}. A fallback must be able and allowed to serve the request, like a model that the request names. The fallbacks of a fallback do not count.`,
  }),
);
export type FallbacksText = Static<typeof FallbacksText>;
