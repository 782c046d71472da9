import type { Static, TObject, TSchema } from '@sinclair/typebox';
import { Value, type ValueError, ValueErrorType } from '@sinclair/typebox/value';
import type { PreparedStrategy, StrategyPlugin } from '../../contract/strategy.ts';
import { literalsOf } from '../../core/define/policy-words.ts';
import { isObject, objectOf } from '../../core/json/object.ts';
import { mostTelling, stepsOf } from '../../core/schema/errors.ts';
import { plural } from '../../core/text/text.ts';
import { messageOf } from '../../core/thrown.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import { ladderFault } from '../report/ladder-fault.ts';
import { listNames, nearest, nearestHint } from '../report/nearest.ts';
import type { Report } from '../report/report.ts';
import { describe, entryOf, placeAt, type ScalarTree, type Tree, toData, valueAt } from '../yaml/tree.ts';
import { keyRemedy } from './key-remedies.ts';
import { insteadOf, pluginKeyHint, type UnknownKey } from './peer-keys.ts';
import { example, formHint, typeHint } from './value-hints.ts';

/** A value to check, with its path and location for messages. */
export interface Subject {
  /** The path of the value, such as `models.gpt-5`. */
  readonly path: string;
  readonly tree: Tree;
  /** The location of the value's name. Missing keys of the value are reported at this location. */
  readonly place: SourceSpan;
}

/**
 * Fills in defaults and checks a value against a schema. `checkValue` reports errors, and returns null if the value does not satisfy the
 * schema.
 */
export function checkValue<Schema extends TSchema>(
  schema: Schema,
  subject: Subject,
  report: Report,
): Static<Schema> | null {
  const data = keepingLists(subject.tree, Value.Default(schema, toData(subject.tree)));
  if (Value.Check(schema, data)) return data;
  const errors = [...Value.Errors(schema, data)].map(mostTelling);
  const misspelt = new Set(errors.map((error) => intendedKey(error, subject)));
  for (const error of errors) {
    // A misspelt required key is one mistake, not two mistakes. The mistake is reported at the misspelt key.
    const isReported = error.type === ValueErrorType.ObjectRequiredProperty && misspelt.has(error.path);
    if (!isReported) explain(error, subject, report);
  }
  return null;
}

/** Returns the path of the known key that an unknown key probably stands for. */
function intendedKey(error: ValueError, subject: Subject): string | null {
  const { type, path, schema } = error;
  if (type !== ValueErrorType.ObjectAdditionalProperties) return null;
  const meant =
    keyRemedy(unknownKey(error, subject))?.meant ?? nearest(stepsOf(path).at(-1) ?? '', propertiesOf(schema));
  return meant === null ? null : `${path.slice(0, path.lastIndexOf('/'))}/${meant}`;
}

function unknownKey({ path, schema }: ValueError, subject: Subject): UnknownKey {
  const steps = stepsOf(path);
  return {
    key: steps.at(-1) ?? '',
    value: valueAt(subject.tree, ...steps),
    name: subject.path.slice(subject.path.indexOf('.') + 1),
    owner: valueAt(subject.tree, ...steps.slice(0, -1)),
    known: propertiesOf(schema),
  };
}

const propertiesOf = ({ properties }: TSchema): string[] => Object.keys(objectOf(properties));

/** Restores lists that are written where a map belongs, because filling in defaults turns them into maps. */
function keepingLists(tree: Tree, filled: unknown): unknown {
  if (tree.kind === 'scalar' || typeof filled !== 'object' || filled === null) return filled;
  if (tree.kind === 'list' && !Array.isArray(filled)) return toData(tree);
  const inner = (key: string, value: Tree) => keepingLists(value, Object.getOwnPropertyDescriptor(filled, key)?.value);
  if (tree.kind === 'list') return tree.items.map((item, at) => inner(`${at}`, item));
  return { ...filled, ...Object.fromEntries(tree.entries.map(({ key, value }) => [key, inner(key, value)])) };
}

