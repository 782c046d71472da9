import { CloneType, type TSchema } from '@sinclair/typebox';

/** Calls `visit` on a schema and all schemas inside it. */
export function walk(schema: TSchema, visit: (schema: TSchema, path: string) => void, path = ''): void {
  visit(schema, path);
  const properties: Readonly<Record<string, TSchema>> = schema.properties ?? {};
  for (const [name, inner] of Object.entries(properties)) walk(inner, visit, `${path}.${name}`);
  if (schema.items) walk(schema.items, visit, `${path}[]`);
  for (const inner of schema.anyOf ?? []) walk(inner, visit, path);
}

/** Returns a schema that refuses members that it does not name. */
export function strict(schema: TSchema): TSchema {
  const copy = CloneType(schema);
  walk(copy, (inner) => {
    if (inner.properties) inner.additionalProperties = false;
  });
  return copy;
}
