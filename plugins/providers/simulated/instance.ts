import { isObject, type Json, listOf, objectOf, referenced } from '../json.ts';

const DEPTH_MAX = 12;
/** The maximum number of values generated for a schema, which can require exponentially many. */
const VALUES_MAX = 1_000;

/** Replaces a value that would have to contain another value of its own schema. */
const ENDLESS = Symbol('endless');

const FORMATS: ReadonlyMap<unknown, string> = new Map([
  ['date', '2000-01-01'],
  ['date-time', '2000-01-01T00:00:00Z'],
  ['time', '00:00:00Z'],
  ['email', 'someone@example.com'],
  ['uri', 'https://example.com/'],
  ['uuid', '00000000-0000-4000-8000-000000000000'],
]);

/**
 * Generates a value that plausibly matches a JSON schema: only required properties, the first alternative, and the minimum of each number
 * and length. A list of items that contain their own schema is empty if the schema allows it. Invalid parts of the schema, which comes from
 * the caller, are ignored.
 */
export function instanceOf(schema: unknown): unknown {
  const root = isObject(schema) ? schema : { type: 'object' };
  let left = VALUES_MAX;
  /** The schemas whose values are being generated. */
  const open = new Set<Json>();

  function make(from: unknown, depth: number): unknown {
    if (--left < 0 || depth > DEPTH_MAX || !isObject(from)) return null;
    if (open.has(from)) return ENDLESS;
    open.add(from);
    const made = madeOf(from, depth);
    open.delete(from);
    return made;
  }

  function madeOf(from: Json, depth: number): unknown {
    if (typeof from.$ref === 'string') return make(referenced(root, from.$ref), depth + 1);
    if ('const' in from) return from.const;
    for (const stated of ['enum', 'examples'] as const) {
      const values = from[stated];
      if (Array.isArray(values) && values.length > 0) return values[0];
    }
    if ('default' in from) return from.default;
    for (const several of ['anyOf', 'oneOf', 'allOf'] as const) {
      const options = from[several];
      if (Array.isArray(options) && options.length > 0) return firstOf(options, depth + 1);
    }
    const type = typeOf(from);
    if (type === 'object') return object(from, depth);
    if (type === 'array') return array(from, depth);
    return scalar(type, from);
  }

  function firstOf(options: readonly unknown[], depth: number): unknown {
    for (const option of options) {
      const made = make(option, depth);
      if (made !== ENDLESS) return made;
    }
    return ENDLESS;
  }

  function object(from: Json, depth: number): unknown {
    const properties = objectOf(from.properties);
    const required = listOf(from.required).filter((name) => typeof name === 'string');
    const memberOf = (name: string) => make(Object.hasOwn(properties, name) ? properties[name] : {}, depth + 1);
    const members = required.map((name) => [name, memberOf(name)] as const);
    return members.some(([, member]) => member === ENDLESS) ? ENDLESS : Object.fromEntries(members);
  }

  function array(from: Json, depth: number): unknown {
    const least = typeof from.minItems === 'number' ? from.minItems : 0;
    const length = Math.min(typeof from.minItems === 'number' ? least : 1, VALUES_MAX);
    if (!isObject(from.items)) return [];
    const items: unknown[] = [];
    while (items.length < length && left > 0) items.push(make(from.items, depth + 1));
    if (!items.includes(ENDLESS)) return items;
    return least > 0 ? ENDLESS : [];
  }

  const made = make(root, 0);
  if (made !== ENDLESS) return made;
  return typeOf(root) === 'object' ? {} : null;
}

function typeOf(schema: Json): unknown {
  if (Array.isArray(schema.type)) return schema.type.find((type) => type !== 'null') ?? 'null';
  return schema.type ?? (isObject(schema.properties) ? 'object' : 'string');
}

function scalar(type: unknown, schema: Json): unknown {
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  if (type === 'integer' || type === 'number') return number(schema, type === 'integer' ? 1 : 0.5);
  const text = FORMATS.get(schema.format) ?? 'simulated';
  const min = typeof schema.minLength === 'number' ? Math.min(schema.minLength, VALUES_MAX) : 0;
  const max = typeof schema.maxLength === 'number' ? schema.maxLength : text.length;
  return text.padEnd(min, '.').slice(0, Math.max(max, min));
}

/** Returns the smallest allowed number, or the allowed number nearest to 1. */
function number(schema: Json, step: number): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema;
  if (typeof minimum === 'number') return minimum;
  if (typeof exclusiveMinimum === 'number') return exclusiveMinimum + step;
  if (typeof maximum === 'number') return Math.min(1, maximum);
  return typeof exclusiveMaximum === 'number' ? Math.min(1, exclusiveMaximum - step) : 1;
}
