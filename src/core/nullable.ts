import { type SchemaOptions, type Static, type TSchema, Type } from '@sinclair/typebox';
import { isObject } from './object.ts';

/** Marks a schema made by `nullable`. */
const DROPS_NULL = Symbol('null is the same as absent');

/**
 * An optional member for which null means the same as leaving it out. `dropNulls` takes such nulls away before anything
 * reads the value, so the static type has none.
 */
export const nullable = <T extends TSchema>(schema: T) =>
  Type.Optional(Type.Unsafe<Static<T>>(Object.assign(Type.Union([schema, Type.Null()]), { [DROPS_NULL]: true })));

/** A map whose members may each be null, which is the same as not being in it. */
export const nullableMembers = <T extends TSchema>(member: T, options: SchemaOptions = {}) =>
  Type.Unsafe<Record<string, Static<T>>>(
    Type.Record(Type.String(), Object.assign(Type.Union([member, Type.Null()]), { [DROPS_NULL]: true }), options),
  );

/** A member that may only be left out, or null: it belongs to another form of the body. */
export const onlyNull = (description: string) =>
  Type.Optional(Type.Unsafe<undefined>(Object.assign(Type.Null({ description }), { [DROPS_NULL]: true })));

/** The schema of a nullable member, and of those in it, for what is written by hand: stated or left out, never null. */
export function withoutNull(schema: TSchema): TSchema {
  if (Reflect.has(schema, DROPS_NULL)) return Type.Optional(withoutNull(schema.anyOf[0]));
  const properties: Readonly<Record<string, TSchema>> | undefined = schema.properties;
  if (!properties) return schema;
  const stated = Object.entries(properties).map(([name, property]) => [name, withoutNull(property)]);
  return { ...schema, properties: Object.fromEntries(stated) };
}

/** Where nulls are to be dropped in a value. */
interface Plan {
  readonly nullable: ReadonlySet<string>;
  /** Whether any member may be null: those of a map have no names here. */
  readonly isMap: boolean;
  readonly members: ReadonlyMap<string, Plan>;
  /** Of each item of a list. */
  readonly items: Plan | null;
}

/**
 * Prepares a function that drops the nulls of nullable members, at any depth, from values that the schema admits. A value
 * without such nulls comes back as it is; nothing is written to.
 */
export function dropNulls<T extends TSchema>(schema: T): (value: Static<T>) => Static<T> {
  const plan = planOf(schema);
  return (value) => (plan === null ? value : (without(value, plan) as Static<T>));
}

function planOf(schema: TSchema): Plan | null {
  const variants: readonly TSchema[] | undefined = schema.anyOf;
  if (variants) return variants.map(planOf).reduce(both, null);
  const items = isSchema(schema.items) ? planOf(schema.items) : null;
  const isMap = Object.values<TSchema>(schema.patternProperties ?? {}).some((one) => Reflect.has(one, DROPS_NULL));
  const nullable = new Set<string>();
  const members = new Map<string, Plan>();
  for (const [name, property] of Object.entries<TSchema>(schema.properties ?? {})) {
    if (Reflect.has(property, DROPS_NULL)) nullable.add(name);
    const plan = planOf(property);
    if (plan !== null) members.set(name, plan);
  }
  const isNone = nullable.size + members.size === 0 && items === null && !isMap;
  return isNone ? null : { nullable, isMap, members, items };
}

const isSchema = (value: unknown): value is TSchema => isObject(value);

/** Variants of a union name the same thing alike: what is nullable in one is so in all. */
function both(a: Plan | null, b: Plan | null): Plan | null {
  if (a === null || b === null) return a ?? b;
  const members = new Map(a.members);
  for (const [name, plan] of b.members) members.set(name, both(members.get(name) ?? null, plan)!);
  return {
    nullable: new Set([...a.nullable, ...b.nullable]),
    isMap: a.isMap || b.isMap,
    members,
    items: both(a.items, b.items),
  };
}

function without(value: unknown, plan: Plan): unknown {
  if (Array.isArray(value)) return plan.items === null ? value : withoutEach(value, plan.items);
  if (!isObject(value)) return value;
  let kept: Record<string, unknown> | null = null;
  // A body has few of the members that its schema knows.
  for (const name in value) {
    const before = value[name];
    if (before === null) {
      if (!plan.isMap && !plan.nullable.has(name)) continue;
      kept ??= { ...value };
      delete kept[name];
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
