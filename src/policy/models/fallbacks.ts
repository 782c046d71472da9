import { FALLBACK_REASONS, type FallbackLists, listsFor } from '../../core/request/fallbacks.ts';
import type { SourceSpan } from '../diagnostics.ts';
import type { Report } from '../report.ts';
import type { FallbacksText } from '../schema/fallbacks.ts';
import type { NamedItem } from '../schema/section-checks.ts';
import { type Tree, valueAt } from '../yaml/tree.ts';

/** Returns the lists that a model or selector states; undefined if it states none. */
export function readFallbacks(stated: FallbacksText | undefined): FallbackLists | undefined {
  if (stated === undefined) return undefined;
  if (Array.isArray(stated)) return stated.length > 0 ? listsFor(stated, 'policy') : undefined;
  const { error = [], rate_limit = [], context = [], refused = [] } = stated;
  const lists: FallbackLists = { by: 'policy', error, rate_limit, context, refused };
  return FALLBACK_REASONS.some((reason) => lists[reason].length > 0) ? lists : undefined;
}

/** The names that a list of fallbacks can be compared with. */
interface FallbackNames {
  /** Maps every model ID to its location. */
  readonly ids: ReadonlyMap<string, SourceSpan>;
  readonly selectors: readonly { readonly name: string }[];
  /** The patterns of wildcards, such as `openai/*`. */
  readonly patterns: readonly string[];
}

/** Checks the names in the lists of models and selectors. Two models may name each other, because a list is not followed further. */
export function checkFallbacks(
  items: readonly NamedItem<unknown>[],
  { ids, selectors, patterns }: FallbackNames,
  report: Report,
) {
  const wildcardOf = (name: string) => patterns.find((pattern) => name.startsWith(pattern.slice(0, -1)));
  const names = new Set(selectors.map(({ name }) => name));
  for (const { name: owner, tree } of items) {
    for (const list of listsIn(valueAt(tree, 'fallbacks'))) {
      const places = new Map<string, SourceSpan>();
      for (const item of list) {
        if (item.kind !== 'scalar' || typeof item.value !== 'string') continue;
        const { value: name, place } = item;
        const expected = 'the IDs of other models';
        const first = places.get(name);
        if (name === owner) report.add('bad-fallback', place, `\`${owner}\` is its own fallback`, { expected });
        else if (names.has(name))
          report.add('bad-fallback', place, `the fallback \`${name}\` is a selector`, { expected });
        else if (first)
          report.add('bad-fallback', place, `the fallback \`${name}\` is in the list twice`, {
            expected: 'each model once',
            related: { place: first, message: 'the first time' },
          });
        else if (!ids.has(name)) {
          const wildcard = wildcardOf(name);
          if (wildcard === undefined) report.addUnknown('model', name, ids.keys(), place);
          else
            report.add('bad-fallback', place, `the fallback \`${name}\` is a model of the wildcard \`${wildcard}\``, {
              hint: `add an entry for \`${name}\` to \`models\``,
            });
        }
        places.set(name, place);
      }
    }
  }
}

/** Returns the items of each list that a value of `fallbacks` has. */
function listsIn(value: Tree | undefined): (readonly Tree[])[] {
  if (value?.kind === 'list') return [value.items];
  if (value?.kind !== 'map') return [];
  return value.entries.flatMap(({ value: list }) => (list.kind === 'list' ? [list.items] : []));
}
