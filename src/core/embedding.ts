import type { OriginalPath } from './original.ts';
import { estimateTokens, utf8Bytes } from './tokens.ts';

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

/** A model's embeddings, as the catalog states them. */
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

/** Tokens that a tokenizer may add around a text: its beginning and end. */
const MARKS_MAX = 4;

/** Tokens that an input has at most: its bytes, for a text. */
export const inputTokensMax = (input: EmbeddingInput): number =>
  MARKS_MAX + (input.type === 'text' ? utf8Bytes(input.text) : input.tokens.length);

/** Expected tokens of an input. */
export const inputTokens = (input: EmbeddingInput): number =>
  input.type === 'text' ? estimateTokens(input.text) : input.tokens.length;

/** Numbers of all vectors of a call at most: others wait while its answer, 21 bytes a number, is read. */
const NUMBERS_MAX = 131_072;

/**
 * Splits inputs into batches that an endpoint takes, in their order. Only an input that is too long by itself exceeds
 * `batchTokens`.
 * @param dimensions the length of each vector
 */
export function batchesOf(
  inputs: readonly EmbeddingInput[],
  { batchInputs, batchTokens }: Pick<EmbeddingModel, 'batchInputs' | 'batchTokens'>,
  dimensions: number,
): readonly (readonly EmbeddingInput[])[] {
  const most = Math.max(1, Math.min(batchInputs, Math.floor(NUMBERS_MAX / dimensions)));
  const batches: EmbeddingInput[][] = [];
  let batch: EmbeddingInput[] = [];
  let tokens = 0;
  for (const input of inputs) {
    const own = inputTokensMax(input);
    if (batch.length > 0 && (batch.length === most || tokens + own > batchTokens)) {
      batches.push(batch);
      batch = [];
      tokens = 0;
    }
    batch.push(input);
    tokens += own;
  }
  batches.push(batch);
  return batches;
}
