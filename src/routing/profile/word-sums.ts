import { wordsValue } from './frame.ts';
import type { QuestionText } from './question.ts';
import type { PLACE, WordRows } from './word-rows.ts';
import { addShippedRows, COLUMNS } from './word-table.ts';

type Place = (typeof PLACE)[keyof typeof PLACE];

/** The words of a text in one place of a request, as rows of the table of words. */
export class Words {
  readonly rows: Int32Array;
  /** The value of each row. */
  readonly value: number;
  #sums: Float64Array | null = null;

  constructor(rows: Int32Array, weight: number) {
    this.rows = rows;
    this.value = weight * wordsValue(rows.length);
  }

  /** Reads a text. @param weight how much the text counts, relative to a question @param rows collects the words */
  static of(text: string, place: Place, weight: number, rows: WordRows): Words {
    rows.clear();
    rows.add(text, 0, text.length, place);
    return new Words(rows.distinct(0, rows.size), weight);
  }

  /** Reads the lines of a text that ask. */
  static ofLines(
    { text, lines }: Pick<QuestionText, 'text' | 'lines'>,
    place: Place,
    weight: number,
    rows: WordRows,
  ): Words {
    rows.clear();
    for (let line = 0; line < lines.length; line++) rows.add(text, lines[line]!.from, lines[line]!.to, place);
    return new Words(rows.distinct(0, rows.size), weight);
  }

  /** The sums by column that the words add, according to the shipped table. */
  get sums(): Float64Array {
    if (this.#sums === null) {
      this.#sums = new Float64Array(COLUMNS);
      addShippedRows(this.rows, this.value, this.#sums);
    }
    return this.#sums;
  }
}
