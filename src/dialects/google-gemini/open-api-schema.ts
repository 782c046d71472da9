import { isObject } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';

/** Keywords whose value is a schema, a list of schemas, or a map of schemas. */
const SCHEMA: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'not']);
const SCHEMAS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const SCHEMA_MAPS: ReadonlySet<string> = new Set(['properties', '$defs', 'defs', 'definitions']);
/** Google writes these limits as numbers or as texts, because they are 64-bit integers. */
const WHOLE: ReadonlySet<string> = new Set([
  ...['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'],
]);
/** Keywords of OpenAPI that JSON Schema does not have. */
const LEFT_OUT: ReadonlySet<string> = new Set(['nullable', 'propertyOrdering', 'property_ordering', 'example']);

/**
 * Converts a schema of Google's `Schema`, which is a subset of OpenAPI's, to JSON Schema. A schema that is JSON Schema already stays the
 * same.
 * @param schema within the limits of depth and size of every body
 */
export function jsonSchemaOf(schema: Members): Members {
  const entries: [string, unknown][] = [];
  for (const [name, value] of Object.entries(schema)) {
    if (LEFT_OUT.has(name)) continue;
    const plain = name === 'type' ? typeOf(value) : keyword(name, value);
    if (plain !== undefined) entries.push([name, plain]);
  }
  const plain: Members = Object.fromEntries(entries);
  return schema.nullable === true ? withNull(plain) : plain;
}

function keyword(name: string, value: unknown): unknown {
  if (SCHEMA.has(name)) return schemaIn(value);
  if (SCHEMAS.has(name)) return Array.isArray(value) ? value.map(schemaIn) : value;
  if (SCHEMA_MAPS.has(name) && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, schemaIn(one)]));
  return WHOLE.has(name) && typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
}

const schemaIn = (value: unknown): unknown => (isObject(value) ? jsonSchemaOf(value) : value);

function typeOf(type: unknown): unknown {
  if (type === 'TYPE_UNSPECIFIED') return undefined;
  return typeof type === 'string' ? type.toLowerCase() : type;
}

function withNull(schema: Members): Members {
  const { type, enum: values } = schema;
  const ofEnum = Array.isArray(values) && !values.includes(null) ? { enum: [...values, null] } : {};
  if (typeof type === 'string' && type !== 'null') return { ...schema, ...ofEnum, type: [type, 'null'] };
  return Array.isArray(schema.anyOf) ? { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] } : schema;
}
