import type { SourcePlace } from '../core/source-place.ts';

/** A part of one line of a policy file: at least 1 column. */
export interface SourceSpan extends SourcePlace {
  readonly length: number;
}
