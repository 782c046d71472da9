import type { AliasDraft } from './aliases.ts';
import type { FactsTable } from './facts.ts';
import type { ModelDraft } from './models.ts';
import { isWellFormed, undated } from './same-model.ts';
import type { WildcardDraft } from './wildcards.ts';

interface Catalog extends Pick<AliasDraft, 'aliases'> {
  readonly models: readonly ModelDraft[];
}

/** What is published of models, by whom, and on which day. */
export type PublicFigures = Pick<FactsTable, 'of' | 'ids' | 'source' | 'asOf'>;

/** The names that a wildcard covers. */
class WildcardNames {
  readonly #prefix: string;
  /** What the provider's names begin with. */
  readonly #start: string;
  readonly #catalog: CatalogNames;

  constructor({ pattern, upstream, provider }: WildcardDraft, catalog: Catalog) {
    this.#prefix = pattern.slice(0, -1);
    this.#start = upstream.slice(0, -1);
    this.#catalog = catalogNames(provider, catalog);
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

  /** The model that an ID means: one of the catalog under whatever name, else the ID itself. */
  meaning(id: string): string {
    const upstream = this.upstreamOf(id);
    const { exact, undated: plain } = this.#catalog;
    return exact.get(upstream) ?? plain.get(undated(upstream)) ?? id;
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

/** Wildcards in the order in which they are asked for a name: the longest first; of one length in the order of the policy. */
export const byLength = (a: { readonly names: WildcardNames }, b: typeof a): number => b.names.length - a.names.length;

/** A wildcard with the names that it covers. */
export interface NamedWildcard extends WildcardDraft {
  readonly names: WildcardNames;
}

export const withNames = (drafts: readonly WildcardDraft[], catalog: Catalog): readonly NamedWildcard[] =>
  drafts.map((draft) => ({ ...draft, names: new WildcardNames(draft, catalog) }));

/**
 * What a policy's wildcards make of a name, whether their providers are set up or not.
 * @param facts null where public figures are not at hand: no name is known then without what its ID begins with
 * @returns a function from a name to its ID, or null for a name of none
 */
export function wildcardNames(
  drafts: readonly WildcardDraft[],
  catalog: Catalog,
  facts: PublicFigures | null,
): (name: string) => string | null {
  const wildcards = withNames(drafts, catalog);
  return (name) => {
    const covered = coveredBy(wildcards, name, facts);
    return covered?.wildcard.names.meaning(covered.id) ?? null;
  };
}

/**
 * The wildcard that covers a name, or knows it without what its IDs begin with.
 * @returns the wildcard and the ID; null for a name of none
 */
export function coveredBy<W extends NamedWildcard>(wildcards: readonly W[], name: string, facts: PublicFigures | null) {
  if (!isWellFormed(name)) return null;
  const longest = longestFor(name, wildcards);
  if (longest) return { wildcard: longest, id: name };
  const isKnown = ({ names, service }: W) => names.takesBareNames && service !== null && facts?.of(service, name);
  const wildcard = wildcards.find(isKnown);
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
  readonly exact: ReadonlyMap<string, string>;
  readonly undated: ReadonlyMap<string, string>;
}

function catalogNames(provider: string, { models, aliases }: Catalog): CatalogNames {
  const exact = new Map<string, string>();
  const plain = new Map<string, string>();
  const add = (name: string, id: string) => {
    if (!exact.has(name)) exact.set(name, id);
    if (!plain.has(undated(name))) plain.set(undated(name), id);
  };
  const here = models.filter(({ endpoints }) => endpoints.some(({ endpoint }) => endpoint.provider === provider));
  // A provider's own name of a model is stronger than another model's ID, and that than an alias.
  for (const { model, endpoints } of here) {
    for (const { endpoint } of endpoints) if (endpoint.provider === provider) add(endpoint.upstream, model.id);
  }
  const ids = new Set(here.map(({ model }) => model.id));
  for (const id of ids) add(id, id);
  for (const [alias, of] of aliases) if (ids.has(of)) add(alias, of);
  return { exact, undated: plain };
}
