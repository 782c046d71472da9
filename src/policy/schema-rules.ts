import { Type } from '@sinclair/typebox';
import { closed, expression, itemName, needsOneOf, number, optional } from './schema-parts.ts';

const RULE_NAME = 'Its name, in decisions and messages.';

const when = optional.expression(
  'When the rule applies: CEL over `request`, `key` and `time`. Default: always.',
  'key.labels.department == "legal"',
  'request.task == "coding" && request.input_tokens > 20000.0',
  'time.hour >= 22.0 || time.hour < 6.0',
);

export const ConstraintText = closed(
  'A hard rule. At least one of `require`, `max_latency_ms` and `max_cost_credits`.',
  {
    name: itemName(RULE_NAME, 'legal-stays-in-the-eu'),
    when,
    require: optional.expression(
      'Condition on a model and its endpoint: CEL over `model` and `endpoint`.',
      '"eu" in endpoint.regions',
      '"private" in model.tags',
      'model.price.output <= 5.0',
    ),
    max_latency_ms: optional.number(
      { exclusiveMinimum: 0, maximum: 86_400_000, example: 5000 },
      'Most expected milliseconds to the end of the answer.',
    ),
    max_cost_credits: optional.number(
      { exclusiveMinimum: 0, maximum: 1_000_000_000, example: 2.5 },
      'Ceiling of the expected cost, in Credits.',
    ),
  },
  needsOneOf('require', 'max_latency_ms', 'max_cost_credits'),
);

export const PreferenceText = closed('A soft rule.', {
  name: itemName(RULE_NAME, 'own-hardware-at-night'),
  when,
  prefer: expression('Preferred models: CEL over `model`.', '"local" in model.tags', 'model.provider == "ollama"'),
  worth: number(
    { minimum: -1, maximum: 1, example: 0.05 },
    'What is added to their quality: 0.05 is as if 5 more answers of 100 were good.',
  ),
});

export const SelectorModelsText = closed('Filter of the models to choose from. Default: all.', {
  require: expression(
    'Models that it may choose: CEL over `model`.',
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
