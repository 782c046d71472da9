import type { TSchema } from '@sinclair/typebox';
import { VARIABLE_NAME } from '../../core/define/policy-words.ts';
import { SchemaCheck } from '../../core/schema/check.ts';
import { answerTo, type Courtesy } from '../report/courtesy.ts';
import { alternativesIn, missingSpaceHint, usdIn } from '../yaml/slip-hints.ts';
import type { ListTree, MapTree, ScalarTree, Tree } from '../yaml/tree.ts';
import { modelTest } from './key-remedies.ts';
import { LITELLM_HINT } from './peer-key-table.ts';
import { filled, writtenValue } from './written.ts';

/** A value of the wrong type. */
interface WrongValue {
  readonly schema: TSchema;
  readonly tree: Tree;
  /** Its key, or the path of an item of a list, such as `guards[0]`. */
  readonly key: string;
}

/** Mistakes in values. Schemas state what else a value can be written as: `writtenAs`, `listedIn` and `hintForMap`. */
export const VALUE_COURTESIES: readonly Courtesy<WrongValue>[] = [
  {
    mistake: 'selectors: { mine: { strategy: auto, models: [tiny, large] } }',
    answer: ({ schema, tree, key }) => (tree.kind === 'list' ? asFilter(schema, namesOf(tree), key) : undefined),
  },
  {
    mistake:
      'providers: { own: { adapter: openai-compatible, base_url: "https://own.example/v1", api_key_env: [ONE, OTHER] } }',
    answer: ({ schema, tree }) => (tree.kind === 'list' ? asTwin(schema, tree) : undefined),
  },
  {
    mistake: 'selectors: { mine: { strategy: { mode: conditional } } }',
    answer: ({ schema, tree }) => (tree.kind === 'map' ? schema.hintForMap : undefined),
  },
  {
    mistake: 'models: { mine: { endpoints: { provider: sim } } }',
    answer: ({ schema, tree }) =>
      tree.kind === 'map' && schema.type === 'array' ? dashHint(schema.items, tree) : undefined,
  },
  {
    mistake: 'credits: usd_per_credit:1',
    answer: ({ schema, tree }) =>
      isForMap(schema, tree) ? missingSpaceHint(tree.source, Object.keys(schema.properties ?? {})) : undefined,
  },
  {
    mistake: 'selectors: { mine: { strategy: auto, models: tiny or large } }',
    answer: ({ schema, tree, key }) =>
      isForMap(schema, tree) ? asFilter(schema, alternativesIn(tree.source) ?? [], key) : undefined,
  },
  {
    mistake: 'cache: true',
    answer: ({ schema, tree, key }) => (isForMap(schema, tree) ? asMap(schema, tree, key) : undefined),
  },
  {
    mistake: 'guards: [{ name: g, guard: secrets, on_match: block, on: input }]',
    answer({ schema, tree }) {
      if (schema.type !== 'array' || tree.kind !== 'scalar' || tree.value === null) return undefined;
      const listed = alternativesIn(tree.source)?.join(', ') ?? tree.source;
      return new SchemaCheck(schema.items).accepts(tree.value) ? `write a list: [${listed}]` : undefined;
    },
  },
  {
    mistake: 'gateway: { retries_max: "2" }',
    answer: ({ schema, tree }) =>
      isTextForNumber(schema, tree) && /^-?\d+(\.\d+)?$/.test(tree.source) ? 'remove the quotes' : undefined,
  },
  {
    mistake:
      'models: { mine: { provider: sim, price: { input: $5, output: 2 }, context_window: 8192, max_output: 2048 } }',
    answer({ schema, tree, key }) {
      if (!isTextForNumber(schema, tree) || !schema.description?.startsWith('USD')) return undefined;
      const usd = usdIn(tree.source);
      return usd === undefined ? undefined : `write \`${key}: ${usd}\`: prices are in USD`;
    },
  },
];

const isForMap = (schema: TSchema, tree: Tree): tree is ScalarTree =>
  schema.type === 'object' && tree.kind === 'scalar' && tree.value !== null;

const isTextForNumber = ({ type }: TSchema, tree: Tree): tree is ScalarTree =>
  (type === 'number' || type === 'integer') && tree.kind === 'scalar' && typeof tree.value === 'string';

