import { Type } from '@sinclair/typebox';
import * as field from '../../core/api/parts.ts';
import { MODEL_CAPABILITIES } from '../../core/capability.ts';
import { OPERATION_NAMES } from '../../core/operation.ts';

export const Model = field.named('Model', 'A model, a selector or an alias, for the readers of every dialect.', {
  id: field.modelId('The value to send as `model`.'),
  object: field.always('model'),
  created: field.unixTime('When the model came out; 0 for a selector.'),
  owned_by: field.text('The provider asked first; `signalbox` for a selector.', 'openai'),
  type: field.always('model'),
  display_name: field.text('The ID; of an alias, the name that it stands for.', 'gpt-6-luna'),
  created_at: field.moment('`created`.', '2026-10-26T10:40:00Z'),
  lifecycle: field.word(
    ['active', 'deprecated'],
    '`deprecated` if the policy has `deprecated` for the model. Requests still reach it.',
    'active',
  ),
  deprecated_at: field.orNull(
    field.moment('The day.', '2026-11-01T00:00:00Z'),
    'When the provider deprecated the model, by the policy; null for an active one.',
  ),
  retires_at: field.textOrNull(
    'Always null: Signalbox knows no dates of retirement. SDKs of Anthropic require it.',
    null,
  ),
  line: field.textOrNull('Always null: Signalbox knows no lines of models. SDKs of Anthropic require it.', null),
  capabilities: field.orNull(Type.Object({}), 'Always null: `abilities` has them. SDKs of Anthropic require it.', null),
  max_input_tokens: field.orNull(
    field.tokens('Tokens.', 400_000),
    'Tokens of the context window; of a selector, of the largest among its models. Null for a selector without models, and for a wildcard that states none.',
    400_000,
  ),
  max_tokens: field.orNull(
    field.tokens('Tokens.', 128_000),
    'The most output tokens, likewise; also null where no text is written.',
    128_000,
  ),
  operations: field.arrayOf(field.word(OPERATION_NAMES, 'An operation.'), 'What it is for.', ['chat']),
  abilities: field.textList(
    `What it can do: ${MODEL_CAPABILITIES.map((name) => `\`${name}\``).join(', ')}. A selector chooses a model that can.`,
    ['tools', 'vision'],
  ),
});
const RATES = {
  input_usd: field.usd('A million input tokens.', '0.25'),
  cached_input_usd: field.usd('A million input tokens that are read from the cache of the provider.', '0.025'),
  output_usd: field.usd('A million output tokens.', '2'),
};
/** What is added for people. */
export const ModelDetails = field.shape('What people compare models by.', {
  price: field.shapeOrNull(
    'The price at the provider that is tried first. Null for a selector. For a wildcard, it is the price that the policy states: `price` applies to all its models, `unknown_price` to models without a public price. Null if the policy states neither.',
    {
      ...RATES,
      per_request_usd: field.usd('The fee for each request; `0` for none.', '0'),
      tiers: field.rows(
        'The prices of longer prompts, in ascending order. A tier replaces the prices above for the whole request.',
        {
          over_input_tokens: field.tokens('The tier applies to requests with more input tokens than this.', 200_000),
          ...RATES,
        },
        [],
      ),
    },
  ),
  quality: field.shapeOrNull('The share of good answers that the policy expects. Null for a selector or a wildcard.', {
    default: field.share('For tasks without a figure of their own.', 0.82),
    tasks: field.mapOf(field.share('A share.'), 'By task, where the policy states a figure.', { code: 0.88 }),
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
});
export const DetailedModel = field.named(
  'DetailedModel',
  'A model, a wildcard, a selector or an alias, with what people compare models by.',
  { ...Model.properties, ...ModelDetails.properties },
);
const LIST_ENDS = {
  has_more: field.flag('Whether the page left out models behind `last_id`.', false),
  first_id: field.textOrNull('The first ID; null for an empty list.', 'auto'),
  last_id: field.textOrNull('The last ID; null for an empty list.', 'sim-small'),
  models: Type.Array(Type.Object({}), {
    description:
      'Always empty. Codex reads its models here, and takes the instructions of its agent from them: with an empty list it keeps its own.',
  }),
};
export const DetailedModelList = field.named(
  'DetailedModelList',
  'Selectors first, then the models and wildcards that the caller may use; aliases after their names.',
  { ...field.listOf(DetailedModel, 'The models.'), ...LIST_ENDS },
);
export const ModelList = field.named(
  'ModelList',
  'Selectors first, then the models that the key may use; aliases behind their names.',
  {
    ...field.listOf(Model, 'The models.'),
    ...LIST_ENDS,
  },
);
