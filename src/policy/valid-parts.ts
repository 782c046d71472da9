import type { Static, TObject } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type Tree, toData } from './tree.ts';

/**
 * The valid keys of a value that does not fit its schema, with defaults and without unknown keys. One
 * wrong key then hides no problems of the others.
 */
export function validPartsOf<Schema extends TObject>(schema: Schema, tree: Tree): Partial<Static<Schema>> {
  const data: unknown = Value.Clean(schema, Value.Default(schema, toData(tree)));
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return {};
  const fitting = Object.entries(data).filter(([key, value]) => {
    const property = schema.properties[key];
    return property !== undefined && Value.Check(property, value);
  });
  return Object.fromEntries(fitting) as Partial<Static<Schema>>;
}
