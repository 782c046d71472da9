import { isObject, type Json } from '../json.ts';

/**
 * A JSON schema as Gemini takes it: nearly as it is, since what it does not know it ignores. Only a `$ref` with other
 * keywords beside it is refused: the reference goes into an `anyOf` of one, which means the same.
 */
export function geminiSchema(schema: unknown): unknown {
  // Every request brings its schemas again, and few have such a reference.
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

/** Whether a reference stands beside other keywords. */
const isCrowded = (schema: Json): boolean =>
  typeof schema.$ref === 'string' && !('anyOf' in schema) && Object.keys(schema).some((name) => !name.startsWith('$'));
