import { type Static, Type } from '@sinclair/typebox';
import { MODEL_RULES, ModelText, PriceText } from './schema-model.ts';
import { closed, string } from './schema-parts.ts';

const AsText = closed('A price that you own: nobody is billed for more.', { as: PriceText });

const UnknownPrice = Type.Union([Type.Literal('refuse'), AsText], {
  default: 'refuse',
  examples: ['refuse', { as: { input: 5, output: 25 } }],
  expected: '`refuse`, or `as` with a price',
  description:
    'Of a wildcard: what an ID without a known price costs. `refuse` serves none; `as` has a price that you own.',
});

const { upstream, regions, price, default_max_output, capabilities, lacks, tags } = ModelText.properties;
const { family, tokenizer, temperature, reasoning_tokens, latency, deadlines } = ModelText.properties;
const { image_tokens_max, page_tokens_max, pages_max, audio_tokens_per_second_max } = ModelText.properties;
const { items, description, examples } = capabilities;
const context_window = Type.Optional(ModelText.properties.context_window);
const max_output = Type.Optional(ModelText.properties.max_output);

/** Models whose IDs begin alike. Its own keys hold for all of them; the table of facts has the others. */
export const WildcardText = closed('Any model of a provider, by its ID.', {
  ...{
    provider: string({ minLength: 1, example: 'openai' }, 'Name of a provider.'),
    upstream,
    regions,
    price,
    unknown_price: UnknownPrice,
  },
  ...{ context_window, max_output, default_max_output, lacks, tags, family, tokenizer },
  // Without a default: what is left out is a fact.
  capabilities: Type.Optional(Type.Array(items, { description, examples })),
  temperature: Type.Optional(temperature),
  ...{ reasoning_tokens, latency, deadlines },
  ...{ image_tokens_max, page_tokens_max, pages_max, audio_tokens_per_second_max },
});
export type WildcardText = Static<typeof WildcardText>;

/** A model of any operations. `modelSchemaOf` says which keys one needs. */
const AnyModelText = closed(
  `${ModelText.description}`,
  { ...ModelText.properties, max_output, quality: Type.Optional(ModelText.properties.quality) },
  MODEL_RULES,
);

/** The catalog: models, and wildcards by the `*` in their IDs. */
export const ModelsText = Type.Object(
  {},
  {
    description: 'ID → model: the catalog. An ID that ends in `*` is a wildcard.',
    patternProperties: { '^[^*]*$': AnyModelText, '\\*': WildcardText },
  },
);
