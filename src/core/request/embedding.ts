import type { OriginalPath } from '../json/original.ts';
import { estimateTokens, utf8Bytes } from './tokens.ts';

/** A text to embed, or a list of tokens, with its location in the original body. */
export type EmbeddingInput =
  | { readonly type: 'text'; readonly text: string; readonly at: OriginalPath }
  /** The tokens of an input, in the model's own tokenizer. */
  | { readonly type: 'tokens'; readonly tokens: readonly number[]; readonly at: OriginalPath };

/** The size of a request of separate texts, as decisions use it. */
export interface TextFacts {
  readonly inputs: number;
  /** Expected tokens of the longest input. */
  readonly longest: number;
  /** The vector length that the caller requests; null for the model's own length, and for an operation without vectors. */
  readonly dimensions: number | null;
}

/** A model's embedding properties, as the catalog states them. */
export interface EmbeddingModel {
  /** Name of the model's vector space. Only vectors of the same space can be compared. */
  readonly vectorSpace: string;
  /** Length of the model's vectors. */
  readonly dimensions: number;
  /** The shortest length that vectors can be cut to; the same as `dimensions` if they cannot be cut. */
  readonly dimensionsMin: number;
  /** The most inputs in one call. */
  readonly batchInputs: number;
  /** The most tokens of all inputs in one call; Infinity for no limit. */
  readonly batchTokens: number;
}

/** Whether a model's vectors can have the length that a request asks for. */
export const hasDimensions = ({ dimensions, dimensionsMin }: EmbeddingModel, asked: number | null): boolean =>
  asked === null || (asked <= dimensions && asked >= dimensionsMin);

/** The most tokens that a tokenizer adds around a text to mark its beginning and end. */
const MARKS_MAX = 4;

/** Returns the most tokens that an input can have. The maximum for a text is based on the number of its bytes. */
export const inputTokensMax = (input: EmbeddingInput): number =>
  MARKS_MAX + (input.type === 'text' ? utf8Bytes(input.text) : input.tokens.length);

/** Returns the expected tokens of an input. */
export const inputTokens = (input: EmbeddingInput): number =>
  input.type === 'text' ? estimateTokens(input.text) : input.tokens.length;

/** The most numbers in all vectors of one call. Other requests wait while the gateway reads the answer, which has 21 bytes a number. */
const NUMBERS_MAX = 131_072;

/**
 * Splits inputs into batches that an endpoint accepts, in their order. A batch exceeds `batchTokens` only if it has a single input that is
 * too long.
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
