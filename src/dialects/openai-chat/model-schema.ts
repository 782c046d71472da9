import { Type } from '@sinclair/typebox';
import { modelId } from '../../core/decision/shared-fields.ts';
import * as field from '../../core/define/fields.ts';
import { OPERATION_NAMES } from '../../core/kinds/operations.ts';
import { MODEL_CAPABILITIES } from '../../core/request/capability.ts';

export const Model = field.named(
  'Model',
  'A model, a selector or an alias, in a form that clients of every dialect can read.',
  {
    id: modelId('The value to send as `model`.'),
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
      field.count('Tokens.', 400_000),
      'The tokens of the context window; for a selector, the largest window of its models. Null for a selector without models, and for a wildcard that states none.',
      400_000,
    ),
    max_tokens: field.orNull(
      field.count('Tokens.', 128_000),
      'The maximum output tokens; for a selector, the largest maximum of its models. Null for a selector without models, for a wildcard that states none, and for a model that writes no text.',
      128_000,
    ),
    operations: field.list(field.word(OPERATION_NAMES, 'An operation.'), 'The operations that the model supports.', [
      'chat',
    ]),
    abilities: field.textList(
      `The abilities of the model: ${MODEL_CAPABILITIES.map((name) => `\`${name}\``).join(', ')}. A selector chooses a model with the abilities that a request needs.`,
      ['tools', 'vision'],
    ),
  },
);
export const LIST_ENDS = {
  has_more: field.flag('Whether there are more models after `last_id`.', false),
  first_id: field.textOrNull('The first ID; null for an empty list.', 'auto'),
  last_id: field.textOrNull('The last ID; null for an empty list.', 'sim-small'),
  models: Type.Array(Type.Object({}), {
    description:
      'Always empty. Codex reads its models here, and takes the instructions of its agent from them. With an empty list, Codex uses its own instructions.',
  }),
};
export const ModelList = field.named(
  'ModelList',
  'Selectors come first, then the models that the key may use. Aliases follow the names that they stand for.',
  {
    ...field.listMembers(Model, 'The models.'),
    ...LIST_ENDS,
  },
);
