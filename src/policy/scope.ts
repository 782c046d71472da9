import type { Static, TSchema } from '@sinclair/typebox';
import type { ProviderPlugin } from '../contract/provider.ts';
import type { StrategyPlugin } from '../contract/strategy.ts';
import type { Decimal } from '../core/decimal.ts';
import { checkValue, type Subject } from './check.ts';
import type { Place, Report } from './diagnostics.ts';
import type { SectionName, Sections } from './merge.ts';
import { didYouMean, listNames } from './nearest.ts';
import type { Tree } from './tree.ts';

/** The environment a policy meets. Only asked for variables that the policy names. */
export interface Environment {
  get(name: string): string | undefined;
}

export type Strategies = ReadonlyMap<string, StrategyPlugin>;
export type Providers = ReadonlyMap<string, ProviderPlugin>;

/** What compiling one policy works with. */
export interface Scope {
  readonly sections: Sections;
  readonly report: Report;
  readonly env: Environment;
  readonly strategies: Strategies;
  readonly providers: Providers;
  /** The beginning of the policy: the place of what is missing altogether. */
  readonly start: Place;
  readonly usdPerCredit: Decimal;
}

/** A named thing of a section, with its checked data; null data where the check failed. */
export interface Named<Data> extends Subject {
  readonly name: string;
  readonly data: Data | null;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/;

type Source = Pick<Scope, 'sections' | 'report' | 'start'>;

/** Checks the things of a section one by one, so that one that is wrong hides nothing of the others. */
export function checkNamed<Schema extends TSchema>(
  section: SectionName,
  schema: Schema,
  { sections, report }: Source,
): Named<Static<Schema>>[] {
  const entry = sections.get(section);
  if (!entry) return [];
  if (entry.value.kind !== 'map') {
    const isEmpty = entry.value.kind === 'scalar' && entry.value.value === null;
    if (!isEmpty) report.add('wrong-type', entry.value.place, `\`${section}\` must be a map of names`);
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

/** Checks a section that is one thing; left out, it is its defaults. */
export function checkSection<Schema extends TSchema>(
  section: SectionName,
  schema: Schema,
  { sections, report, start }: Source,
): Static<Schema> | null {
  return checkValue(schema, sectionSubject(section, { sections, start }), report);
}

/** A section as a thing to check; an empty map where it is left out. */
export function sectionSubject(section: SectionName, { sections, start }: Omit<Source, 'report'>): Subject {
  const entry = sections.get(section);
  return { path: section, tree: entry?.value ?? emptyMap(start), place: entry?.place ?? start };
}

export function emptyMap(place: Place): Tree {
  return { kind: 'map', entries: [], place };
}

/** Reports a name that nothing has, with the names that are known and the one probably meant. */
export function unknownName(what: string, name: string, known: Iterable<string>, place: Place, report: Report): void {
  const names = [...known];
  report.add('unknown-reference', place, `there is no ${what} \`${name}\``, {
    expected: `one of ${listNames(names)}`,
    ...didYouMean(name, names),
  });
}
