import { type SchemaOptions, type Static, type TSchema, Type } from '@sinclair/typebox';
import { isObject } from '../json/object.ts';

/** Marks a schema made by `nullable`. */
const DROPS_NULL = Symbol('null is the same as absent');
/** Marks the schema of the members of `textMembers`. */
const JOINS_TEXTS = Symbol('a list of texts is the same as one text');

/**
 * An optional member for which null means the same as absent. `toRead` removes such nulls before any code reads the value, so the static
 * type has no null.
 */
export const nullable = <T extends TSchema>(schema: T) =>
  Type.Optional(Type.Unsafe<Static<T>>(Object.assign(Type.Union([schema, Type.Null()]), { [DROPS_NULL]: true })));

/** A map whose members may be null. A member of the map that is null counts as absent. */
export const nullableMembers = <T extends TSchema>(member: T, options: SchemaOptions = {}) =>
  Type.Unsafe<Record<string, Static<T>>>(
    Type.Record(Type.String(), Object.assign(Type.Union([member, Type.Null()]), { [DROPS_NULL]: true }), options),
  );

/** A map of texts. A member that is null counts as absent. A list of texts, such as tags, becomes one text with commas. */
export const textMembers = (options: SchemaOptions = {}) =>
  Type.Unsafe<Record<string, string>>(
    nullableMembers(
      Object.assign(Type.Union([Type.String(), Type.Array(Type.String())]), { [JOINS_TEXTS]: true }),
      options,
    ),
  );

/** A member that must be absent or null, because it belongs to another form of the body. */
export const onlyNull = (description: string) =>
  Type.Optional(Type.Unsafe<undefined>(Object.assign(Type.Null({ description }), { [DROPS_NULL]: true })));

/** Returns the schema without nulls, at any depth, for files that people write: members are stated or left out, never null. */
export function withoutNull(schema: TSchema): TSchema {
  if (Reflect.has(schema, DROPS_NULL)) return Type.Optional(withoutNull(schema.anyOf[0]));
  const properties: Readonly<Record<string, TSchema>> | undefined = schema.properties;
  if (!properties) return schema;
  const stated = Object.entries(properties).map(([name, property]) => [name, withoutNull(property)]);
  return { ...schema, properties: Object.fromEntries(stated) };
}

/** Describes which nulls in a value are to be dropped, and which lists become texts. */
interface Plan {
  readonly nullable: ReadonlySet<string>;
  /** Whether any member of the object may be null. The names in a map are not known in advance. */
  readonly isMap: boolean;
  /** Whether the object is a map in which a list of texts becomes one text. */
  readonly joinsTexts: boolean;
  readonly members: ReadonlyMap<string, Plan>;
  /** The plan for each item of a list. */
  readonly items: Plan | null;
}

/**
 * Returns a function that drops the nulls of nullable members and joins the lists of `textMembers`, at any depth, in values that satisfy
 * the schema. The returned function returns a value without such nulls and lists as it is. The returned function never changes its input.
 */
export function toRead<T extends TSchema>(schema: T): (value: Static<T>) => Static<T> {
  const plan = planOf(schema);
  return (value) => (plan === null ? value : (without(value, plan) as Static<T>));
}

function planOf(schema: TSchema): Plan | null {
  const variants: readonly TSchema[] | undefined = schema.anyOf;
  if (variants) return variants.map(planOf).reduce(both, null);
  const items = isSchema(schema.items) ? planOf(schema.items) : null;
  const inMap = Object.values<TSchema>(schema.patternProperties ?? {}).filter((one) => Reflect.has(one, DROPS_NULL));
  const isMap = inMap.length > 0;
  const joinsTexts = inMap.some(({ anyOf }) => Reflect.has(anyOf[0], JOINS_TEXTS));
  const nullable = new Set<string>();
  const members = new Map<string, Plan>();
  for (const [name, property] of Object.entries<TSchema>(schema.properties ?? {})) {
    if (Reflect.has(property, DROPS_NULL)) nullable.add(name);
    const plan = planOf(property);
    if (plan !== null) members.set(name, plan);
  }
  const isNone = nullable.size + members.size === 0 && items === null && !isMap;
  return isNone ? null : { nullable, isMap, joinsTexts, members, items };
}

const isSchema = (value: unknown): value is TSchema => isObject(value);

/**
 * Merges the plans of the variants of a union. The variants share the meaning of a name, so a name that is nullable in one variant is
 * nullable in all.
 */
function both(a: Plan | null, b: Plan | null): Plan | null {
  if (a === null || b === null) return a ?? b;
  const members = new Map(a.members);
  for (const [name, plan] of b.members) members.set(name, both(members.get(name) ?? null, plan)!);
  return {
    nullable: new Set([...a.nullable, ...b.nullable]),
    isMap: a.isMap || b.isMap,
    joinsTexts: a.joinsTexts || b.joinsTexts,
    members,
    items: both(a.items, b.items),
  };
}

function without(value: unknown, plan: Plan): unknown {
  if (Array.isArray(value)) return plan.items === null ? value : withoutEach(value, plan.items);
  if (!isObject(value)) return value;
  let kept: Record<string, unknown> | null = null;
  // Iterate the members of the value: a body has few of the members that the schema knows.
  for (const name in value) {
    const before = value[name];
    if (before === null) {
      if (!plan.isMap && !plan.nullable.has(name)) continue;
      kept ??= { ...value };
      delete kept[name];
    } else if (plan.joinsTexts && Array.isArray(before)) {
      kept ??= { ...value };
      kept[name] = before.join(',');
    } else if (typeof before === 'object') {
      const inner = plan.members.get(name);
      if (inner === undefined) continue;
      const after = without(before, inner);
      if (after === before) continue;
      kept ??= { ...value };
      kept[name] = after;
    }
  }
  return kept ?? value;
}

function withoutEach(list: readonly unknown[], plan: Plan): readonly unknown[] {
  let kept: unknown[] | null = null;
  for (let at = 0; at < list.length; at++) {
    const after = without(list[at], plan);
    if (after === list[at]) continue;
    kept ??= [...list];
    kept[at] = after;
  }
  return kept ?? list;
}
