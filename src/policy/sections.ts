import type { Static, TSchema } from '@sinclair/typebox';
import { checkValue, type Subject } from './check.ts';
import type { SourceSpan } from './diagnostics.ts';
import { isEmpty, reportDuplicate, reportWrongKind, type SectionName, type Sections } from './merge.ts';
import { byNearness, didYouMean, listNames, NAMES_SHOWN } from './nearest.ts';
import type { Report } from './report.ts';
import { type ListTree, type Tree, valueAt } from './tree.ts';

/** What checking one policy works with. */
export interface CheckContext {
  readonly sections: Sections;
  readonly report: Report;
  /** The beginning of the policy: the place of what is missing altogether. */
  readonly start: SourceSpan;
}

/** A named thing of a section, with its checked data; null data where the check failed. */
export interface NamedItem<Data> extends Subject {
  readonly name: string;
  readonly data: Data | null;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/;

/** Checks the things of a section one by one, so that one that is wrong hides nothing of the others. */
export function checkNamed<Schema extends TSchema>(
  section: SectionName,
  schema: Schema,
  { sections, report }: CheckContext,
): NamedItem<Static<Schema>>[] {
  const entry = sections.get(section);
  if (!entry) return [];
  if (entry.value.kind !== 'map') {
    if (!isEmpty(entry.value)) reportWrongKind(section, entry.value, report);
    return [];
  }
  return entry.value.entries.map(({ key, place, value }) => {
    if (!NAME.test(key)) {
      const expected = 'letters, digits and . _ : / @ + - after a letter or digit, at most 128';
      report.add('bad-name', place, `\`${key}\` cannot be a name`, { expected });
    }
    const subject: Subject = { path: `${section}.${key}`, tree: value, place };
    return { ...subject, name: key, data: checkValue(schema, subject, report) };
  });
}

/** Checks the things of a list one by one. Each has a `name` of its own. */
export function checkList<Schema extends TSchema>(
  section: SectionName,
  schema: Schema,
  context: CheckContext,
): NamedItem<Static<Schema>>[] {
  const places = new Map<string, SourceSpan>();
  return listOf(section, context).map((tree, at) => {
    const nameTree = valueAt(tree, 'name');
    const name = nameTree?.kind === 'scalar' && typeof nameTree.value === 'string' ? nameTree.value : null;
    const place = nameTree?.place ?? tree.place;
    const path = name === null ? `${section}[${at}]` : `${section}.${name}`;
    const first = name === null ? undefined : places.get(name);
    if (first) reportDuplicate(path, place, first, context.report);
    else if (name !== null) places.set(name, place);
    const subject: Subject = { path, tree, place: tree.place };
    return { ...subject, name: name ?? String(at), data: checkValue(schema, subject, context.report) };
  });
}

/** The items of a section that is a list; none where it is left out or something else. */
export function listOf(section: SectionName, { sections, report }: CheckContext): ListTree['items'] {
  const value = sections.get(section)?.value;
  if (!value || isEmpty(value)) return [];
  if (value.kind === 'list') return value.items;
  reportWrongKind(section, value, report);
  return [];
}

/** Checks a section that is one thing; left out, it is its defaults. */
export function checkSection<Schema extends TSchema>(
  section: SectionName,
  schema: Schema,
  { sections, report, start }: CheckContext,
): Static<Schema> | null {
  return checkValue(schema, sectionSubject(section, { sections, start }), report);
}

/** A section as a thing to check; an empty map where it is left out. */
export function sectionSubject(
  section: SectionName,
  { sections, start }: Pick<CheckContext, 'sections' | 'start'>,
): Subject {
  const entry = sections.get(section);
  return { path: section, tree: entry?.value ?? emptyMap(start), place: entry?.place ?? start };
}

export function emptyMap(place: SourceSpan): Tree {
  return { kind: 'map', entries: [], place };
}

/** Reports a name that nothing has, with the names that are known and the one probably meant. */
export function reportUnknownName(
  what: string,
  name: string,
  known: Iterable<string>,
  place: SourceSpan,
  report: Report,
): void {
  const all = [...known];
  // Of many only some are listed: those that may have been meant.
  const names = all.length > NAMES_SHOWN ? byNearness(name, all) : all;
  report.add('unknown-reference', place, `there is no ${what} \`${name}\``, {
    expected: `one of ${listNames(names)}`,
    ...didYouMean(name, names),
  });
}

/** The same of what plugins bring: nothing where one of the policy's cannot be used, for it may be that one's. */
export function reportUnknownPlugin(
  what: string,
  name: string,
  known: Iterable<string>,
  place: SourceSpan,
  report: Report,
): void {
  if (report.found.some(({ code }) => code === 'plugin-not-loaded')) return;
  reportUnknownName(what, name, known, place, report);
}
