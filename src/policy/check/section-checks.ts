import type { Static, TSchema } from '@sinclair/typebox';
import { ITEM_NAME } from '../../core/define/policy-words.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { type Entry, type ListTree, type Tree, valueAt } from '../yaml/tree.ts';
import { checkValue, type Subject } from './check.ts';
import { dashHint, namesHint } from './value-hints.ts';

/** Maps each section to its value, joined over all files, and the location of its name. */
export type Sections = ReadonlyMap<string, Entry>;

/** The sections of one policy, and the report that collects their problems. */
export interface CheckContext {
  readonly sections: Sections;
  readonly report: Report;
  /** The beginning of the policy. Missing sections are reported at the beginning of the policy. */
  readonly start: SourceSpan;
}

/** A named item of a section with its checked data; the data is null if the check failed. */
export interface NamedItem<Data> extends Subject {
  readonly name: string;
  readonly data: Data | null;
}

/** Selects the entries of a section that are checked together. */
interface EntryNames {
  /** The form of the entries' names. Without `form`, entries have the form of any item's name. */
  readonly form?: { readonly pattern: string; readonly expected: string };
  /** Whether an entry is selected. Without `holds`, all entries are selected. */
  readonly holds?: (name: string) => boolean;
}

/**
 * Checks each entry of a map section separately, so that an entry with errors does not hide problems of the other entries.
 * @param schema the schema of every entry, or a function that returns the schema of one entry
 */
export function checkNamed<Schema extends TSchema>(
  section: string,
  schema: Schema | ((entry: Tree) => Schema),
  { sections, report }: CheckContext,
  { form = ITEM_NAME, holds = () => true }: EntryNames = {},
): NamedItem<Static<Schema>>[] {
  const entry = sections.get(section);
  if (!entry) return [];
  if (entry.value.kind !== 'map') {
    if (!isEmpty(entry.value)) reportWrongKind(section, null, entry.value, report);
    return [];
  }
  const name = new RegExp(form.pattern);
  return entry.value.entries.flatMap(({ key, place, value }) => {
    if (!holds(key)) return [];
    if (!name.test(key)) {
      report.add('bad-name', place, `\`${key}\` cannot be a name`, { expected: form.expected });
    }
    const subject: Subject = { path: `${section}.${key}`, tree: value, place };
    return {
      ...subject,
      name: key,
      data: checkValue(typeof schema === 'function' ? schema(value) : schema, subject, report),
    };
  });
}

/** Checks each item of a section that is a list of items with a `name`. */
export function checkList<Item extends TSchema>(
  section: string,
  schema: Item,
  context: CheckContext,
): NamedItem<Static<Item>>[] {
  const places = new Map<string, SourceSpan>();
  return itemsOf(section, schema, context).map((tree, at) => {
    const nameTree = valueAt(tree, 'name');
    const name = nameTree?.kind === 'scalar' && typeof nameTree.value === 'string' ? nameTree.value : null;
    const place = nameTree?.place ?? tree.place;
    const path = name === null ? `${section}[${at}]` : `${section}.${name}`;
    if (name !== null) context.report.isFirst(name, place, places, path);
    const subject: Subject = { path, tree, place: tree.place };
    return { ...subject, name: name ?? String(at), data: checkValue(schema, subject, context.report) };
  });
}

/** Returns the items of a list section; an empty list if it is left out. `itemsOf` reports a value that is not a list. */
export function itemsOf(section: string, item: TSchema, { sections, report }: CheckContext): ListTree['items'] {
  const value = sections.get(section)?.value;
  if (!value || isEmpty(value)) return [];
  if (value.kind === 'list') return value.items;
  reportWrongKind(section, item, value, report);
  return [];
}

/** Checks a section as one value. Keys that the section leaves out have their defaults. */
export const checkSection = <Schema extends TSchema>(section: string, schema: Schema, context: CheckContext) =>
  checkValue(schema, sectionSubject(section, context), context.report);

/** Returns a section to check; an empty map if the policy leaves it out. */
export const sectionSubject = (section: string, { sections, start }: CheckContext): Subject =>
  statedSubject(section, sections) ?? { path: section, tree: emptyMap(start), place: start };

/** Returns a section to check; undefined if the policy leaves it out. */
export function statedSubject(section: string, sections: Sections): Subject | undefined {
  const entry = sections.get(section);
  return entry && { path: section, tree: entry.value, place: entry.place };
}

export function emptyMap(place: SourceSpan): Tree {
  return { kind: 'map', entries: [], place };
}

/** Whether a section is empty, for example because all its entries are comments. */
export function isEmpty(tree: Tree): boolean {
  return tree.kind === 'scalar' && tree.value === null;
}

/** Reports a section whose value is not the list or map that it must be. @param item the schema of an item of the list; null for a map */
export function reportWrongKind(section: string, item: TSchema | null, tree: Tree, report: Report): void {
  const dashed = `begin each item with \`- ${item?.properties?.name ? 'name: …' : ''}\``;
  const hint = item ? (tree.kind === 'map' && dashHint(item, tree)) || dashed : namesHint(tree);
  report.add('wrong-type', tree.place, `\`${section}\` must be a ${item ? 'list' : 'map of names'}`, { hint });
}
