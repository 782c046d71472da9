import { FIGURES } from './figures.ts';
import { TextTables } from './text-tables.ts';
import { WeightedSum } from './weighted-sum.ts';

/** The tables of texts, and the tables from which the task of a question is computed. */
export class ReadingTables extends TextTables {
  /** The figures of a question. The task probabilities in them remain from the last question that had a context. */
  readonly figures = new Float64Array(FIGURES);
  /** The features of a question with their values. */
  readonly terms = new WeightedSum();
}
