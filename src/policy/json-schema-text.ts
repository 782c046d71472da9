import type { TSchema } from '@sinclair/typebox';
import { isObject } from '../core/object.ts';
import { type CelKind, FIELDS, type TypeName, VARIABLES } from './cel-types.ts';
import { editorWords } from './json-schema-words.ts';
import { formerDefault } from './versions.ts';

/** The text that an editor shows for a key, plain and in Markdown. */
export interface EditorText {
  readonly title?: string;
  readonly description?: string;
  readonly markdownDescription?: string;
}

/** Words of keys that are written in capitals. */
const CAPITALS = /^(?:api|id|rpc|ttft|ttl|url|usd)(?=s?$)/;
/** The unit at the end of a key, which may be an upper bound. */
const UNIT =
  /_((?:(?:input|output)_)?tokens(?:_per_second)?|bytes|per_minute|credits|seconds|days|usd|eth|ms|s)(_max)?$/;
const UNIT_NAMES: Readonly<Record<string, string>> = { credits: 'Credits', usd: 'USD', eth: 'ETH', s: 'seconds' };

/** The title of a key: `ttft_ms` is `TTFT (ms)`. */
export function titleOf(key: string): string {
  const [suffix = '', unit, isMost] = UNIT.exec(key) ?? [];
  const words = key.slice(0, key.length - suffix.length).split('_');
  const name = words.map((word) => word.replace(CAPITALS, (known) => known.toUpperCase())).join(' ');
  const title = `${name[0]?.toUpperCase() ?? ''}${name.slice(1)}`;
  if (unit === undefined) return title;
  return `${title} (${UNIT_NAMES[unit] ?? unit.replaceAll('_', ' ')}${isMost ? ', at most' : ''})`;
}

/** The description of a value, with its type, bounds and default. */
export function editorTextOf(schema: TSchema, title: string, isRequired: boolean, kind?: CelKind): EditorText {
  const text: unknown = schema.description;
  if (typeof text !== 'string') return { title };
  const facts = factsOf(schema, isRequired, kind !== undefined);
  const plain = [text, facts, kind && `Sees ${namesSeen(kind)}.`].filter(Boolean).join(' ');
  const markdown = [text, facts, kind && fieldsSeen(kind)].filter(Boolean).join('\n\n');
  return { title, description: plain.replaceAll('`', ''), markdownDescription: markdown };
}

function factsOf(schema: TSchema, isRequired: boolean, isExpression: boolean): string {
  const kind = isExpression ? 'CEL, in single quotes where it begins with `"`, `!`, `[` or `{`.' : kindOf(schema);
  const fallback: unknown = schema.default;
  const former = formerDefault(schema);
  const left = isRequired
    ? 'Required.'
    : fallback === undefined || isEmpty(fallback)
      ? ''
      : `Default: \`${flow(fallback)}\`${former === undefined ? '' : `, in version 1 \`${flow(former)}\``}.`;
  return [kind, left, exampleOf(schema)].filter((part) => part !== '').join(' ');
}

/** An example of a map, as text: editors that offer values have no label for a map. */
function exampleOf({ examples }: TSchema): string {
  const [first]: unknown[] = Array.isArray(examples) ? examples : [];
  const isExample = isObject(first) && !isEmpty(first);
  return isExample ? `For example \`${flow(first)}\`.` : '';
}

/** A value as YAML on one line. */
function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  return `{ ${Object.entries(value)
    .map(([key, part]) => `${key}: ${flow(part)}`)
    .join(', ')} }`;
}

/** Whether a value is an empty list or map. */
export const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

function kindOf(schema: TSchema): string {
  if ('const' in schema) return `Always \`${schema.const}\`.`;
  if (schema.type === 'boolean') return '`true` or `false`.';
  if (schema.type === 'array') return editorWords(schema.items ?? {}) ? 'List of words.' : 'List.';
  if (schema.type !== 'number' && schema.type !== 'integer') return '';
  return `${schema.type === 'integer' ? 'Whole number' : 'Number'}${boundsOf(schema)}.`;
}

function boundsOf({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: TSchema): string {
  if (minimum !== undefined && maximum !== undefined) return `, ${grouped(minimum)} to ${grouped(maximum)}`;
  const bounds: readonly (readonly [string, unknown])[] = [
    ['at least', minimum],
    ['above', exclusiveMinimum],
    ['at most', maximum],
    ['below', exclusiveMaximum],
  ];
  return bounds.flatMap(([words, bound]) => (bound === undefined ? [] : [`, ${words} ${grouped(bound)}`])).join('');
}

/** Independent of the machine's locale. */
const grouped = (figure: unknown): string => Number(figure).toLocaleString('en', { maximumFractionDigits: 20 });

function namesSeen(kind: CelKind): string {
  if (kind === 'claims') return 'claims, as the issuer states them';
  return Object.entries(VARIABLES[kind])
    .flatMap(([name, type]) => Object.keys(FIELDS[type]).map((field) => `${name}.${field}`))
    .join(', ');
}

function fieldsSeen(kind: CelKind): string {
  if (kind === 'claims') return 'What it sees: `claims`, as the issuer states them.';
  const lists = Object.entries(VARIABLES[kind]).map(([name, type]) => fieldsOf(name, type));
  return ['What it sees:', ...lists].join('\n\n');
}

function fieldsOf(owner: string, type: TypeName): string {
  const fields: Readonly<Record<string, readonly [string, string]>> = FIELDS[type];
  return Object.entries(fields)
    .map(([field, [of, means]]) => {
      const parts =
        of === 'Price' || of === 'Latency'
          ? `: ${Object.keys(FIELDS[of])
              .map((part) => `\`${part}\``)
              .join(', ')}`
          : '';
      return `- \`${owner}.${field}\` (${of}${parts}): ${means}`;
    })
    .join('\n');
}
