/** Where something stands: line and column count from 1, columns in UTF-16 units. */
export interface SourceSpan {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** How many columns of the line it takes; at least 1. */
  readonly length: number;
}
