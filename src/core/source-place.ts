/** Where a policy states something: line and column count from 1, columns in UTF-16 units. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** How many columns of the line it takes. */
  readonly length?: number;
}

/** A part of one line of a policy file: at least 1 column. */
export interface SourceSpan extends SourcePlace {
  readonly length: number;
}
