import { isObject } from '../json.ts';

/**
 * A JSON schema as Gemini takes it: nearly as it is, since what it does not know it ignores. Only a `$ref` with other
 * keywords beside it is refused: the reference goes into an `anyOf` of one, which means the same.
 */
export function geminiSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(geminiSchema);
  if (!isObject(schema)) return schema;
  const whole = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, geminiSchema(value)]));
  const { $ref, ...rest } = whole;
  const alone = Object.keys(rest).every((name) => name.startsWith('$'));
  if (typeof $ref !== 'string' || alone || 'anyOf' in rest) return whole;
  return { ...rest, anyOf: [{ $ref }] };
}
