import type { TSchema } from '@sinclair/typebox';
import { SchemaCheck } from '../core/schema-check.ts';
import { modelTest } from './key-remedies.ts';
import { VARIABLE_NAME } from './schema-parts.ts';
import { alternativesIn, creditsHint, missingSpaceHint, rounded, usdIn } from './slip-hints.ts';
import type { ListTree, MapTree, ScalarTree, Tree } from './tree.ts';

/** A hint for a value of the wrong type under a key. `creditWorth`: USD of a Credit. */
export function typeHint(schema: TSchema, tree: Tree, key: string, creditWorth: string): string | undefined {
  if (tree.kind === 'list') return asFilter(schema, namesOf(tree), key) ?? example(schema);
  if (tree.kind === 'map') return (schema.type === 'array' && dashHint(schema.items, tree)) || example(schema);
  if (schema.type === 'object' && tree.value !== null) {
    return (
      missingSpaceHint(tree.source, Object.keys(schema.properties ?? {})) ??
      asFilter(schema, alternativesIn(tree.source) ?? [], key) ??
      asMap(schema, tree)
    );
  }
  if (tree.value === null) return example(schema);
  if (schema.type === 'array') {
    const listed = alternativesIn(tree.source)?.join(', ') ?? tree.source;
    return new SchemaCheck(schema.items).accepts(tree.value) ? `write a list: [${listed}]` : example(schema);
  }
  if (typeof tree.value !== 'string') return fitsInQuotes(schema, tree) ? 'put it in quotes' : example(schema);
  const isNumber = schema.type === 'number' || schema.type === 'integer';
  if (!isNumber) return undefined;
  if (/^[\d_]+$/.test(tree.source) && tree.source.includes('_')) return 'write the digits without `_`';
  if (/^-?\d+(\.\d+)?$/.test(tree.source)) return 'remove the quotes';
  const percent = schema.maximum === 1 ? /^(\d+(?:\.\d+)?) ?%$/.exec(tree.source) : null;
  if (percent) return `write the share: ${Number(percent[1]) / 100}`;
  const [, whole, rest] = /^(-?\d[\d,]*),(\d+)$/.exec(tree.source) ?? [];
  if (whole !== undefined && rest !== undefined) return withoutComma(whole, rest);
  return unitHint(key, tree.source, creditWorth) ?? example(schema);
}

/** Keys that count tokens by the sizes of models, where `32k` often means 32 × 1024. */
const SIZES: ReadonlySet<string> = new Set(['context_window', 'max_output', 'default_max_output']);

/** A hint for a number with a unit, such as `$5`, `32k` or `250ms`. */
function unitHint(key: string, text: string, creditWorth: string): string | undefined {
  const usd = usdIn(text);
  if (usd !== undefined && key.endsWith('_credits')) return creditsHint(key, usd, creditWorth);
  if (usd !== undefined && /^\$?[\d.]+\$?$/.test(text))
    return `write the number without a unit: \`${key}: ${text.replace('$', '')}\``;
  const [, digits, unit] = /^(\d+(?:\.\d+)?)\s*([kKM])$/.exec(text) ?? [];
  if (digits !== undefined) {
    const full = rounded(Number(digits) * (unit === 'M' ? 1e6 : 1e3));
    const binary = SIZES.has(key) && unit !== 'M' ? `, or ${rounded(Number(digits) * 1024)} for ${digits} × 1024` : '';
    return `write the number in full: ${full}${binary}`;
  }
  const hasUnit = /^[$€£]|^[\d.]+\s*[A-Za-z%]+$/.test(text);
  return hasUnit ? 'write the number without a unit; the name of the key states the unit' : undefined;
}

/** The least figure that is read as a percentage: less may be a weight. */
const PERCENT_MIN = 5;

/** A hint for a share that is written as a percentage: `60` for 0.6. */
export function shareHint({ maximum }: TSchema, tree: Tree): string | undefined {
  if (maximum !== 1 || tree.kind !== 'scalar' || typeof tree.value !== 'number') return undefined;
  return tree.value >= PERCENT_MIN && tree.value <= 100
    ? `for ${tree.value} % write the share: ${rounded(tree.value / 100)}`
    : undefined;
}

function fitsInQuotes({ type, pattern }: TSchema, { source }: ScalarTree): boolean {
  return type === 'string' && (typeof pattern !== 'string' || new RegExp(pattern).test(source));
}

