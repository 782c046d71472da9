import type { TSchema } from '@sinclair/typebox';
import { isObject } from '../../core/json/object.ts';
import { SECTIONS } from '../language.ts';

/** Maps each section to its bare data, as the files of a policy state it. */
export type Outline = Readonly<Record<string, unknown>>;

/** A changed key. `from` is undefined if the key was added; `to` is undefined if the key was removed. */
export interface KeyChange {
  /** Path of the key within the member, such as `price.input`. */
  readonly key: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

export interface PolicyChange {
  readonly change: 'added' | 'removed' | 'changed';
  /** Name of the section: `models`, `constraints`, … */
  readonly section: string;
  /** Name of the member; null for a section without members, such as `credits`. */
  readonly name: string | null;
  /** The changed keys, ascending, only if `change` is `changed`. */
  readonly keys?: readonly KeyChange[];
}

/** Sections whose members have names: maps, and lists of items with a `name`. */
const NAMED: ReadonlySet<string> = new Set(
  Object.entries<TSchema>(SECTIONS).flatMap(([name, { type, patternProperties }]) =>
    type === 'array' || patternProperties ? [name] : [],
  ),
);

/**
 * Returns the changes from one policy to another, by section and name. The comparison of policies is deterministic. The order of entries
 * within files does not matter.
 */
export function diffPolicies(before: Outline, after: Outline): PolicyChange[] {
  const sections = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...sections].sort().flatMap((section) => {
    const [from, to] = [entryOf(before, section), entryOf(after, section)];
    if (!NAMED.has(section)) return diffThing(section, null, from, to);
    const [mine, theirs] = [membersOf(from), membersOf(to)];
    const names = new Set([...mine.keys(), ...theirs.keys()]);
    return [...names].sort().flatMap((name) => diffThing(section, name, mine.get(name), theirs.get(name)));
  });
}

function diffThing(section: string, name: string | null, from: unknown, to: unknown): PolicyChange[] {
  if (from === undefined) return [{ change: 'added', section, name }];
  if (to === undefined) return [{ change: 'removed', section, name }];
  const keys: KeyChange[] = [];
  collect('', from, to, keys);
  if (keys.length === 0) return [];
  return [{ change: 'changed', section, name, keys: keys.sort((a, b) => (a.key < b.key ? -1 : 1)) }];
}

/** A member with a new name and the same content. */
export interface PolicyRename {
  readonly section: string;
  readonly from: string;
  readonly to: string;
}

/**
 * Finds renamed members: a removed member and an added member with the same content, which no other member has. `findRenames` yields after
 * each member.
 */
export function* findRenames(before: Outline, after: Outline): Generator<undefined, PolicyRename[]> {
  const renames: PolicyRename[] = [];
  for (const section of [...NAMED].sort()) {
    const [from, to] = [membersOf(entryOf(before, section)), membersOf(entryOf(after, section))];
    const removed = yield* namesByContent([...from].filter(([name]) => !to.has(name)));
    const added = yield* namesByContent([...to].filter(([name]) => !from.has(name)));
    for (const [content, [name, ...others]] of removed) {
      const [match, ...more] = added.get(content) ?? [];
      if (name === undefined || match === undefined || others.length + more.length > 0) continue;
      renames.push({ section, from: name, to: match });
    }
  }
  return renames;
}

function* namesByContent(members: Iterable<[string, unknown]>): Generator<undefined, Map<string, string[]>> {
  const names = new Map<string, string[]>();
  for (const [name, member] of members) {
    const content = contentOf(member);
    if (content !== null) names.getOrInsertComputed(content, () => []).push(name);
    yield;
  }
  return names;
}

/** Returns the content of a member as a text; null for a member that has only a name, because its content identifies nothing. */
function contentOf(member: unknown): string | null {
  if (!isObject(member)) return null;
  const { name: _, ...content } = member;
  return Object.keys(content).length === 0 ? null : formText(content);
}

/** Writes a JSON value as a text that does not depend on the order of keys. A map and a list never have the same text. */
export const formText = (value: unknown): string => JSON.stringify(formOf(value));

function formOf(value: unknown): unknown {
  if (Array.isArray(value)) return { list: value.map(formOf) };
  if (!isObject(value)) return value;
  return Object.keys(value)
    .sort()
    .map((key) => [key, formOf(value[key])]);
}

/** Collects the differences between two values. A list of plain values counts as one value in the comparison. */
function collect(path: string, from: unknown, to: unknown, into: KeyChange[]): void {
  if (isObject(from) && isObject(to)) {
    for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
      collect(path === '' ? key : `${path}.${key}`, entryOf(from, key), entryOf(to, key), into);
    }
    return;
  }
  if (isListOfMaps(from) && isListOfMaps(to)) {
    for (let i = 0; i < Math.max(from.length, to.length); i++) collect(`${path}[${i}]`, from[i], to[i], into);
    return;
  }
  if (Bun.deepEquals(from, to)) return;
  into.push({ key: path, ...(from !== undefined && { from }), ...(to !== undefined && { to }) });
}

type Data = Readonly<Record<string, unknown>>;

/** `entryOf` ignores inherited properties, because an operator may use a name such as `constructor`. */
const entryOf = (map: Data, key: string): unknown => (Object.hasOwn(map, key) ? map[key] : undefined);

const isListOfMaps = (value: unknown): value is readonly Data[] => Array.isArray(value) && value.every(isObject);

/** Returns the members of a section by name. List members without a name are named by their text. */
function membersOf(section: unknown): Map<string, unknown> {
  if (isObject(section)) return new Map(Object.entries(section));
  if (!Array.isArray(section)) return new Map();
  return new Map(
    section.map((member: unknown) => {
      const name = isObject(member) ? member.name : member;
      return [typeof name === 'string' ? name : JSON.stringify(member), member];
    }),
  );
}

/** Summarizes changes in one line: `2 models changed, 1 selector added`. */
export function summary(changes: readonly PolicyChange[]): string {
  const alike = Map.groupBy(changes, ({ section, name, change }) => `${section} ${change} ${name === null}`);
  const parts = [...alike.values()].map((all) => {
    const { section, name, change } = all[0]!;
    if (name === null) return `${section} ${change}`;
    return `${all.length} ${all.length === 1 ? section.replace(/s$/, '') : section} ${change}`;
  });
  return parts.length === 0 ? 'nothing that is declared' : parts.join(', ');
}
