import { KindGuard, type TSchema } from '@sinclair/typebox';

/**
 * Makes an example of a schema: the example that the schema states, or an object of its fields' examples. A field that may be null or
 * absent is null or absent, unless it states an example or is an object.
 */
export function exampleOf(schema: TSchema): unknown {
  if (statesExample(schema)) return schema.examples[0];
  if (KindGuard.IsUnion(schema)) {
    const [first, ...others] = schema.anyOf;
    const isNullable = others.some(KindGuard.IsNull);
    return first && (!isNullable || isShown(first)) ? exampleOf(first) : null;
  }
  if (KindGuard.IsLiteral(schema)) return schema.const;
  if (KindGuard.IsArray(schema)) return [exampleOf(schema.items)];
  if (KindGuard.IsObject(schema)) {
    const shown = Object.entries(schema.properties).filter(([, field]) => !isOptional(field) || statesExample(field));
    return Object.fromEntries(shown.map(([name, field]) => [name, exampleOf(field)]));
  }
  if (KindGuard.IsRecord(schema)) return {};
  if (KindGuard.IsBoolean(schema)) return false;
  if (KindGuard.IsNumber(schema) || KindGuard.IsInteger(schema)) return schema.minimum ?? 0;
  throw new Error(`no example can be made of this schema: ${JSON.stringify(schema)}`);
}

const isShown = (schema: TSchema): boolean =>
  statesExample(schema) ||
  KindGuard.IsObject(schema) ||
  (KindGuard.IsArray(schema) && KindGuard.IsObject(schema.items));

const isOptional = (schema: TSchema): boolean => KindGuard.IsOptional(schema);

const statesExample = (schema: TSchema): schema is TSchema & { readonly examples: readonly [unknown] } =>
  Array.isArray(schema.examples) && schema.examples.length > 0;