export function example(schema: TSchema): string | undefined {
  const [first]: unknown[] = Array.isArray(schema.examples) ? schema.examples : [];
  const written = JSON.stringify(first);
  // The example of a map that takes anything is `{}`, which shows nothing.
  return written === undefined || written === '{}' ? undefined : `for example ${written}`;
}

/** A hint for a lone value in place of a map: the map with the value under its first required key. */
function asMap(schema: TSchema, { value, source }: ScalarTree): string | undefined {
  const properties: Readonly<Record<string, TSchema>> = schema.properties ?? {};
  const required: readonly string[] = schema.required ?? [];
  const [first, ...others] = required.filter((key) => properties[key]?.default === undefined);
  if (first === undefined) return example(schema);
  if (properties[first]?.type !== typeof value) return undefined;
  const written = typeof value === 'string' ? quoted(value) : source;
  return `write \`{ ${[`${first}: ${written}`, ...others.map((key) => `${key}: …`)].join(', ')} }\``;
}

const namesOf = ({ items }: ListTree): readonly string[] =>
  items.flatMap((item) => (item.kind === 'scalar' ? item.source : []));

/** A hint for names of models in place of a filter: the filter. */
function asFilter({ properties = {} }: TSchema, names: readonly string[], key: string): string | undefined {
  if (key !== 'models' || properties.require === undefined || names.length === 0) return undefined;
  return `write \`models: { require: '${modelTest(names)}' }\``;
}

/** A hint for a map where a list of maps is needed: its first line with a dash. Undefined for a list of other values. */
export function dashHint({ properties }: TSchema, { entries }: MapTree): string | undefined {
  const [first] = entries;
  if (!first || properties === undefined) return undefined;
  // A map of names, as other sections are.
  if (properties[first.key] === undefined && properties.name !== undefined && first.value.kind === 'map') {
    return `write a list: put \`- name: ${first.key}\` in place of \`${first.key}:\``;
  }
  const { key, value } = first;
  const written = value.kind === 'scalar' && value.value !== null ? value.source : '…';
  return `a list needs a dash before the first key of each item: \`- ${key}: ${written}\``;
}

function quoted(text: string): string {
  return text.includes("'") ? JSON.stringify(text) : `'${text}'`;
}

/** `on` and `off` are booleans in YAML 1.1, and words in YAML 1.2. */
const SWITCHES: Readonly<Record<string, string>> = { true: 'on', yes: 'on', false: 'off', no: 'off' };

/** A hint for `true`, `yes`, `false` or `no` where the key takes `on` or `off`. */
export function switchHint(words: readonly string[], { source }: ScalarTree): string | undefined {
  const meant = SWITCHES[source.toLowerCase()];
  return meant !== undefined && words.includes(meant) ? `write \`${meant}\`` : undefined;
}

/** A hint for a text in the wrong form. */
export function formHint(schema: TSchema, tree: Tree): string | undefined {
  if (schema.pattern !== VARIABLE_NAME.pattern || tree.kind !== 'scalar') return undefined;
  const [, sign, name = ''] = /^(\$|os\.environ\/)?\{?([A-Za-z_]\w*)\}?$/.exec(tree.source) ?? [];
  if (name === '') return undefined;
  return `write \`${name.toUpperCase()}\`${sign ? ` without \`${sign}\`` : ', in capitals'}`;
}

/** A hint for a decimal comma: YAML reads `{ input: 0,25 }` as `input: 0` and a key `25`. */
export function splitDecimal(owner: Tree | undefined, key: string): string | null {
  if (owner?.kind !== 'map' || !/^\d+$/.test(key)) return null;
  const at = owner.entries.findIndex((entry) => entry.key === key);
  const value = owner.entries[at]?.value;
  const before = owner.entries[at - 1]?.value;
  if (value?.kind !== 'scalar' || value.value !== null || before?.kind !== 'scalar') return null;
  return /^-?\d+$/.test(before.source) ? withoutComma(before.source, key) : null;
}

/** A hint for a comma: before three digits it may separate thousands, otherwise it is a decimal comma. */
function withoutComma(whole: string, rest: string): string {
  const digits = whole.replaceAll(',', '');
  const point = `write a decimal point: ${digits}.${rest}`;
  if (rest.length !== 3) return point;
  const thousands = `write the digits without commas: ${digits}${rest}`;
  return whole === '0' ? point : whole === digits ? `${thousands}; or ${point}` : thousands;
}