/** Reports a figure that exceeds another figure of the same map. A figure that the policy does not state is no limit. */
export function checkAtMost(
  { path, tree }: Subject,
  keys: readonly string[],
  value: number | undefined,
  [limitKey, limit]: readonly [key: string, value: number | undefined],
  { report }: { readonly report: Report },
): void {
  if (value === undefined || limit === undefined || value <= limit) return;
  const message = `\`${[path, ...keys].join('.')}\` is more than \`${limitKey}\``;
  report.add('out-of-range', placeAt(tree, ...keys), message, { expected: `at most ${limit}` });
}

/** Checks the options of a plugin. Unknown option keys are errors, unless the plugin's schema allows them. */
export function checkOptions(
  schema: TObject,
  subject: Subject,
  report: Report,
): Readonly<Record<string, unknown>> | null {
  const strict = { ...schema, additionalProperties: schema.additionalProperties ?? false };
  const options: unknown = checkValue(strict, subject, report);
  return isObject(options) ? { ...options } : null;
}

function explain(error: ValueError, subject: Subject, report: Report): void {
  const steps = stepsOf(error.path);
  const parent = steps.slice(0, -1);
  const last = steps.at(-1) ?? '';
  const owner = `\`${nameOf(subject.path, subject.tree, parent)}\``;
  if (error.type === ValueErrorType.ObjectRequiredProperty) {
    report.add('missing-key', keyPlace(subject, parent), `${owner} needs the key \`${last}\``, {
      hint: about(error.schema, last),
    });
    return;
  }
  if (error.type === ValueErrorType.ObjectAdditionalProperties) {
    const unknown = unknownKey(error, subject);
    const remedy = keyRemedy(unknown);
    const { schema } = error;
    const hasForm = schema.patternProperties !== undefined && typeof schema.expected === 'string';
    const details = hasForm
      ? { expected: String(schema.expected) }
      : insteadOf(last, unknown.known, remedy, pluginKeyHint(unknown));
    report.add('unknown-key', keyPlace(subject, steps), `${owner} has no key \`${last}\``, details);
    return;
  }
  const tree = valueAt(subject.tree, ...steps);
  // A missing value was already reported as a missing key.
  if (!tree) return;
  const [code, problem, details] = problemOf(error, tree, last || subject.path);
  report.add(code, tree.place, `\`${nameOf(subject.path, subject.tree, steps)}\` ${problem}`, details);
}

type Problem = readonly [
  'wrong-type' | 'out-of-range' | 'not-one-of' | 'bad-form' | 'missing-key',
  string,
  { expected?: string; hint?: string },
];

function problemOf({ type, schema, message }: ValueError, tree: Tree, key: string): Problem {
  const found = describe(tree);
  const words = literalsOf(schema);
  if (words) {
    const hint = tree.kind === 'scalar' ? wordHint(schema, words, tree) : undefined;
    return ['not-one-of', `cannot be ${found}`, { expected: `one of ${listNames(words)}`, hint }];
  }
  if (type === ValueErrorType.Literal)
    return ['not-one-of', `must be ${String(schema.const)}, found ${found}`, { expected: schema.expected }];
  if (type === ValueErrorType.StringPattern) {
    const expected = typeof schema.expected === 'string' ? schema.expected : `a text like ${String(schema.pattern)}`;
    return ['bad-form', `cannot be ${found}`, { expected, hint: formHint(schema, tree) }];
  }
  if (type === ValueErrorType.Union && typeof schema.expected === 'string') {
    const isChoice = schema.anyOf?.every((one: TSchema) => one.const !== undefined);
    return [isChoice ? 'not-one-of' : 'wrong-type', `cannot be ${found}`, { expected: schema.expected }];
  }
  const wanted = TYPE_NAMES[type];
  if (wanted) return ['wrong-type', `must be ${wanted}, found ${found}`, { hint: typeHint(schema, tree, key) }];
  if (type === ValueErrorType.ObjectMinProperties)
    return ['missing-key', 'is empty', { expected: `one of ${listNames(propertiesOf(schema))}` }];
  const limit = limitsOf(schema);
  const hint = typeof schema.description === 'string' ? schema.description : undefined;
  const problem = tree.kind === 'list' ? `has ${plural(tree.items.length, 'item')}` : `cannot be ${found}`;
  if (limit) return ['out-of-range', problem, { expected: limit, hint }];
  return ['bad-form', `is wrong: ${message}`, {}];
}

