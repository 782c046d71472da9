import type { Static, TSchema } from '@sinclair/typebox';
import { checkValue, type Subject } from './check.ts';
import type { SourceSpan } from './diagnostics.ts';
import { isEmpty, reportWrongKind, type SectionName, type Sections } from './merge.ts';
import type { Report } from './report.ts';
import { SECTIONS } from './schema.ts';
import { ITEM_NAME } from './schema-parts.ts';
import { type ListTree, type Tree, valueAt } from './tree.ts';
import { inVersion, LATEST_VERSION, type LanguageVersion } from './versions.ts';

/** The sections of one policy, and the report for their problems. */
export interface CheckContext {
  readonly sections: Sections;
  readonly report: Report;
  /** The beginning of the policy, at which missing sections are reported. */
  readonly start: SourceSpan;
}

/** A named item of a section, with its checked data; null if the check failed. */
export interface NamedItem<Data> extends Subject {
  readonly name: string;
  readonly data: Data | null;
}

/** The entries of a section that are checked together. */
interface EntryNames {
  /** The form of their names. Default: that of any item. */
  readonly form?: { readonly pattern: string; readonly expected: string };
  /** Default: all. */
  readonly holds?: (name: string) => boolean;
}

/**
 * Checks each entry of a section that is a map, so that a wrong one does not hide problems of the others.
 * @param schema of every entry, or a function that returns the one of an entry
 */
export function checkNamed<Schema extends TSchema>(
  section: SectionName,
  schema: Schema | ((entry: Tree) => Schema),
  { sections, report }: CheckContext,
  { form = ITEM_NAME, holds = () => true }: EntryNames = {},
): NamedItem<Static<Schema>>[] {
  const entry = sections.get(section);
  if (!entry) return [];
  if (entry.value.kind !== 'map') {
    if (!isEmpty(entry.value)) reportWrongKind(section, entry.value, report);
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

/** The sections that are lists of items with a `name`. */
type ListName = 'budgets' | 'cases' | 'constraints' | 'preferences' | 'rate_limits' | 'teams' | 'tokens';

/** Checks each item of a section that is a list of items with a `name`. */
export function checkList<Section extends ListName>(
  section: Section,
  context: CheckContext,
): NamedItem<Static<(typeof SECTIONS)[Section]['items']>>[] {
  const schema: (typeof SECTIONS)[Section]['items'] = SECTIONS[section].items;
  const places = new Map<string, SourceSpan>();
  return itemsOf(section, context).map((tree, at) => {
    const nameTree = valueAt(tree, 'name');
    const name = nameTree?.kind === 'scalar' && typeof nameTree.value === 'string' ? nameTree.value : null;
    const place = nameTree?.place ?? tree.place;
    const path = name === null ? `${section}[${at}]` : `${section}.${name}`;
    if (name !== null) context.report.isFirst(name, place, places, path);
    const subject: Subject = { path, tree, place: tree.place };
    return { ...subject, name: name ?? String(at), data: checkValue(schema, subject, context.report) };
  });
}

/** The items of a section that is a list; empty if it is left out. Reports any other value. */
export function itemsOf(section: SectionName, { sections, report }: CheckContext): ListTree['items'] {
  const value = sections.get(section)?.value;
  if (!value || isEmpty(value)) return [];
  if (value.kind === 'list') return value.items;
  reportWrongKind(section, value, report);
  return [];
}

/** Checks a section as one value. What it leaves out has its defaults in this version of the language. */
export const checkSection = <Section extends SectionName>(
  section: Section,
  context: CheckContext,
  version: LanguageVersion = LATEST_VERSION,
) => checkValue(inVersion(SECTIONS[section], version), sectionSubject(section, context), context.report);

/** A section to check; an empty map if it is left out. */
export const sectionSubject = (section: SectionName, { sections, start }: CheckContext): Subject =>
  statedSubject(section, sections) ?? { path: section, tree: emptyMap(start), place: start };

/** A section to check; undefined if it is left out. */
export function statedSubject(section: SectionName, sections: Sections): Subject | undefined {
  const entry = sections.get(section);
  return entry && { path: section, tree: entry.value, place: entry.place };
}

export function emptyMap(place: SourceSpan): Tree {
  return { kind: 'map', entries: [], place };
}
