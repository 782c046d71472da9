import * as field from '../../core/define/fields.ts';
import { LIST_ENDS, Model } from '../../dialects/openai-chat/model-schema.ts';

const RATES = {
  input_usd: field.usd('A million input tokens.', '0.25'),
  cached_input_usd: field.usd('The price of a million input tokens that are read from the provider’s cache.', '0.025'),
  output_usd: field.usd('A million output tokens.', '2'),
};
/** Members that only people need. */
export const ModelDetails = field.shape('Details with which people compare models.', {
  price: field.shapeOrNull(
    'The price at the provider that is tried first. Null for a selector. For a wildcard, it is the price that the policy states: `price` applies to all its models, `unknown_price` to models without a public price. Null if the policy states neither.',
    {
      ...RATES,
      per_request_usd: field.usd('The fee for each request; `0` if there is none.', '0'),
      tiers: field.rows(
        'The prices of longer prompts, in ascending order. A tier replaces the prices above for the whole request.',
        {
          over_input_tokens: field.count('The tier applies to requests with more input tokens than this.', 200_000),
          ...RATES,
        },
        [],
      ),
      service_tiers: field.rows(
        'The prices of service tiers for short prompts.',
        { name: field.text('The name of the tier.', 'flex'), ...RATES },
        [],
      ),
      until: field.orNull(
        field.moment('When another price begins to apply; null for a price that does not change with time.'),
      ),
    },
  ),
  quality: field.shapeOrNull('The share of good answers that the policy expects. Null for a selector or a wildcard.', {
    default: field.share('The share for tasks that have no figure of their own.', 0.82),
    tasks: field.mapOf(field.share('A share.'), 'The shares by task, if the policy states them.', { code: 0.88 }),
    basis: field.word(['measured', 'guessed', 'unknown'], 'Where the figures come from.', 'measured'),
  }),
  selectors: field.textList(
    'The selectors that can choose it; none for a wildcard and its models. A selector can choose an embedding model only from its own `vector_space`.',
    ['auto', 'auto-fast'],
  ),
  pattern: field.textOrNull(
    'The wildcard of the policy that the model belongs to; a wildcard has its own ID here. Null for a model of the catalog.',
    null,
  ),
  found: field.shapeOrNull('How Signalbox found the model; null for a model that the policy declares.', {
    provider: field.text('The provider whose server has the model.', 'ollama'),
    since: field.moment('When the model was first found.', '2026-11-20T12:03:00.000Z'),
    guessed: field.textList('The figures that are guesses.', ['quality', 'context']),
  }),
});
export const DetailedModel = field.named(
  'DetailedModel',
  'A model, a wildcard, a selector or an alias, with details with which people compare models.',
  { ...Model.properties, ...ModelDetails.properties },
);
export const DetailedModelList = field.named(
  'DetailedModelList',
  'Selectors come first, then the models and wildcards that the caller may use. Aliases follow the names that they stand for.',
  { ...field.listMembers(DetailedModel, 'The models.'), ...LIST_ENDS },
);
