import { Type } from '@sinclair/typebox';
import * as field from '../../core/api/parts.ts';
import { MODEL_CAPABILITIES } from '../../core/capability.ts';
import { OPERATION_NAMES } from '../../core/operation.ts';

export const Model = field.named(
  'Model',
  'A model, a selector or an alias, in a form that clients of every dialect can read.',
  {
    id: field.modelId('The value to send as `model`.'),
    object: field.always('model'),
    created: field.unixTime('When the model was released; 0 for a selector.'),
    owned_by: field.text('The provider that is tried first; `signalbox` for a selector.', 'openai'),
    type: field.always('model'),
    display_name: field.text('The ID. For an alias, it is the name that the alias stands for.', 'gpt-6-luna'),
    created_at: field.moment('`created`.', '2026-10-26T10:40:00Z'),
    lifecycle: field.word(
      ['active', 'deprecated'],
      '`deprecated` if the policy marks the model as `deprecated`. The model still accepts requests.',
      'active',
    ),
    deprecated_at: field.orNull(
      field.moment('The day.', '2026-11-01T00:00:00Z'),
      'When the provider deprecated the model, according to the policy; null for an active model.',
    ),
    retires_at: field.textOrNull(
      'Always null, because Signalbox knows no retirement dates. SDKs of Anthropic require the field.',
      null,
    ),
    line: field.textOrNull(
      'Always null, because Signalbox knows no model lines. SDKs of Anthropic require the field.',
      null,
    ),
    capabilities: field.orNull(
      Type.Object({}),
      'Always null: see `abilities`. SDKs of Anthropic require the field.',
      null,
    ),
    max_input_tokens: field.orNull(
      field.tokens('Tokens.', 400_000),
      'The tokens of the context window; for a selector, the largest window of its models. Null for a selector without models, and for a wildcard that states none.',
      400_000,
    ),
    max_tokens: field.orNull(
      field.tokens('Tokens.', 128_000),
      'The maximum output tokens; for a selector, the largest maximum of its models. Null for a selector without models, for a wildcard that states none, and for a model that writes no text.',
      128_000,
    ),
    operations: field.arrayOf(field.word(OPERATION_NAMES, 'An operation.'), 'The operations that the model supports.', [
      'chat',
    ]),
    abilities: field.textList(
      `The abilities of the model: ${MODEL_CAPABILITIES.map((name) => `\`${name}\``).join(', ')}. A selector chooses a model with the abilities that a request needs.`,
      ['tools', 'vision'],
    ),
  },
);
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
          over_input_tokens: field.tokens('The tier applies to requests with more input tokens than this.', 200_000),
          ...RATES,
        },
        [],
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
const LIST_ENDS = {
  has_more: field.flag('Whether there are more models after `last_id`.', false),
  first_id: field.textOrNull('The first ID; null for an empty list.', 'auto'),
  last_id: field.textOrNull('The last ID; null for an empty list.', 'sim-small'),
  models: Type.Array(Type.Object({}), {
    description:
      'Always empty. Codex reads its models here, and takes the instructions of its agent from them. With an empty list, Codex uses its own instructions.',
  }),
};
export const DetailedModelList = field.named(
  'DetailedModelList',
  'Selectors come first, then the models and wildcards that the caller may use. Aliases follow the names that they stand for.',
  { ...field.listOf(DetailedModel, 'The models.'), ...LIST_ENDS },
);
export const ModelList = field.named(
  'ModelList',
  'Selectors come first, then the models that the key may use. Aliases follow the names that they stand for.',
  {
    ...field.listOf(Model, 'The models.'),
    ...LIST_ENDS,
  },
);
