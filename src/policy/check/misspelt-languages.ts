import { isKnownLanguage, nearestLanguage } from '../../core/request/languages.ts';
import { didYouMean } from '../../core/text/text.ts';
import type { Report } from '../report/report.ts';
import type { ModelText } from '../schema/model.ts';
import { placeAt, valueAt } from '../yaml/tree.ts';
import type { NamedItem } from './section-checks.ts';

/** About how many known languages have a similar length to a name. */
const COMPARISONS = 100;

/** An unknown language name that resembles a known name. */
export type MisspeltLanguage = ReturnType<typeof misspeltLanguagesOf>[number];

/**
 * Returns the languages of a model that are probably misspelt. An unknown language name that resembles no known name is fine. A misspelt
 * name causes only a warning, because it may be the operator's own name.
 */
export function misspeltLanguagesOf({ path, tree }: NamedItem<ModelText>, data: ModelText, report: Report) {
  return (['languages', 'lacks_languages'] as const).flatMap((key) =>
    data[key].flatMap((name, at) => {
      const mayCompare = !isKnownLanguage(name) && report.mayCompare(COMPARISONS);
      const meant = mayCompare ? nearestLanguage(name) : null;
      const place = valueAt(tree, key, at)?.place ?? placeAt(tree, key);
      if (meant === null) return [];
      const message = `\`${path}.${key}\` has \`${name}\`, which is not a known programming language`;
      return [{ place, message, hint: `${didYouMean(meant)} If you use this name on purpose, ignore the warning` }];
    }),
  );
}
