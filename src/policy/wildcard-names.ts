import type { AliasDraft } from './aliases.ts';
import type { FactsTable } from './facts.ts';
import type { ModelDraft } from './models.ts';
import { isWellFormed, SameModels } from './same-model.ts';
import type { WildcardDraft } from './wildcards.ts';

interface Catalog extends Pick<AliasDraft, 'aliases'> {
  readonly models: readonly ModelDraft[];
}

/** What is published of models, by whom, and on which day. */
export type PublicFigures = Pick<FactsTable, 'of' | 'rowsOf' | 'ids' | 'source' | 'asOf'>;

/** The names that a wildcard covers. */
class WildcardNames {
  readonly #prefix: string;
  /** What the provider's names begin with. */
  readonly #start: string;
  readonly #catalog: CatalogNames;
  readonly #service: string | null;
  readonly #facts: PublicFigures | null;

  constructor({ pattern, upstream, provider, service }: WildcardDraft, catalog: Catalog, facts: PublicFigures | null) {
    this.#prefix = pattern.slice(0, -1);
    this.#start = upstream.slice(0, -1);
    this.#catalog = catalogNames(provider, catalog);
    this.#service = service;
    this.#facts = facts;
  }

  /** The length of what its IDs begin with. */
  get length(): number {
    return this.#prefix.length;
  }

  /** Whether it is `NAME/*` for every model of its provider, so that one without `NAME/` is known by facts alone. */
  get takesBareNames(): boolean {
    return this.#prefix.endsWith('/') && this.#start === '';
  }

  covers(name: string): boolean {
    return name.length > this.#prefix.length && name.startsWith(this.#prefix);
  }

  /** The catalog's model that an ID means, under whatever name; null for none. */
  listed(id: string): string | null {
    const { names, models } = this.#catalog;
    const [name] = names.namesOf(this.upstreamOf(id));
    return name === undefined ? null : (models.get(name) ?? null);
  }

  /** The ID of the model with public figures that an ID means; the ID itself where there is no such model, or not one. */
  publicId(id: string): string {
    const [row, ...others] = this.rowsOf(this.upstreamOf(id));
    return row === undefined || others.length > 0 ? id : (this.idOf(row) ?? id);
  }

  /** The models with public figures that a provider's name may mean: see `FactsTable.rowsOf`. */
  rowsOf(upstream: string): readonly string[] {
    return this.#service === null ? [] : (this.#facts?.rowsOf(this.#service, upstream) ?? []);
  }

  /** The provider's name of an ID that it covers. */
  upstreamOf(id: string): string {
    return this.#start + id.slice(this.#prefix.length);
  }

  /** The ID of a provider's model; null where it covers none such. */
  idOf(upstream: string): string | null {
    const id = this.#prefix + upstream.slice(this.#start.length);
    return upstream.startsWith(this.#start) && this.covers(id) && isWellFormed(id) ? id : null;
  }
}

/** A wildcard with the names that it covers. */
export interface NamedWildcard extends WildcardDraft {
  readonly names: WildcardNames;
}

export const withNames = (
  drafts: readonly WildcardDraft[],
  catalog: Catalog,
  facts: PublicFigures | null,
): readonly NamedWildcard[] => drafts.map((draft) => ({ ...draft, names: new WildcardNames(draft, catalog, facts) }));

/** Wildcards in the order in which they are asked for a name: the longest first; of one length in the order of the policy. */
export const byLength = (a: NamedWildcard, b: NamedWildcard): number => b.names.length - a.names.length;

/**
 * The model that an ID means: one of the catalog, else one with public figures, else the ID itself.
 * @param all by length
 * @returns null for an ID that none of them covers
 */
export function meaningBy(all: readonly NamedWildcard[], id: string): string | null {
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
export function wildcardNames(
  wildcards: readonly WildcardDraft[],
  catalog: Catalog,
  facts: PublicFigures | null,
): (name: string) => string | null {
  const named = withNames(wildcards, catalog, facts);
  const all = named.toSorted(byLength);
  return (name) => {
    const covered = coveredBy(named, name);
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
interface CatalogNames {
  readonly names: SameModels;
  readonly models: ReadonlyMap<string, string>;
}

function catalogNames(provider: string, { models, aliases }: Catalog): CatalogNames {
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