const TYPE_NAMES: Partial<Record<ValueErrorType, string>> = {
  [ValueErrorType.Array]: 'a list',
  [ValueErrorType.Boolean]: '`true` or `false`',
  [ValueErrorType.Integer]: 'a whole number',
  [ValueErrorType.Number]: 'a number',
  [ValueErrorType.Object]: 'a map',
  [ValueErrorType.String]: 'a text',
};

/** Returns a hint for a word that is not one of the accepted words. */
const wordHint = ({ hints }: TSchema, words: readonly string[], tree: ScalarTree): string | undefined =>
  hints?.[tree.source] ?? nearestHint(tree.source, words);

/** Writes the bounds of a schema, such as `at least 0, at most 10`; null for none. */
export function limitsOf(schema: TSchema): string | null {
  const limits: readonly (readonly [words: string, limit: unknown, unit?: string])[] = [
    ['at least', schema.minimum],
    ['more than', schema.exclusiveMinimum],
    ['at most', schema.maximum],
    ['less than', schema.exclusiveMaximum],
    ['at least', schema.minLength, 'character'],
    ['at most', schema.maxLength, 'character'],
    ['at least', schema.minItems, 'item'],
    ['at most', schema.maxItems, 'item'],
  ];
  const stated = limits.flatMap(([words, limit, unit]) => {
    if (typeof limit !== 'number') return [];
    return `${words} ${unit === undefined ? limit : plural(limit, unit)}`;
  });
  return stated.length > 0 ? stated.join(', ') : null;
}

function about(schema: TSchema, key: string): string | undefined {
  if (typeof schema.description !== 'string') return undefined;
  const shown = example(schema)?.replace(/^f/, ' F') ?? '';
  return `\`${key}\`: ${schema.description}${shown}`;
}

function nameOf(path: string, root: Tree, steps: readonly string[]): string {
  let name = path;
  let at: Tree | undefined = root;
  for (const step of steps) {
    name += at?.kind === 'list' ? `[${step}]` : `.${step}`;
    at = at && valueAt(at, step);
  }
  return name;
}

/** Returns the location of the last key in a path, or of the item in a list. */
function keyPlace(subject: Subject, steps: readonly string[]): SourceSpan {
  const last = steps.at(-1);
  const parent = valueAt(subject.tree, ...steps.slice(0, -1));
  if (last === undefined || !parent) return subject.place;
  return entryOf(parent, last)?.place ?? valueAt(parent, last)?.place ?? subject.place;
}

/**
 * Checks the options of a plugin with its schema, then with its `prepare`. `optionsOf` returns null if the options do not satisfy the
 * schema.
 */
export function optionsOf(
  plugin: StrategyPlugin,
  subject: Subject,
  report: Report,
): Readonly<Record<string, unknown>> | null {
  const options = checkOptions(plugin.options, subject, report);
  if (!options) return null;
  const refusal = refusalOf(plugin, options);
  if (refusal !== null) {
    const message = `${plugin.kind} \`${plugin.name}\` does not accept its options: ${refusal}`;
    report.add('plugin-failed', subject.tree.place, message);
  }
  return options;
}

function refusalOf(plugin: StrategyPlugin, options: Readonly<Record<string, unknown>>): string | null {
  try {
    // The compiler does not check the types of JavaScript plugins. A strategy without a `score` would fail on every request.
    const prepared: Partial<PreparedStrategy> | undefined = plugin.prepare(options);
    if (typeof prepared?.score !== 'function') return '`prepare` returns no `score` function';
    return prepared.per === 'build' ? ladderFault(prepared) : null;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Returns the valid keys of a value that does not satisfy its schema, with defaults and without unknown keys, so that one wrong key does
 * not hide other problems.
 */
export function validPartsOf<Schema extends TObject>(schema: Schema, tree: Tree): Partial<Static<Schema>> {
  const data: unknown = Value.Clean(schema, Value.Default(schema, toData(tree)));
  const fitting = Object.entries(objectOf(data)).filter(([key, value]) => {
    const property = schema.properties[key];
    return property !== undefined && Value.Check(property, value);
  });
  return Object.fromEntries(fitting) as Partial<Static<Schema>>;
}
