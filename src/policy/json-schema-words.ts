import type { TSchema } from '@sinclair/typebox';
import { type Plugin, schemaOfPlugin } from '../contract/kinds.ts';
import type { ProviderPlugin, ProviderPreset } from '../contract/provider.ts';
import { CAPABILITIES } from '../core/capability.ts';
import type { Rejection } from '../core/decision.ts';
import { ERRORS } from '../core/errors.ts';
import { TASK_NAMES } from '../core/tasks.ts';
import { LANGUAGES } from './schema-model.ts';
import { literalsOf } from './schema-parts.ts';

/** A JSON Schema, or a part of one. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** The names that a policy defines. */
export interface PolicyNames {
  readonly models: readonly string[];
  readonly providers: readonly string[];
  readonly selectors: readonly string[];
  /** Alias → the selector or model that it stands for. */
  readonly aliases: ReadonlyMap<string, string>;
  readonly tasks: readonly string[];
  readonly constraints: readonly string[];
}

/** A word with its meaning, which may be empty. */
export type EditorWord = readonly [word: string, means: string];

/** Kind of thing → its known names. Except for error codes, other names are possible. */
export type EditorVocabulary = ReturnType<typeof vocabularyOf>;
export type NameKind = keyof EditorVocabulary;

const BUILT_IN: readonly EditorWord[] = [
  ['auto', "Weighs quality, cost and latency by the operator's weights."],
  ['auto-fast', 'The weights of `auto`, with more on latency: never slower than `auto`.'],
  ['auto-cheap', 'The weights of `auto`, with more on cost: never dearer than `auto`.'],
];

const REASONS: Readonly<Record<Rejection, string>> = {
  operation: 'It does not serve the operation, `chat` or `embed`.',
  key_models: 'The API key may not use the model.',
  capability: 'It lacks what the request needs, such as tools.',
  language: 'It does not declare a programming language that is asked for.',
  max_output:
    'Its `max_output` is below what the request needs: its `max_tokens`, or with `output_above_maximum: cap` the expected answer.',
  max_cost: 'Its expected cost is above `max_cost_credits`.',
  max_latency: 'Its expected latency is above `max_latency_ms`.',
  dimensions: 'It cannot give vectors of the requested `dimensions`.',
  vector_space: 'The selector does not name its vector space.',
  thread: 'The history of the conversation is kept at another model’s service.',
  thoughts: 'It cannot read the thoughts of the tool calls under way.',
  selector: 'The selector does not choose from it.',
  constraint: 'A constraint rejects it; the name of the constraint says which.',
  unpriced: 'Its price does not cover all that the request may be billed for.',
  unbounded_media: 'Nothing bounds the tokens of images, audio or files on it.',
  context: 'The prompt and a useful output exceed its context window.',
  budget_limit: 'Its worst case exceeds `budget_limit`.',
  funds: 'Its worst case exceeds what budgets leave.',
  health: 'It is out for now.',
};

/** Time zones that editors offer. The loader takes all IANA names. */
const ZONES: readonly string[] =
  `UTC Africa/Johannesburg Africa/Lagos America/Chicago America/Denver America/Los_Angeles America/New_York
  America/Sao_Paulo America/Toronto Asia/Dubai Asia/Kolkata Asia/Shanghai Asia/Singapore Asia/Tokyo
  Australia/Sydney Europe/Amsterdam Europe/Berlin Europe/London Europe/Madrid Europe/Paris Europe/Warsaw
  Europe/Zurich`.split(/\s+/);

/** All names that a policy can use, given its plugins and its own names. */
export function vocabularyOf(plugins: readonly Plugin[], own: PolicyNames) {
  const ofKind = (kind: Plugin['kind']): EditorWord[] =>
    plugins.filter((plugin) => plugin.kind === kind).map((plugin) => [plugin.name, meaningOfPlugin(plugin)]);
  const models = named(own.models, 'A model of this policy.');
  const selectors = named(own.selectors, 'A selector of this policy.');
  const aliases = [...own.aliases].map(([alias, name]): EditorWord => [alias, `An alias of \`${name}\`.`]);
  return {
    adapter: ofKind('provider'),
    preset: plugins.flatMap((plugin) => (plugin.kind === 'provider' ? presetsOf(plugin) : [])),
    strategy: ofKind('strategy'),
    estimator: ofKind('estimator'),
    provider: named(own.providers, 'A provider of this policy.'),
    model: models,
    asked: unique([...BUILT_IN, ...selectors, ...models, ...aliases]),
    task: unique([...named(TASK_NAMES, ''), ...named(own.tasks, 'A task of this policy.')]),
    language: named(LANGUAGES, ''),
    reason: [...named(own.constraints, 'A constraint of this policy.'), ...Object.entries(REASONS)],
    error: Object.entries(ERRORS).map(([code, { means }]) => [code, means] as const),
    zone: named(ZONES, ''),
  } satisfies Readonly<Record<string, readonly EditorWord[]>>;
}

/** The words of a union of string literals; null for any other schema. The meaning of a capability is in its own table. */
export const editorWords = (schema: TSchema): readonly EditorWord[] | null =>
  literalsOf(schema)?.map(([word, means]) => [word, means || meaningOfCapability(word)]) ?? null;

const meaningOfCapability = (word: string): string =>
  Object.hasOwn(CAPABILITIES, word) ? CAPABILITIES[word as keyof typeof CAPABILITIES].means : '';

const named = (names: readonly string[], means: string): EditorWord[] => names.map((name) => [name, means]);

const unique = (words: readonly EditorWord[]): EditorWord[] => [...new Map(words.toReversed())].toReversed();

/** The description of a plugin's options, and the presets of an adapter. */
function meaningOfPlugin(plugin: Plugin): string {
  const { description } = schemaOfPlugin(plugin);
  const presets = plugin.kind === 'provider' ? Object.keys(plugin.presets ?? {}) : [];
  return [description, presets.length > 0 && `Presets: ${presets.join(', ')}.`].filter(Boolean).join(' ');
}

function presetsOf({ name, presets = {} }: ProviderPlugin): EditorWord[] {
  return Object.entries(presets).map(([preset, known]) => [preset, `${whereOf(known)}, spoken to by \`${name}\`.`]);
}

function whereOf({ baseUrl, baseUrlEnv, apiKeyEnv }: ProviderPreset): string {
  const where = baseUrl ?? `Address in \`${baseUrlEnv}\``;
  return apiKeyEnv === undefined ? where : `${where}, key in \`${apiKeyEnv}\``;
}
