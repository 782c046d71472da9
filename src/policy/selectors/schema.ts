import { type Static, Type } from '@sinclair/typebox';
import { closed, optional, text } from '../../core/define/fields.ts';
import { aliasList, expression, notAMap, writtenAs } from '../../core/define/policy-words.ts';
import { FallbacksText } from '../schema/fallbacks.ts';

/** The most models of a tier. */
const TIER_MAX = 16;

const tier = (description: string, example: readonly string[]) =>
  Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: TIER_MAX, examples: [example], description });

/** The tiers of a selector. */
const TiersText = Type.Optional(
  closed(
    'The models of the selector, in the order in which they are tried. Default: the strategy orders the models when the policy is loaded.',
    {
      usual: tier('Models for usual requests.', ['gpt-6-luna', 'gemini-3.5-flash']),
      strong: tier('Models for hard requests, and for conversations in which answers failed.', ['gpt-6.1-sol']),
    },
  ),
);

const SelectorModelsText = closed('Filter for the models that the selector chooses from. Default: all models.', {
  require: expression(
    'Condition that is true for the models which the selector may choose: CEL over `model`.',
    '"private" in model.tags',
    'model.price.output == 0.0',
  ),
});

export const SelectorText = closed(
  'A name that callers send as `model` to leave the choice to the gateway.',
  {
    strategy: text('Name of the strategy plugin that orders or scores the models.', {
      minLength: 1,
      example: 'auto',
      ...notAMap(
        'write the name of a strategy: `strategy: auto`. Choices by condition are rules: `constraints: [{ name: paid, when: key.labels.plan == "paid", require: model.id == "NAME" }]`. To divide requests by shares, write `spread: weighted, endpoints: [{ provider: …, weight: 7 }, { provider: …, weight: 3 }]` in a model',
      ),
    }),
    options: Type.Record(Type.String(), Type.Unknown(), {
      default: {},
      examples: [{ margin: 0.05 }],
      description: "The strategy's options. The strategy's schema checks them.",
    }),
    models: Type.Optional(SelectorModelsText),
    tiers: TiersText,
    fallbacks: FallbacksText,
    vector_space: optional(
      text(
        'The vector space whose embedding models the selector chooses from. Without it, the selector serves no embeddings.',
        { minLength: 1, maxLength: 128, example: 'text-embedding-3-small' },
      ),
    ),
    aliases: aliasList(
      'Other names of the selector that callers may send. If an alias is the ID or an alias of a model, the selector replaces that model while the model cannot be served.',
      'claude-auto',
    ),
  },
  writtenAs(`strategy: auto, models: { require: 'model.id in ["NAME"]' }`),
);
export type SelectorText = Static<typeof SelectorText>;
