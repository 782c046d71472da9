import { type Static, Type } from '@sinclair/typebox';
import { closed, text } from '../../core/define/fields.ts';
import { MODEL_RULES, ModelText } from '../schema/model.ts';
import { PriceText } from '../schema/price-text.ts';

const AsText = closed('A price that you set yourself. Callers pay this price, whatever the provider bills.', {
  as: PriceText,
});

const UnknownPrice = Type.Union([Type.Literal('refuse'), AsText], {
  default: 'refuse',
  examples: ['refuse', { as: { input: 5, output: 25 } }],
  expected: '`refuse`, or `as` with a price',
  description:
    'For wildcards: what happens with a model whose price is unknown. `refuse`: it is not served. `as`: it is charged at the price that you state, and you bear the difference to the provider’s bill.',
});

const { upstream, regions, price, default_max_output, capabilities, lacks, tags } = ModelText.properties;
const { family, tokenizer, temperature, reasoning_tokens, latency, deadlines } = ModelText.properties;
const { image_tokens_max, page_tokens_max, pages_max, audio_tokens_per_second_max } = ModelText.properties;
const { items, description, examples } = capabilities;
const context_window = Type.Optional(ModelText.properties.context_window);
const max_output = Type.Optional(ModelText.properties.max_output);

/**
 * A wildcard for models whose IDs have the same beginning. The wildcard's own keys apply to all of its models; the table of public facts
 * supplies the other keys.
 */
export const WildcardText = closed('Any model of a provider, by its ID.', {
  ...{
    provider: text('Name of a provider.', { minLength: 1, example: 'openai' }),
    upstream,
    regions,
    price,
    unknown_price: UnknownPrice,
  },
  context_window,
  max_output,
  default_max_output,
  lacks,
  tags,
  family,
  tokenizer,
  // `capabilities` has no default, because a public fact applies if the policy leaves the key out.
  capabilities: Type.Optional(Type.Array(items, { description, examples })),
  temperature: Type.Optional(temperature),
  reasoning_tokens,
  latency,
  deadlines,
  image_tokens_max,
  page_tokens_max,
  pages_max,
  audio_tokens_per_second_max,
});
export type WildcardText = Static<typeof WildcardText>;

/** A model with any operations. `modelSchemaOf` decides which keys a particular model needs. */
const AnyModelText = closed(
  `${ModelText.description}`,
  { ...ModelText.properties, max_output, quality: Type.Optional(ModelText.properties.quality) },
  MODEL_RULES,
);

/** The catalog: models, and wildcards, whose IDs contain `*`. */
export const ModelsText = Type.Object(
  {},
  {
    description:
      'ID → model: the catalog. An ID that ends in `*` is a wildcard, which serves all models whose IDs begin with it.',
    patternProperties: { '^[^*]*$': AnyModelText, '\\*': WildcardText },
  },
);
