import { ITEM_NAME } from '../../core/define/policy-words.ts';
import { plural } from '../../core/text/text.ts';
import { checkValue } from '../check/check.ts';
import { checkNamed, emptyMap, type NamedItem } from '../check/section-checks.ts';
import type { ProviderText } from '../providers/schema.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { ModelText } from '../schema/model.ts';
import { type Entry, entryOf, type MapTree, type ScalarTree, type Tree, toData, valueAt } from '../yaml/tree.ts';
import type { LatencyOf } from './latency.ts';
import { draftModel, isWildcard, type ModelContext, type ModelDraft } from './models.ts';
import { WildcardText } from './wildcard-schema.ts';

/** The form of a wildcard: the prefix of the IDs, then `*`. */
const WILDCARD_NAME = {
  pattern: `^(?:${ITEM_NAME.pattern.slice(1, -1).replace('{0,127}', '{0,126}')})?\\*$`,
  expected: `the beginning of the IDs, then one \`*\` at the end, such as \`openai/*\``,
} as const;

/** Figures in tokens for a model whose figures neither the policy nor the table of public facts states. */
const UNSTATED = { context_window: 128_000, max_output: 16_384 } as const;

/** A wildcard of a policy. A wildcard draft is plain data. */
export type WildcardDraft = Readonly<NonNullable<ReturnType<typeof draftWildcard>>>;

/** Returns everything that a policy can serve: its catalog, then a stand-in for each wildcard, whose ID is the pattern. */
export const servable = (parts: {
  readonly models: readonly ModelDraft[];
  readonly wildcards: readonly WildcardDraft[];
}): readonly ModelDraft[] => [...parts.models, ...parts.wildcards.map(({ standIn }) => standIn)];

/** Counts the models and wildcards among IDs: `6 models, 1 wildcard`. */
export function modelCount(ids: readonly string[]): string {
  const wildcards = ids.filter(isWildcard).length;
  return countText(ids.length - wildcards, wildcards);
}

/** Writes counts of models and wildcards: `6 models, 1 wildcard`. */
export const countText = (models: number, wildcards: number): string =>
  [models > 0 || wildcards === 0 ? plural(models, 'model') : '', wildcards > 0 && plural(wildcards, 'wildcard')]
    .filter(Boolean)
    .join(', ');

/**
 * Drafts the wildcards in `models`, and the wildcards of providers that state `serves: "*"`. `draftWildcards` reports wildcards with errors
 * and leaves them out.
 */
export function draftWildcards(
  providers: readonly NamedItem<ProviderText>[],
  latencyOf: LatencyOf,
  context: ModelContext,
) {
  const stated = checkNamed('models', WildcardText, context, { form: WILDCARD_NAME, holds: isWildcard });
  const places = new Map(stated.map(({ name, place }) => [name, place]));
  const served = providers.flatMap((provider) => {
    const entry = entryOf(provider.tree, 'serves');
    if (entry?.value.kind !== 'scalar' || entry.value.value !== '*') return [];
    const name = `${provider.name}/*`;
    const taken = places.get(name);
    if (taken) context.report.addDuplicate(`models.${name}`, taken, entry.place);
    return taken ? [] : [servedBy(provider, name, entry.place, context.report)];
  });
  const services = new Map(providers.map(({ name, data }) => [name, serviceOf(data)]));
  return [...stated, ...served].flatMap((named) => draftWildcard(named, services, latencyOf, context) ?? []);
}

/** Public figures apply to a service that a preset names. Public figures do not apply to another address that speaks the same dialect. */
const serviceOf = (data: ProviderText | null): string | null => data?.preset ?? null;

const text = (value: string, place: SourceSpan): ScalarTree => ({ kind: 'scalar', value, source: value, place });

function servedBy(
  provider: NamedItem<ProviderText>,
  name: string,
  place: SourceSpan,
  report: Report,
): NamedItem<WildcardText> {
  const entry = { key: 'provider', place, value: text(provider.name, place) };
  const tree: MapTree = { kind: 'map', entries: [entry], place };
  const subject = { name, path: `providers.${provider.name}`, place, tree };
  return { ...subject, data: checkValue(WildcardText, subject, report) };
}

