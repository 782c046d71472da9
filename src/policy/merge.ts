import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { LITELLM_SECTIONS } from './check/peer-key-table.ts';
import { insteadOf, peerKey } from './check/peer-keys.ts';
import { isEmpty, reportWrongKind, type Sections } from './check/section-checks.ts';
import { SECTIONS, type SectionName } from './language.ts';
import { nearest } from './report/nearest.ts';
import type { Report } from './report/report.ts';
import { type Entry, type MapTree, type Tree, toData } from './yaml/tree.ts';

const NAMES = Object.keys(SECTIONS);

/**
 * Joins files into one policy. A section may be spread over several files. `mergeFiles` reports unknown sections, and names that are
 * defined twice, with both locations.
 */
export function mergeFiles(files: readonly MapTree[], report: Report): Sections {
  const merged = new Map<SectionName, Entry>();
  const entries = files.flatMap((file) => file.entries);
  const names = new Set(entries.map(({ key }) => key));
  const told = new Set<string>();
  for (const stated of entries) {
    const key = isSection(stated.key) ? stated.key : intendedSection(stated, { stated: names, told }, report);
    if (key === null) continue;
    const before = merged.get(key);
    if (!before) merged.set(key, stated);
    else if (key === 'version') repeatVersion(before, stated, report);
    else merged.set(key, { ...before, value: join(key, before, stated, report) });
  }
  return merged;
}

function isSection(name: string): name is SectionName {
  return NAMES.includes(name);
}

/** The names of all sections that files state, and the remedies of unknown sections that are already reported. */
interface MergedNames {
  readonly stated: ReadonlySet<string>;
  readonly told: Set<string>;
}

/**
 * Reports an unknown section. `intendedSection` returns the section that was probably intended, if no file states that section, so that its
 * content does not also seem to be missing. If a file states the intended section, `intendedSection` returns null.
 */
function intendedSection(
  { key, place, value }: Entry,
  { stated, told }: MergedNames,
  report: Report,
): SectionName | null {
  // One diagnostic is enough for a whole LiteLLM configuration.
  const litellm = [...stated].find((one) => LITELLM_SECTIONS.has(one));
  if (litellm !== undefined && key !== litellm && (LITELLM_SECTIONS.has(key) || key === 'guardrails')) return null;
  const remedy = peerKey({ key, known: NAMES, value });
  // Several keys of one file can be one mistake, such as the envelope of Kubernetes.
  const remedyOfFile = remedy && `${place.file} ${remedy.hint}`;
  if (remedyOfFile !== undefined && told.has(remedyOfFile)) return null;
  if (remedyOfFile !== undefined) told.add(remedyOfFile);
  report.add('unknown-key', place, `there is no section \`${key}\``, insteadOf(key, NAMES, remedy));
  const meant = remedy?.meant ?? nearest(key, NAMES);
  const isMeant = meant !== null && isSection(meant) && !stated.has(meant) && kindOf(meant) === value.kind;
  return isMeant ? meant : null;
}

/** Every file may state the version, as long as all files state the same version. */
function repeatVersion(before: Entry, again: Entry, report: Report): void {
  if (Value.Equal(toData(before.value), toData(again.value))) return;
  const related = { place: before.place, message: 'stated here' };
  report.add('duplicate-name', again.place, '`version` is stated twice, with different values', { related });
}

function join(section: SectionName, before: Entry, again: Entry, report: Report): Tree {
  const first = before.value;
  const second = again.value;
  if (isEmpty(second)) return first;
  if (isEmpty(first)) return second;
  const wanted = kindOf(section);
  if (first.kind !== second.kind && wanted !== 'scalar') {
    const isFirst = first.kind === wanted;
    const { items = null }: TSchema = SECTIONS[section];
    reportWrongKind(section, items, isFirst ? second : first, report);
    return isFirst ? first : second;
  }
  // The code that checks a list section also compares the names in the list.
  if (first.kind === 'list' && second.kind === 'list') return { ...first, items: [...first.items, ...second.items] };
  if (first.kind !== 'map' || second.kind !== 'map') {
    report.addDuplicate(section, again.place, before.place);
    return first;
  }
  const places = new Map(first.entries.map((entry) => [entry.key, entry.place]));
  const fresh = second.entries.filter(({ key, place }) => report.isFirst(key, place, places, `${section}.${key}`));
  return { ...first, entries: [...first.entries, ...fresh] };
}

function kindOf(section: SectionName): Tree['kind'] {
  const { type } = SECTIONS[section];
  return type === 'array' ? 'list' : type === 'object' ? 'map' : 'scalar';
}
