import { Ballot } from './ballot.ts';
import { TASKS } from './tasks.ts';
import { WordRows } from './word-rows.ts';

/** The tables that are filled again for each text, so that reading a text allocates no arrays. */
export class TextTables {
  /** The rows of the words of the text that is being read. */
  readonly rows = new WordRows();
  /** The rows of the words of all spans of the question that is being read. */
  readonly spans = new WordRows();
  /** A figure for each task, in the order of `TASKS`. */
  readonly tasks = new Float64Array(TASKS.length);
  /** The votes for the natural languages of the question that is being read. */
  readonly ballot = new Ballot();
}
