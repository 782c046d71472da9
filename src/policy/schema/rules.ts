import { Type } from '@sinclair/typebox';
import { closed, figure, optional } from '../../core/define/fields.ts';
import { expression, itemName, needsOneOf, policyAmount } from '../../core/define/policy-words.ts';

const RULE_NAME = 'Name of the rule, in decisions and messages.';

const when = optional(
  expression(
    'Condition for requests to which the rule applies: CEL over `request`, `key`, `team`, `user`, `time` and `guards`. Default: all requests.',
    'key.labels.department == "legal"',
    'request.task == "coding" && request.input_tokens > 20000.0',
    'time.hour >= 22.0 || time.hour < 6.0',
  ),
);

export const ConstraintText = closed(
  'A hard rule, which rejects models and endpoints. State at least one of `require`, `max_latency_ms` and `max_cost_credits`.',
  {
    name: itemName(RULE_NAME, 'legal-stays-in-the-eu'),
    when,
    require: optional(
      expression(
        'Condition that a model and its endpoint must satisfy: CEL over `model` and `endpoint`.',
        '"eu" in endpoint.regions',
        '"private" in model.tags',
        'model.price.output <= 5.0',
      ),
    ),
    max_latency_ms: optional(
      figure('The longest acceptable expected time to the end of the answer, in ms.', {
        exclusiveMinimum: 0,
        maximum: 86_400_000,
        example: 5000,
      }),
    ),
    max_cost_credits: optional(
      policyAmount(
        { exclusiveMinimum: 0, maximum: 1_000_000_000, example: 2.5 },
        'The highest acceptable expected cost: Credits, or a text such as `0.02 USD`.',
        '0.02 USD',
      ),
    ),
  },
  needsOneOf('require', 'max_latency_ms', 'max_cost_credits'),
);

export const PreferenceText = closed('A soft rule, which raises or lowers the quality of models.', {
  name: itemName(RULE_NAME, 'own-hardware-at-night'),
  when,
  prefer: expression(
    'Condition that is true for the preferred models: CEL over `model`.',
    '"local" in model.tags',
    'model.provider == "ollama"',
  ),
  worth: figure(
    'How much the rule adds to the quality of the preferred models. 0.05 counts as if 5 more answers in 100 were good. A negative figure lowers the quality.',
    { minimum: -1, maximum: 1, example: 0.05 },
  ),
});

export const SelectorModelsText = closed('Filter for the models that the selector chooses from. Default: all models.', {
  require: expression(
    'Condition that is true for the models which the selector may choose: CEL over `model`.',
    '"private" in model.tags',
    'model.price.output == 0.0',
  ),
});

export const PluginText = Type.String({
  minLength: 1,
  maxLength: 512,
  examples: ['./plugins/thrifty.ts', '@acme/signalbox-strategy'],
  description: 'A path relative to the policy folder that begins with `./` or `../`, or the name of a package.',
});
