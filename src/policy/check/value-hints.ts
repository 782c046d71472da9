import type { TSchema } from '@sinclair/typebox';
import { VARIABLE_NAME } from '../../core/define/policy-words.ts';
import { SchemaCheck } from '../../core/schema/check.ts';
import { alternativesIn, missingSpaceHint, usdIn } from '../yaml/slip-hints.ts';
import type { ListTree, MapTree, ScalarTree, Tree } from '../yaml/tree.ts';
import { modelTest } from './key-remedies.ts';
import { LITELLM_HINT } from './peer-key-table.ts';
import { filled, writtenValue } from './written.ts';

/** Returns a hint for a value of the wrong type. @param key its key, or the path of an item of a list, such as `guards[0]` */
export function typeHint(schema: TSchema, tree: Tree, key: string): string | undefined {
  if (tree.kind === 'list') return asFilter(schema, namesOf(tree), key) ?? asTwin(schema, tree) ?? example(schema);
  if (tree.kind === 'map' && typeof schema.hintForMap === 'string') return schema.hintForMap;
  if (tree.kind === 'map') return (schema.type === 'array' && dashHint(schema.items, tree)) || example(schema);
  if (schema.type === 'object' && tree.value !== null) {
    return (
      missingSpaceHint(tree.source, Object.keys(schema.properties ?? {})) ??
      asFilter(schema, alternativesIn(tree.source) ?? [], key) ??
      asMap(schema, tree, key) ??
      example(schema)
    );
  }
  if (tree.value === null) return example(schema);
  if (schema.type === 'array') {
    const listed = alternativesIn(tree.source)?.join(', ') ?? tree.source;
    return new SchemaCheck(schema.items).accepts(tree.value) ? `write a list: [${listed}]` : example(schema);
  }
  const isNumber = schema.type === 'number' || schema.type === 'integer';
  if (typeof tree.value !== 'string') return example(schema);
  if (!isNumber) return undefined;
  if (/^-?\d+(\.\d+)?$/.test(tree.source)) return 'remove the quotes';
  const usd = schema.description?.startsWith('USD') ? usdIn(tree.source) : undefined;
  return usd === undefined ? example(schema) : `write \`${key}: ${usd}\`: prices are in USD`;
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
