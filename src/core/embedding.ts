import type { OriginalPath } from './original.ts';

/** A text to embed, or the tokens of one, with its place in the original. */
export type EmbeddingInput =
  | { readonly type: 'text'; readonly text: string; readonly at: OriginalPath }
  /** Tokens of the model's own tokenizer. */
  | { readonly type: 'tokens'; readonly tokens: readonly number[]; readonly at: OriginalPath };

/** The part of a request that asks for embeddings. */
export interface EmbeddingQuery {
  /** Never empty. */
  readonly inputs: readonly EmbeddingInput[];
  /** The length of each vector; undefined for the model's own. */
  readonly dimensions: number | undefined;
}

/** The size of a request for embeddings, for decisions. */
export interface EmbeddingFacts {
  readonly inputs: number;
  /** Expected tokens of the longest input. */
  readonly longest: number;
  /** The length of vector that the caller asks for; null for the model's own. */
  readonly dimensions: number | null;
}

/** What the catalog says of a model's embeddings. */
export interface EmbeddingModel {
  /** The name of its vector space: only vectors of one space can be compared. */
  readonly vectorSpace: string;
  /** The length of its vectors. */
  readonly dimensions: number;
  /** The shortest length that they can be cut to; the same as `dimensions` where they cannot. */
  readonly dimensionsMin: number;
  /** Inputs that one call takes at most. */
  readonly batchInputs: number;
  /** Tokens that the inputs of one call may have together; Infinity for no such limit. */
  readonly batchTokens: number;
}

/** Whether a model's vectors can have the length that a request asks for. */
export const hasDimensions = ({ dimensions, dimensionsMin }: EmbeddingModel, asked: number | null): boolean =>
  asked === null || (asked <= dimensions && asked >= dimensionsMin);
