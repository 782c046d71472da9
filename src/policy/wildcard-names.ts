import type { FactsTable } from './facts.ts';
import type { ModelDraft } from './models.ts';
import type { NamedParts } from './named-parts.ts';
import { isWellFormed, SameModels } from './same-model.ts';
import type { WildcardDraft } from './wildcards.ts';

interface Catalog extends Pick<NamedParts, 'aliases'> {
  readonly models: readonly ModelDraft[];
}

/** The published figures of models, with their publisher and day. */
export type PublicFigures = Pick<FactsTable, 'of' | 'rowsOf' | 'ids' | 'source' | 'asOf'>;

/** The names that a wildcard covers. */
function namesOf(
  { pattern, upstream, provider, service }: WildcardDraft,
  catalog: Catalog,
  facts: PublicFigures | null,
) {
  const prefix = pattern.slice(0, -1);
  // The beginning of the provider's names.
  const start = upstream.slice(0, -1);
  const { names, models } = catalogNames(provider, catalog);
  const covers = (name: string): boolean => name.length > prefix.length && name.startsWith(prefix);
  const upstreamOf = (id: string): string => start + id.slice(prefix.length);
  const idOf = (upstream: string): string | null => {
    const id = prefix + upstream.slice(start.length);
    return upstream.startsWith(start) && covers(id) && isWellFormed(id) ? id : null;
  };
  const rowsOf = (name: string): readonly string[] => (service === null ? null : facts?.rowsOf(service, name)) ?? [];
  return {
    /** The length of what its IDs begin with. */
    length: prefix.length,
    /** Whether it is `NAME/*` for every model of its provider, so that one without `NAME/` is known by facts alone. */
    takesBareNames: prefix.endsWith('/') && start === '',
    covers,
    /** The catalog's model that an ID means, under whatever name; null for none. */
    listed(id: string): string | null {
      const [name] = names.namesOf(upstreamOf(id));
      return name === undefined ? null : (models.get(name) ?? null);
    },
    /** The ID of the model with public figures that an ID means; the ID itself where there is no such model, or not one. */
    publicId(id: string): string {
      const [row, ...others] = rowsOf(upstreamOf(id));
      return row === undefined || others.length > 0 ? id : (idOf(row) ?? id);
    },
    /** The models with public figures that a provider's name may mean: see `FactsTable.rowsOf`. */
    rowsOf,
    /** The provider's name of an ID that it covers. */
    upstreamOf,
    /** The ID of a provider's model; null where it covers none such. */
    idOf,
  };
}

/** A wildcard with the names that it covers. */
export interface NamedWildcard extends WildcardDraft {
  readonly names: ReturnType<typeof namesOf>;
}

export const withNames = (
  drafts: readonly WildcardDraft[],
  catalog: Catalog,
  facts: PublicFigures | null,
): readonly NamedWildcard[] => drafts.map((draft) => ({ ...draft, names: namesOf(draft, catalog, facts) }));

/** Wildcards in the order in which they are asked for a name: the longest first; of one length in the order of the policy. */
export const byLength = (a: NamedWildcard, b: NamedWildcard): number => b.names.length - a.names.length;

/**
 * The model that an ID means: one of the catalog, else one with public figures, else the ID itself.
 * @param all by length
 * @returns null for an ID that none of them covers
 */
function meaningBy(all: readonly NamedWildcard[], id: string): string | null {
  const names = all.find((one) => one.names.covers(id))?.names;
  if (!names) return null;
  const found = names.listed(id) ?? names.publicId(id);
  // Another writing may be the ID of a longer wildcard.
  return found === id || names.listed(id) !== null ? found : meaningBy(all, found);
}

/**
 * What a policy's wildcards make of a name, whether their providers are set up or not.
 * @returns a function from a name to its ID, or null for a name of none
 */
export const wildcardNames = (wildcards: readonly WildcardDraft[], catalog: Catalog, facts: PublicFigures | null) =>
  meaningIn(withNames(wildcards, catalog, facts));

/** The same of named wildcards, in the order of the policy. */
export function meaningIn(wildcards: readonly NamedWildcard[]): (name: string) => string | null {
  const all = wildcards.toSorted(byLength);
  return (name) => {
    const covered = coveredBy(wildcards, name);
    return covered && meaningBy(all, covered.id);
  };
}

/**
 * The wildcard that covers a name, or knows it without what its IDs begin with.
 * @returns the wildcard and the ID; null for a name of none
 */
export function coveredBy<W extends NamedWildcard>(wildcards: readonly W[], name: string) {
  if (!isWellFormed(name)) return null;
  const longest = longestFor(name, wildcards);
  if (longest) return { wildcard: longest, id: name };
  const open = wildcards.filter(({ names }) => names.takesBareNames);
  const isKnownAs = ({ names }: W) => names.rowsOf(name).includes(name);
  const wildcard = open.find(isKnownAs) ?? open.find(({ names }) => names.rowsOf(name).length > 0);
  const id = wildcard?.names.idOf(name);
  return wildcard && id ? { wildcard, id } : null;
}

/** Of the wildcards that cover a name the one with the longest beginning, of several the first. */
export function longestFor<W extends NamedWildcard>(name: string, wildcards: readonly W[]): W | null {
  let longest: W | null = null;
  for (const one of wildcards) {
    if (one.names.covers(name) && one.names.length > (longest?.names.length ?? -1)) longest = one;
  }
  return longest;
}

/** Every name of a provider's models that the catalog serves there, set up or not → the model. */
function catalogNames(provider: string, { models, aliases }: Catalog) {
  const found = new Map<string, string>();
  const add = (name: string, id: string) => {
    if (!found.has(name)) found.set(name, id);
  };
  const here = models.filter(({ endpoints }) => endpoints.some(({ endpoint }) => endpoint.provider === provider));
  // A provider's own name of a model is stronger than another model's ID, and that than an alias.
  for (const { model, endpoints } of here) {
    for (const { endpoint } of endpoints) if (endpoint.provider === provider) add(endpoint.upstream, model.id);
  }
  const ids = new Set(here.map(({ model }) => model.id));
  for (const id of ids) add(id, id);
  for (const [alias, of] of aliases) if (ids.has(of)) add(alias, of);
  return { names: new SameModels(found.keys()), models: found };
}
