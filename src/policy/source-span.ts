/** A part of one line of a policy file. Line and column count from 1, columns in UTF-16 units. */
export interface SourceSpan {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Columns, at least 1. */
  readonly length: number;
}
