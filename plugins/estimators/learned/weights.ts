import { DENSE } from './dense.ts';
import { TextFeatures } from './features.ts';
import { BUCKETS } from './scanner.ts';

/** A row for each bucket, then one for each form feature. */
const ROWS = BUCKETS + DENSE;
/** The means of one row fit in a cache line of 64 bytes. */
const COLUMNS_MAX = 16;
/** A block grows by so many columns, so that few are unused. So many sums fit in registers. */
const COLUMNS_STEP = 4;

/**
 * λ: the initial certainty that a word has no effect, divided between shared and own weights. Over 15 pairs of models
 * of MMLU-Pro and LLMRouter, 8 splits each, 2 with a doubt of 1 has about .0015 more APGR after 1,500 outcomes than 3
 * with 2, and .007 more after 300.
 */
const PRECISION = 2;
export const SHARED_PRECISION = PRECISION / 0.3;
export const OWN_PRECISION = PRECISION / 0.7;

/**
 * The means of up to `COLUMNS_MAX` regressions, those of one word side by side: an estimate reads each word for all models,
 * and would mostly wait for memory if they lay apart. Unused pages are all zeros and take no memory.
 */
class MeanBlock {
  cells = new Float32Array(0);
  /** The number of columns. */
  width = 0;
  readonly #table: WordTable;
  /** By column: w·x of the text that its group has read. */
  readonly #products = new Float64Array(COLUMNS_MAX);
  /** By group of `COLUMNS_STEP` columns: which text of the table it has read. */
  readonly #read = new Float64Array(COLUMNS_MAX / COLUMNS_STEP);
  readonly #free: number[] = [];

  constructor(table: WordTable) {
    this.#table = table;
  }

  get isFull(): boolean {
    return this.#free.length === 0 && this.width === COLUMNS_MAX;
  }

  /** Returns an unused column, of zeros. */
  take(): number {
    if (this.#free.length === 0) this.#widen();
    return this.#free.pop()!;
  }

  release(column: number): void {
    const { cells, width } = this;
    for (let at = column; at < cells.length; at += width) if (!isUnused(cells[at]!)) cells[at] = 0;
    this.#free.push(column);
  }

  /** w·x of the table's text. The first of a group multiplies all, whose means are in the same cache line. */
  product(column: number): number {
    const { text, texts } = this.#table;
    const group = Math.floor(column / COLUMNS_STEP);
    if (this.#read[group] !== texts) {
      this.#read[group] = texts;
      this.#multiply(text, group * COLUMNS_STEP);
    }
    return this.#products[column]!;
  }

  #multiply({ buckets, n, share, dense }: TextFeatures, from: number): void {
    const { cells, width } = this;
    const products = this.#products;
    let words0 = 0;
    let words1 = 0;
    let words2 = 0;
    let words3 = 0;
    for (let at = 0; at < n; at++) {
      const cell = buckets[at]! * width + from;
      words0 += cells[cell]!;
      words1 += cells[cell + 1]!;
      words2 += cells[cell + 2]!;
      words3 += cells[cell + 3]!;
    }
    let form0 = 0;
    let form1 = 0;
    let form2 = 0;
    let form3 = 0;
    for (let at = 0; at < DENSE; at++) {
      const cell = (BUCKETS + at) * width + from;
      const x = dense[at]!;
      form0 += cells[cell]! * x;
      form1 += cells[cell + 1]! * x;
      form2 += cells[cell + 2]! * x;
      form3 += cells[cell + 3]! * x;
    }
    products[from] = words0 * share + form0;
    products[from + 1] = words1 * share + form1;
    products[from + 2] = words2 * share + form2;
    products[from + 3] = words3 * share + form3;
  }

  #widen(): void {
    const { cells, width } = this;
    const wider = new Float32Array(ROWS * (width + COLUMNS_STEP));
    for (let row = 0; row < ROWS; row++) {
      for (let column = 0; column < width; column++) {
        const mean = cells[row * width + column]!;
        if (!isUnused(mean)) wider[row * (width + COLUMNS_STEP) + column] = mean;
      }
    }
    this.cells = wider;
    this.width += COLUMNS_STEP;
    for (let column = this.width - 1; column >= width; column--) this.#free.push(column);
  }
}

/** Writing to unused cells would make them take memory. −0 is a mean. */
const isUnused = (mean: number): boolean => Object.is(mean, 0);

/** The weights of all regressions, with their means in blocks. */
export class WordTable {
  /** What the weights are multiplied with. */
  text = new TextFeatures();
  /** Number of texts so far. */
  texts = 0;
  readonly #blocks: MeanBlock[] = [];

  /** @param start the initial precision of each weight */
  add(start: number): WordWeights {
    let block = this.#blocks.find(({ isFull }) => !isFull);
    if (!block) {
      block = new MeanBlock(this);
      this.#blocks.push(block);
    }
    return new WordWeights(block, start);
  }

  /** Makes a text that of each `product`, until the next one. Weights must not be added or change in between. */
  read(text: TextFeatures): void {
    this.text = text;
    this.texts++;
  }
}

/** A logistic regression with a mean and a precision for each weight, learned in one pass. */
export class WordWeights {
  /** What was added to the initial precision of each weight, so that unused ones are zeros, too. */
  readonly added = new Float32Array(ROWS);
  readonly #block: MeanBlock;
  readonly #column: number;
  readonly #start: number;

  constructor(block: MeanBlock, start: number) {
    this.#block = block;
    this.#column = block.take();
    this.#start = start;
  }

  mean(row: number): number {
    return this.#block.cells[row * this.#block.width + this.#column]!;
  }

  set(row: number, mean: number, added: number): void {
    this.#block.cells[row * this.#block.width + this.#column] = mean;
    this.added[row] = added;
  }

  /** w·x of the text that the table has read. */
  get product(): number {
    return this.#block.product(this.#column);
  }

  /** Σ x²/A: the uncertainty of w·x. */
  variance({ buckets, n, share, dense }: TextFeatures): number {
    const { added } = this;
    const start = this.#start;
    let words = 0;
    for (let at = 0; at < n; at++) words += 1 / (start + added[buckets[at]!]!);
    let form = 0;
    for (let at = 0; at < DENSE; at++) form += dense[at]! ** 2 / (start + added[BUCKETS + at]!);
    return words * share * share + form;
  }

  /** `w += e·x/A; A += k·x²` wherever x is not 0. */
  step({ buckets, n, share, dense }: TextFeatures, e: number, k: number): void {
    const { added } = this;
    const { cells, width } = this.#block;
    const column = this.#column;
    const start = this.#start;
    for (let at = 0; at < n; at++) {
      const row = buckets[at]!;
      const before = added[row]!;
      cells[row * width + column]! += (e * share) / (start + before);
      added[row] = before + k * share * share;
    }
    for (let at = 0; at < DENSE; at++) {
      const row = BUCKETS + at;
      const x = dense[at]!;
      const before = added[row]!;
      cells[row * width + column]! += (e * x) / (start + before);
      added[row] = before + k * x * x;
    }
  }

  /** Removes the weights from their table. */
  release(): void {
    this.#block.release(this.#column);
  }
}
