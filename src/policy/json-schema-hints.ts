import type { CelKind } from './cel-types.ts';
import type { EditorWord, NameKind } from './json-schema-words.ts';
import { LEARNING_MODE_MEANINGS } from './schema-learning.ts';

/** Facts on a key, for editors, that its schema does not have. */
export interface EditorHint {
  /** Default: made from the key; for an entry that is a map, in the singular. */
  readonly title?: string;
  /** The kind of thing that its value names. */
  readonly names?: NameKind;
  /** The kind of thing that the keys of its map name. */
  readonly keys?: NameKind;
  /** The kind of expression that it holds. */
  readonly sees?: CelKind;
  /** Words that are short for the whole value. */
  readonly short?: readonly EditorWord[];
  /** Its keys are names chosen by the operator. */
  readonly isNamed?: boolean;
}

const OFF = (means: string): readonly EditorWord[] => [['off', means]];

/** By path: `*` stands for each name of a map, `[]` for each item of a list. */
export const HINTS: Readonly<Record<string, EditorHint>> = {
  providers: { isNamed: true },
  'providers.*.adapter': { names: 'adapter' },
  'providers.*.preset': { names: 'preset' },
  models: { isNamed: true },
  'models.*.provider': { names: 'provider' },
  'models.*.endpoints[].provider': { names: 'provider' },
  'models.*.price': { title: 'Price (USD per 1M tokens)' },
  'models.*.endpoints[].price': { title: 'Price (USD per 1M tokens)' },
  'models.*.languages[]': { names: 'language' },
  'models.*.lacks_languages[]': { names: 'language' },
  'models.*.quality': { keys: 'task' },
  'models.*.quality.*': { title: 'Share of good answers' },
  tasks: { isNamed: true, keys: 'task' },
  selectors: { isNamed: true },
  'selectors.*.strategy': { names: 'strategy' },
  'selectors.*.models.require': { sees: 'model' },
  'gateway.time_zone': { names: 'zone' },
  'records.content.match': { sees: 'budget' },
  'records.reported_runs': { sees: 'limit' },
  'constraints[].when': { sees: 'when' },
  'constraints[].require': { sees: 'constraint' },
  'preferences[].when': { sees: 'when' },
  'preferences[].prefer': { sees: 'model' },
  'budgets[].each': { sees: 'budget' },
  'budgets[].match': { sees: 'budget' },
  'budgets[].time_zone': { names: 'zone' },
  'rate_limits[].each': { sees: 'limit' },
  'rate_limits[].match': { sees: 'limit' },
  'sign_in.roles[].when': { sees: 'claims' },
  'tokens[].when': { sees: 'claims' },
  'tokens[].admin': { sees: 'claims' },
  'tokens[].team': { sees: 'claims' },
  'tokens[].labels.*': { sees: 'claims' },
  'tokens[].models[]': { names: 'model' },
  learning: { short: Object.entries(LEARNING_MODE_MEANINGS) },
  'learning.explore': { short: OFF('Nothing is tried.') },
  'learning.estimator': { names: 'estimator' },
  baseline: { names: 'model' },
  'cases[].given.model': { names: 'asked' },
  'cases[].given.task_type': { names: 'task' },
  'cases[].given.constraints.required_languages[]': { names: 'language' },
  'cases[].given.key.models[]': { names: 'model' },
  'cases[].expect.model': { names: 'model' },
  'cases[].expect.provider': { names: 'provider' },
  'cases[].expect.task': { names: 'task' },
  'cases[].expect.rejected': { keys: 'model' },
  'cases[].expect.rejected.*': { names: 'reason' },
  'cases[].expect.refused': { names: 'error' },
};
