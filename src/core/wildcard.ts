import type { Model } from './snapshot.ts';

/** A model that a wildcard of the policy serves, with what the policy's rules say of it. */
export interface WildcardModel {
  readonly model: Model;
  /** By index of the constraint: whether its `require` admits the model; true without one. */
  readonly allowed: readonly boolean[];
  /** By index of the preference. */
  readonly preferred: readonly boolean[];
}

/** The reason for which a wildcard does not serve an ID, as a sentence for callers. */
export interface WildcardRefusal {
  readonly refused: string;
}

/** The wildcards of a policy whose providers are set up here. */
export interface Wildcards {
  /** For each of them a stand-in of all its models, whose ID is the pattern. Their slots follow those of the catalog. */
  readonly patterns: readonly Model[];
  /**
   * The model that a name means which is neither a name of the catalog nor an alias: one of the catalog where the
   * provider's model is served by it, else one of a wildcard.
   * @returns its ID; null for a name of none
   */
  meaning(name: string): string | null;
  /**
   * A wildcard's model by its ID. Compiled and judged at its first use; the last ones used are kept.
   * @returns null for an ID of none
   */
  find(id: string): WildcardModel | WildcardRefusal | null;
  /** The models with public figures. */
  listed(): readonly Model[];
}
