import { type Members, pathText } from '../json/original.ts';

export const NO_EXTRAS: Members = Object.freeze({});

/**
 * Returns the members of an object that are not `known`, after the members of `before`.
 * @param known a list: a short list is faster to search than a set
 */
export function extrasOf(owner: object, known: readonly string[], before = NO_EXTRAS): Members {
  let extras: Members | null = null;
  for (const name in owner) {
    if (known.includes(name)) continue;
    extras ??= { ...before };
    addMember(extras, name, Reflect.get(owner, name));
  }
  return extras ?? before;
}

/** Adds members to an object, and replaces members with the same name. The caller must own the object, because it is changed. */
export function addMembers(owner: Record<string, unknown>, more: Members): void {
  for (const name in more) addMember(owner, name, more[name]);
}

/** A plain assignment to `__proto__` would change the prototype. */
const addMember = (owner: object, name: string, value: unknown): unknown =>
  Object.defineProperty(owner, name, { value, enumerable: true, configurable: true });

/** Returns the paths of an object's members that are not in `named` and have a value. */
export function unnamedMembers(
  at: string,
  owner: Members | null | undefined,
  named: ReadonlySet<string>,
): readonly string[] {
  if (owner == null) return [];
  return Object.keys(owner).flatMap((name) => (named.has(name) || owner[name] == null ? [] : [pathText([at, name])]));
}
