import { isObject, type Json } from '../json.ts';

/**
 * A JSON schema for Gemini, which ignores unknown keywords but refuses a `$ref` beside other keywords: the reference
 * moves into an `anyOf` of one, which means the same.
 */
export function geminiSchema(schema: unknown): unknown {
  // Avoids a copy: few schemas have such a reference.
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

/** Whether a reference has other keywords beside it. */
const isCrowded = (schema: Json): boolean =>
  typeof schema.$ref === 'string' && !('anyOf' in schema) && Object.keys(schema).some((name) => !name.startsWith('$'));
