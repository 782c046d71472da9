import { isObject, type Json } from '../json.ts';

/**
 * Adapts a JSON schema to Gemini. Gemini ignores unknown keywords but rejects a `$ref` together with other keywords, so the reference moves
 * into an `anyOf` with one entry, which means the same.
 */
export function geminiSchema(schema: unknown): unknown {
  // Few schemas have such a reference, so most schemas need no copy.
  return hasCrowdedReference(schema) ? rewritten(schema) : schema;
}

function rewritten(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(rewritten);
  if (!isObject(schema)) return schema;
  const whole = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, rewritten(value)]));
  if (!isCrowded(whole)) return whole;
  const { $ref, ...rest } = whole;
  return { ...rest, anyOf: [{ $ref }] };
}

function hasCrowdedReference(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasCrowdedReference);
  if (!isObject(schema)) return false;
  if (isCrowded(schema)) return true;
  for (const name in schema) if (hasCrowdedReference(schema[name])) return true;
  return false;
}

/** Whether a schema has a reference together with other keywords. */
const isCrowded = (schema: Json): boolean =>
  typeof schema.$ref === 'string' && !('anyOf' in schema) && Object.keys(schema).some((name) => !name.startsWith('$'));