function draftWildcard(
  { name: pattern, path, place, tree, data }: NamedItem<WildcardText>,
  services: ReadonlyMap<string, string | null>,
  latencyOf: LatencyOf,
  context: ModelContext,
) {
  if (!data || tree.kind !== 'map') return null;
  const upstream = data.upstream ?? pattern.slice(pattern.indexOf('/') + 1);
  if (!/^[^*]*\*$/.test(upstream)) {
    const at = valueAt(tree, 'upstream')?.place ?? place;
    context.report.add('bad-form', at, `\`${path}.upstream\` has no \`*\` at its end`, {
      expected: '`*` for the part of the ID that the pattern leaves open',
    });
    return null;
  }
  const own = { ...tree, entries: tree.entries.filter(({ key }) => key !== 'unknown_price' && key !== 'upstream') };
  const unknownPrice = valueAt(tree, 'unknown_price', 'as') ?? null;
  // Any price is sufficient for the stand-in, because no rule is evaluated on the price and each ID has its own price. Without a price the
  // stand-in model would count as free.
  const price = valueAt(own, 'price') ?? unknownPrice ?? treeOf({ input: 1, output: 1, basis: 'own' }, place);
  const subject = { path, place, name: pattern, tree: merged(own, { price, upstream: text(upstream, place) }) };
  const standIn = draftModel({ ...subject, data: checkValue(ModelText, subject, context.report) }, latencyOf, context);
  const { provider } = data;
  if (!standIn) return null;
  const figures = unknownPrice || valueAt(own, 'price') ? standIn.figures.filter(isOfPrice) : [];
  return {
    pattern,
    path,
    place,
    /** The wildcard's own keys, in the form of a model's keys. The wildcard's own keys apply to all of its IDs. */
    tree: own,
    provider,
    /** The service whose public figures apply; null for none. */
    service: services.get(provider) ?? null,
    /** The provider's name of a model, with `*` for the part that the ID supplies. */
    upstream,
    /** The price of an ID without a known price; null to refuse such an ID. */
    unknownPrice,
    /** The stand-in for all models of the wildcard: what rules, health and metrics know before a particular model is requested. */
    standIn: { ...standIn, figures } satisfies ModelDraft as ModelDraft,
  };
}

const isOfPrice = ({ path }: { readonly path: string }): boolean => path.endsWith('price');

/**
 * Merges the text of one model: the wildcard's own keys, then the keys of `more`, then the least that a model needs.
 * @param more a key → its value, which applies if the wildcard does not state the key
 */
export function merged(own: MapTree, more: Readonly<Record<string, Tree>>): MapTree {
  const { place } = own;
  const least = { ...UNSTATED, quality: { default: 0.5, basis: 'guessed', as_of: '2026-01-01' } };
  const entries: Entry[] = [...own.entries];
  const add = (key: string, value: Tree) => {
    if (!entries.some((entry) => entry.key === key)) entries.push({ key, place, value });
  };
  for (const [key, value] of Object.entries(more)) add(key, value);
  for (const [key, value] of Object.entries(least)) add(key, treeOf(value, place));
  const whole: MapTree = { kind: 'map', entries, place };
  const most = valueAt(whole, 'context_window');
  const output = toData(valueAt(whole, 'max_output') ?? emptyMap(place));
  // The context window and the maximum output come from different sources. The smaller of the two figures is the limit.
  if (most?.kind !== 'scalar' || !(Number(output) > Number(most.value))) return whole;
  return {
    ...whole,
    entries: entries.map((entry) => (entry.key === 'max_output' ? { ...entry, value: most } : entry)),
  };
}

/** Makes the tree of a policy from a plain value. */
export function treeOf(value: unknown, place: SourceSpan): Tree {
  if (Array.isArray(value)) return { kind: 'list', items: value.map((item) => treeOf(item, place)), place };
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, item]) => ({ key, place, value: treeOf(item, place) }));
    return { kind: 'map', entries, place };
  }
  if (typeof value === 'number' || typeof value === 'boolean')
    return { kind: 'scalar', value, source: `${value}`, place };
  return text(String(value), place);
}