/** Returns a hint for a value of the wrong type: what to write instead, or else an example. */
export function typeHint(schema: TSchema, tree: Tree, key: string): string | undefined {
  const isText = tree.kind === 'scalar' && typeof tree.value === 'string';
  // The type of a text says enough, unless a number, a list or a map belongs there.
  const hasExample = !isText || ['number', 'integer', 'array', 'object'].includes(schema.type);
  return answerTo(VALUE_COURTESIES, { schema, tree, key }) ?? (hasExample ? example(schema) : undefined);
}

export function example(schema: TSchema): string | undefined {
  const [first]: unknown[] = Array.isArray(schema.examples) ? schema.examples : [];
  const written = JSON.stringify(first);
  // The example of a map with free keys is `{}`, which is not helpful.
  return written === undefined || written === '{}' ? undefined : `for example ${written}`;
}

const namesOf = ({ items }: ListTree): readonly string[] =>
  items.flatMap((item) => (item.kind === 'scalar' ? item.source : []));

/** Returns a hint for names of models where a filter belongs: the filter to write. */
function asFilter({ properties = {} }: TSchema, names: readonly string[], key: string): string | undefined {
  if (key !== 'models' || properties.require === undefined || names.length === 0) return undefined;
  return `write \`models: { require: '${modelTest(names)}' }\``;
}

/** Returns a hint for a value where a map belongs that has the value in its keys: `write \`team: { name: search }\``. */
function asMap({ writtenAs }: TSchema, tree: ScalarTree, key: string): string | undefined {
  if (typeof writtenAs !== 'string') return undefined;
  const keys = filled(writtenAs, { value: writtenValue(tree) });
  if (keys === writtenAs && OFF.test(tree.source)) return `leave \`${key}\` out to turn it off`;
  // The path of an entry begins with its section, and names of entries can have dots.
  const name = key.slice(key.indexOf('.') + 1);
  return `write \`${key.endsWith(']') ? '- ' : `${name}: `}{ ${keys} }\``;
}

const OFF = /^(?:false|off|no|none)$/i;

/** Returns a hint for a list in a key that takes one value, if another key takes several. */
const asTwin = ({ listedIn }: TSchema, tree: ListTree): string | undefined =>
  typeof listedIn === 'string' ? `write \`${listedIn}: ${writtenValue(tree)}\`` : undefined;

/**
 * Returns a hint for a map where a list of maps belongs: its first line with a dash. `dashHint` returns undefined for a list of other
 * values.
 */
export function dashHint({ properties }: TSchema, { entries }: MapTree): string | undefined {
  const [first] = entries;
  if (!first || properties === undefined) return undefined;
  // The map in the policy is keyed by name, as some other sections are.
  if (properties[first.key] === undefined && properties.name !== undefined && first.value.kind === 'map') {
    return `this section is a list: write \`- name: ${first.key}\` instead of \`${first.key}:\``;
  }
  const { key, value } = first;
  const written = value.kind === 'scalar' && value.value !== null ? value.source : '…';
  return `a list needs a dash before the first key of each item: \`- ${key}: ${written}\``;
}

/** Keys with which other tools name an item of a list. */
const NAMING: readonly string[] = ['name', 'id', 'model_name', 'model', 'provider'];

/** Returns a hint for a list where a map of names belongs: the first line to write. */
export function namesHint(tree: Tree): string {
  const [first] = tree.kind === 'list' ? tree.items : [];
  const entries = first?.kind === 'map' ? first.entries : [];
  if (entries.some(({ key }) => key === 'litellm_params')) return LITELLM_HINT;
  const named = entries.find(({ key, value }) => NAMING.includes(key) && value.kind === 'scalar');
  if (named === undefined) return 'write each name on a line of its own as `name:`, and its keys indented below it';
  const name = writtenValue(named.value);
  return `write \`${name}:\` instead of \`- ${named.key}: ${name}\`, and the other keys indented below it`;
}

/** Returns a hint for a text in the wrong form. */
export function formHint(schema: TSchema, tree: Tree): string | undefined {
  if (schema.pattern !== VARIABLE_NAME.pattern || tree.kind !== 'scalar') return undefined;
  const [, sign, name = ''] = /^(\$|os\.environ\/)?\{?([A-Za-z_]\w*)\}?$/.exec(tree.source) ?? [];
  if (name === '') return undefined;
  return `write \`${name.toUpperCase()}\`${sign ? ` without \`${sign}\`` : ', in capitals'}`;
}
