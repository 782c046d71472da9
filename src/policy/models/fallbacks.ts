import type { Model } from '../../core/policy/snapshot.ts';
import { CAPABILITIES } from '../../core/request/capability.ts';
import { type FallbackLists, filledLists, listsFor } from '../../core/request/fallbacks.ts';
import type { NamedItem } from '../check/section-checks.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import type { FallbacksText } from '../schema/fallbacks.ts';
import { type ScalarTree, valueAt } from '../yaml/tree.ts';
import { type OtherNames, otherNames, scalarsIn } from './other-names.ts';

/** Returns the lists that a model or selector states; undefined if it states none. */
export function readFallbacks(stated: FallbacksText | undefined): FallbackLists | undefined {
  if (stated === undefined) return undefined;
  if (Array.isArray(stated)) return stated.length > 0 ? listsFor(stated, 'policy') : undefined;
  return filledLists('policy', (reason) => stated[reason] ?? []);
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
  items: readonly OtherNames[],
  { ids, selectors, patterns }: FallbackNames,
  report: Report,
) {
  const wildcardOf = (name: string) => patterns.find((pattern) => name.startsWith(pattern.slice(0, -1)));
  const names = new Set(selectors.map(({ name }) => name));
  for (const { name: owner, fallbacks } of items) {
    for (const list of fallbacks) {
      const places = new Map<string, SourceSpan>();
      for (const { value: name, place } of list) {
        if (typeof name !== 'string') continue;
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

type ComparedModel = Pick<Model, 'id' | 'contextWindow' | 'capabilities'>;

/** Warns about fallbacks that cannot replace their model. Fallbacks of selectors are not compared. */
export function reviewFallbacks(
  named: readonly NamedItem<unknown>[],
  drafts: readonly { readonly model: ComparedModel }[],
  report: Report,
): void {
  const models = drafts.map(({ model }) => model);
  const byId = new Map(models.map((model) => [model.id, model]));
  for (const one of named) {
    const owner = byId.get(one.name);
    const stated = owner && otherNames(one);
    if (!stated) continue;
    for (const item of scalarsIn(valueAt(one.tree, 'fallbacks', 'context'))) {
      const fallback = byId.get(item.source);
      if (fallback) reviewWindow(fallback, owner, models, item, report);
    }
    for (const [id, { place }] of listedOnce(stated)) {
      const fallback = byId.get(id);
      if (fallback && fallback !== owner) reviewTools(fallback, owner, models, place, report);
    }
  }
}

/** Returns each fallback of a model once, by the text in the policy. */
export const listedOnce = ({ fallbacks }: OtherNames): ReadonlyMap<string, ScalarTree> =>
  new Map(fallbacks.flat().map((item) => [item.source, item]));

function reviewWindow(
  fallback: ComparedModel,
  owner: ComparedModel,
  models: readonly ComparedModel[],
  { place }: ScalarTree,
  report: Report,
): void {
  if (fallback === owner || fallback.contextWindow > owner.contextWindow) return;
  const largest = models.reduce((most, one) => (one.contextWindow > most.contextWindow ? one : most));
  const message = `a prompt that is too long for \`${owner.id}\` is also too long for \`${fallback.id}\`: their context windows have ${count(owner.contextWindow)} and ${count(fallback.contextWindow)} tokens`;
  const hint =
    largest.contextWindow > owner.contextWindow
      ? `write \`context: [${largest.id}]\`, whose window has ${count(largest.contextWindow)} tokens`
      : `no model of the policy has a larger window: remove \`${fallback.id}\` from \`context\``;
  report.add('idle-fallback', place, message, { hint });
}

const count = (tokens: number): string => tokens.toLocaleString('en');

const hasTools = ({ capabilities }: ComparedModel): boolean => (capabilities & CAPABILITIES.tools.bit) !== 0;

function reviewTools(
  fallback: ComparedModel,
  owner: ComparedModel,
  models: readonly ComparedModel[],
  place: SourceSpan,
  report: Report,
): void {
  if (!hasTools(owner) || hasTools(fallback)) return;
  const other = models.find((one) => one !== owner && hasTools(one));
  const message = `\`${owner.id}\` has \`tools\`, but its fallback \`${fallback.id}\` does not, so no request with tools falls back to it`;
  const hint = `add \`tools\` to the \`capabilities\` of \`${fallback.id}\` if it can call tools${other ? `, or name a model that can, such as \`${other.id}\`` : ''}`;
  report.add('idle-fallback', place, message, { hint });
}
