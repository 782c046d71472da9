import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { isObject } from '../../../plugins/providers/json.ts';

/** Members of a schema by their paths, such as `messages[]{user}.content[]{text}.text`. */

/** Returns the variants of a schema, without null. */
const variantsOf = (schema: TSchema): readonly TSchema[] =>
  Array.isArray(schema.anyOf) ? schema.anyOf.flatMap(variantsOf) : schema.type === 'null' ? [] : [schema];

/** Returns the kind that distinguishes a variant from the others: its `type`. */
function kindOf(schema: TSchema): string {
  const tag: unknown = schema.properties?.type?.const;
  return typeof tag === 'string' ? `{${tag}}` : '';
}

/** Variants for types that the schema does not name are native, and are only passed through. */
const isNative = (schema: TSchema): boolean => typeof schema.properties?.type?.pattern === 'string';

const membersOf = (schema: TSchema): readonly (readonly [string, TSchema])[] =>
  Object.entries<TSchema>(schema.properties ?? {}).filter(([name, member]) => name !== 'type' || !member.const);

/** Returns the paths of all members that a schema names. */
export function membersNamed(schema: TSchema, path = ''): readonly string[] {
  return variantsOf(schema)
    .filter((variant) => !isNative(variant))
    .flatMap((variant) => {
      if (variant.items) return membersNamed(variant.items, `${path}[]`);
      const at = path + kindOf(variant);
      return membersOf(variant).flatMap(([name, member]) => {
        const own = at === '' ? name : `${at}.${name}`;
        return [own, ...membersNamed(member, own)];
      });
    });
}

/** Adds the paths of the members that a value has to `found`. */
export function membersIn(schema: TSchema, value: unknown, found: Set<string>, path = ''): void {
  const variant = variantsOf(schema).find((one) => Value.Check(one, value));
  if (!variant || isNative(variant)) return;
  if (variant.items && Array.isArray(value)) {
    for (const item of value) membersIn(variant.items, item, found, `${path}[]`);
    return;
  }
  if (!isObject(value)) return;
  const at = path + kindOf(variant);
  for (const [name, member] of membersOf(variant)) {
    if (value[name] == null) continue;
    const own = at === '' ? name : `${at}.${name}`;
    found.add(own);
    membersIn(member, value[name], found, own);
  }
}
