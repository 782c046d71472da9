import type { FactsTable } from './facts.ts';
import type { ModelDraft } from './models.ts';
import { isWellFormed, SameModels } from './same-model.ts';
import type { WildcardDraft } from './wildcards.ts';

interface Catalog {
  /** Maps each alias to the selector or model that it stands for. */
  readonly aliases: ReadonlyMap<string, string>;
  readonly models: readonly ModelDraft[];
}

interface OpenCatalog extends Catalog {
  readonly wildcards: readonly WildcardDraft[];
  /** The beginnings of the IDs of models that may be found. */
  readonly openings: readonly string[];
}

/** The published figures of models, with their publisher and date. */
export type PublicFigures = Pick<FactsTable, 'of' | 'rowsOf' | 'ids' | 'source' | 'oldestOf' | 'changing'>;

/** Returns functions for the names that a wildcard covers. */
function namesOf(
  { pattern, upstream, provider, service }: WildcardDraft,
  catalog: Catalog,
  facts: PublicFigures | null,
) {
  const prefix = pattern.slice(0, -1);
  // The prefix of the provider's names.
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
    /** Length of the prefix of its IDs. */
    length: prefix.length,
    /**
     * Whether the wildcard is `NAME/*` for every model of its provider. Models with public figures then also work without the prefix
     * `NAME/`.
     */
    takesBareNames: prefix.endsWith('/') && start === '',
    covers,
    /** Returns the catalog's model that an ID means, under any of its names; null for none. */
    listed(id: string): string | null {
      const [name] = names.namesOf(upstreamOf(id));
      return name === undefined ? null : (models.get(name) ?? null);
    },
    /** Returns the ID of the model with public figures that an ID means; the ID itself if there is no such model or more than one. */
    publicId(id: string): string {
      const [row, ...others] = rowsOf(upstreamOf(id));
      return row === undefined || others.length > 0 ? id : (idOf(row) ?? id);
    },
    /** Returns the models with public figures that a provider's name may mean: see `FactsTable.rowsOf`. */
    rowsOf,
    /** Returns the provider's name for an ID that the wildcard covers. */
    upstreamOf,
    /** Returns the ID of a provider's model; null if the wildcard does not cover the model. */
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

/**
 * Sorts wildcards in the order in which they are tried for a name: the longest first. Wildcards of equal length keep the order of the
 * policy.
 */
export const byLength = (a: NamedWildcard, b: NamedWildcard): number => b.names.length - a.names.length;

/**
 * Returns the model that an ID means: a model of the catalog, or else a model with public figures, or else the ID itself.
 * @param all wildcards sorted by length
 * @returns null for an ID that no wildcard covers
 */
function meaningBy(all: readonly NamedWildcard[], id: string): string | null {
  const names = all.find((one) => one.names.covers(id))?.names;
  if (!names) return null;
  const found = names.listed(id) ?? names.publicId(id);
  // Another spelling of an ID may be the ID of a longer wildcard.
  return found === id || names.listed(id) !== null ? found : meaningBy(all, found);
}

/**
 * Makes a function that resolves a name with the policy's wildcards, whether their providers are set up or not.
 * @returns a function from a name to its ID, or null if no wildcard covers the name
 */
const wildcardNames = (wildcards: readonly WildcardDraft[], catalog: Catalog, facts: PublicFigures | null) =>
  meaningIn(withNames(wildcards, catalog, facts));

/**
 * Makes a function that resolves a name that the catalog does not list: the name of a wildcard's model, or of a model that may be found.
 * @returns a function from a name to its ID, or null
 */
export function openNames(
  { wildcards, openings, ...catalog }: OpenCatalog,
  facts: PublicFigures | null,
): (name: string) => string | null {
  const covered = wildcardNames(wildcards, catalog, facts);
  return (name) => covered(name) ?? (openings.some((one) => name.startsWith(one)) ? name : null);
}

/** Makes a function that resolves a name with the given wildcards, which are in the order of the policy. */
export function meaningIn(wildcards: readonly NamedWildcard[]): (name: string) => string | null {
  const all = wildcards.toSorted(byLength);
  return (name) => {
    const covered = coveredBy(wildcards, name);
    return covered && meaningBy(all, covered.id);
  };
}

/**
 * Finds the wildcard that covers a name, or that knows the name without its prefix.
 * @returns the wildcard and the ID; null if no wildcard covers the name
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

/** Returns the wildcard with the longest prefix among the wildcards that cover a name; the first one if several are equally long. */
export function longestFor<W extends NamedWildcard>(name: string, wildcards: readonly W[]): W | null {
  let longest: W | null = null;
  for (const one of wildcards) {
    if (one.names.covers(name) && one.names.length > (longest?.names.length ?? -1)) longest = one;
  }
  return longest;
}

/** Maps every name of a provider's catalog models to the model, whether the provider is set up or not. */
function catalogNames(provider: string, { models, aliases }: Catalog) {
  const found = new Map<string, string>();
  const add = (name: string, id: string) => {
    if (!found.has(name)) found.set(name, id);
  };
  const here = models.filter(({ endpoints }) => endpoints.some(({ endpoint }) => endpoint.provider === provider));
  // If names clash, a provider's own name wins over another model's ID, and an ID wins over an alias.
  for (const { model, endpoints } of here) {
    for (const { endpoint } of endpoints) if (endpoint.provider === provider) add(endpoint.upstream, model.id);
  }
  const ids = new Set(here.map(({ model }) => model.id));
  for (const id of ids) add(id, id);
  for (const [alias, of] of aliases) if (ids.has(of)) add(alias, of);
  return { names: new SameModels(found.keys()), models: found };
}
