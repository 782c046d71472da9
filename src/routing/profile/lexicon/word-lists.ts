/**
 * A data file of words, in lists by sign or by name. A list is an array of lines; blanks separate the patterns in a line. In a
 * pattern `_` stands for a gap between words, and a last `*` for any ending.
 */
export interface WordLists {
  /** What the words decide. */
  readonly about: string;
  readonly lists: Readonly<Record<string, readonly string[]>>;
}

/** The patterns of a list. */
export const patternsOf = (lines: readonly string[]): readonly string[] => lines.flatMap((line) => line.split(' '));
