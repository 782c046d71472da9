/** A location in a policy file. Line and column count from 1; columns are UTF-16 units. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Number of columns that the location covers. */
  readonly length?: number;
}

/** A part of one line of a policy file, at least 1 column long. */
export interface SourceSpan extends SourcePlace {
  readonly length: number;
}
