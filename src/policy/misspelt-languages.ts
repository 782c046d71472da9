import { isKnownLanguage, nearestLanguage } from '../core/languages.ts';
import type { SourceSpan } from './diagnostics.ts';
import type { Report } from './report.ts';
import type { ModelText } from './schema-model.ts';
import type { NamedItem } from './sections.ts';
import { placeAt, valueAt } from './tree.ts';

/** An unknown language name that is similar to a known one. */
export interface MisspeltLanguage {
  /** Such as `models.gpt-5.languages`. */
  readonly path: string;
  readonly place: SourceSpan;
  readonly name: string;
  readonly meant: string;
}

/** The languages of a model that are probably misspelt. An unknown name that is like no known one is fine. */
export function misspeltLanguagesOf({ path, tree }: NamedItem<ModelText>, data: ModelText): MisspeltLanguage[] {
  return (['languages', 'lacks_languages'] as const).flatMap((key) =>
    data[key].flatMap((name, at) => {
      const meant = isKnownLanguage(name) ? null : nearestLanguage(name);
      const place = valueAt(tree, key, at)?.place ?? placeAt(tree, key);
      return meant === null ? [] : [{ path: `${path}.${key}`, place, name, meant }];
    }),
  );
}

/** Warns of a language that may be misspelt. It is allowed, because it may be the operator's own name. */
export function reviewLanguage({ path, place, name, meant }: MisspeltLanguage, report: Report): void {
  report.add('unknown-language', place, `\`${path}\` has \`${name}\`, which is no programming language that is known`, {
    hint: `did you mean \`${meant}\`? A name of your own may stay as it is`,
  });
}
