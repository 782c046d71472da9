import type { Endpoint, Model } from '../../core/policy/snapshot.ts';

/** An endpoint that gave answers, and its model. */
interface Answerer {
  /** The ID of the model. */
  readonly model: string;
  readonly family: string;
  readonly provider: string;
  /** The provider's own name of the model. */
  readonly upstream: string;
  /** The account that gave the answers; null for a provider with one key. */
  readonly account: string | null;
}

/** An answer to a prompt, without its text. */
export interface PromptAnswer {
  readonly by: Answerer;
  /** The `AnswerMark` of the answer. */
  readonly mark: number;
  /** The charged tokens of the prompt. A provider does not cache a prompt below its minimum. */
  readonly inputTokens: number;
  /** The estimated tokens of the prompt. The next turn is estimated with the same error, so the two can be compared. */
  readonly expectedTokens: number;
  /** When the prompt was sent, ms on the clock. The provider's cache expires relative to this time. */
  readonly at: number;
}

/** The endpoint objects are kept by model, so that an answer does not refer to a snapshot, which would otherwise stay in memory. */
const answerers = new WeakMap<Model, Answerer[]>();

/** Returns the single object for an endpoint of a model. */
export function answererOf(model: Model, { provider, upstream }: Endpoint, account: string | null): Answerer {
  const known = answerers.getOrInsertComputed(model, () => []);
  for (const one of known)
    if (one.provider === provider && one.upstream === upstream && one.account === account) return one;
  const answerer = { model: model.id, family: model.family, provider, upstream, account };
  known.push(answerer);
  return answerer;
}

const NO_ANSWERS: readonly PromptAnswer[] = [];
const LOW_BITS = 0xffff_ffffn;
const NO_ROWS = { uint: new Uint32Array(0), float: new Float64Array(0) };

/**
 * Stores answers by the hash of their prompt and the caller's key. Several models may have answered one prompt. The prompt that was used
 * least recently is removed first.
 *
 * Each answer is a row in columns instead of an object: the garbage collector would follow 50,000 objects each time, and would let the heap
 * grow to a multiple of the live data. Row 0 means "no row", and is both before the first and after the last row in the order of use.
 */
export class AnswerTable {
  /** The number of answers. */
  size = 0;
  readonly #most: number;
  /** The first row of each chain, by the lower bits of the hash. */
  #first = new Uint32Array(1);
  /** The next row of a row's chain; for a free row, the next free row. */
  #next = NO_ROWS.uint;
  #before = NO_ROWS.uint;
  #after = NO_ROWS.uint;
  #high = NO_ROWS.uint;
  #low = NO_ROWS.uint;
  #mark = NO_ROWS.float;
  #inputTokens = NO_ROWS.float;
  #expectedTokens = NO_ROWS.float;
  #at = NO_ROWS.float;
  readonly #keyId: string[] = [''];
  readonly #by: (Answerer | null)[] = [null];
  #free = 0;

  /** Allocates no memory for answers until the first answer. */
  constructor(most: number) {
    this.#most = most;
  }

  #makeRows(): void {
    // A new row is added before the oldest row is removed.
    const rows = this.#most + 2;
    this.#first = new Uint32Array(2 ** Math.ceil(Math.log2(rows)));
    this.#next = new Uint32Array(rows);
    this.#before = new Uint32Array(rows);
    this.#after = new Uint32Array(rows);
    this.#high = new Uint32Array(rows);
    this.#low = new Uint32Array(rows);
    this.#mark = new Float64Array(rows);
    this.#inputTokens = new Float64Array(rows);
    this.#expectedTokens = new Float64Array(rows);
    this.#at = new Float64Array(rows);
  }

  /** Returns the answers to a prompt of a key. */
  of(hash: bigint, keyId: string): readonly PromptAnswer[] {
    let found: PromptAnswer[] | null = null;
    for (let row = this.#find(hash, keyId); row !== 0; row = this.#findNext(row)) {
      found ??= [];
      found.push({
        by: this.#by[row]!,
        mark: this.#mark[row]!,
        inputTokens: this.#inputTokens[row]!,
        expectedTokens: this.#expectedTokens[row]!,
        at: this.#at[row]!,
      });
    }
    return found ?? NO_ANSWERS;
  }

  /** Adds an answer to a prompt of a key. It replaces an earlier answer of the same model. */
  add(hash: bigint, keyId: string, answer: PromptAnswer): void {
    if (this.#next.length === 0) this.#makeRows();
    for (let row = this.#find(hash, keyId); row !== 0; ) {
      const next = this.#findNext(row);
      if (this.#by[row]!.model === answer.by.model) this.#remove(row);
      row = next;
    }
    this.touch(hash, keyId);
    this.#put(hash, keyId, answer);
    while (this.size > this.#most) this.#forgetOldest();
  }

  /** Marks a prompt of a key as the most recently used. The answers to the prompt stay adjacent in the order of use. */
  touch(hash: bigint, keyId: string): void {
    for (let row = this.#find(hash, keyId); row !== 0; row = this.#findNext(row)) {
      this.#unlink(row);
      this.#linkLast(row);
    }
  }

  #find(hash: bigint, keyId: string): number {
    const low = Number(hash & LOW_BITS);
    const high = Number(hash >> 32n);
    let row = this.#first[this.#slot(low)]!;
    while (row !== 0 && !this.#isOf(row, low, high, keyId)) row = this.#next[row]!;
    return row;
  }

  /** Returns the next answer to the same prompt. */
  #findNext(row: number): number {
    let next = this.#next[row]!;
    while (next !== 0 && !this.#isAlike(next, row)) next = this.#next[next]!;
    return next;
  }

  #isAlike(row: number, other: number): boolean {
    return this.#isOf(row, this.#low[other]!, this.#high[other]!, this.#keyId[other]!);
  }

  #isOf(row: number, low: number, high: number, keyId: string): boolean {
    return this.#low[row] === low && this.#high[row] === high && this.#keyId[row] === keyId;
  }

  #slot(low: number): number {
    return low & (this.#first.length - 1);
  }

  #put(hash: bigint, keyId: string, { by, mark, inputTokens, expectedTokens, at }: PromptAnswer): void {
    const row = this.#free === 0 ? this.#by.length : this.#free;
    this.#free = this.#next[row]!;
    this.#low[row] = Number(hash & LOW_BITS);
    this.#high[row] = Number(hash >> 32n);
    this.#keyId[row] = keyId;
    this.#by[row] = by;
    this.#mark[row] = mark;
    this.#inputTokens[row] = inputTokens;
    this.#expectedTokens[row] = expectedTokens;
    this.#at[row] = at;
    const slot = this.#slot(this.#low[row]!);
    this.#next[row] = this.#first[slot]!;
    this.#first[slot] = row;
    this.#linkLast(row);
    this.size++;
  }

  #remove(row: number): void {
    const slot = this.#slot(this.#low[row]!);
    let before = 0;
    for (let at = this.#first[slot]!; at !== row; at = this.#next[at]!) before = at;
    if (before === 0) this.#first[slot] = this.#next[row]!;
    else this.#next[before] = this.#next[row]!;
    this.#unlink(row);
    this.#next[row] = this.#free;
    this.#free = row;
    this.size--;
  }

  #forgetOldest(): void {
    for (let row = this.#after[0]!; ; ) {
      const next = this.#after[row]!;
      const isLast = next === 0 || !this.#isAlike(next, row);
      this.#remove(row);
      if (isLast) return;
      row = next;
    }
  }

  #linkLast(row: number): void {
    const last = this.#before[0]!;
    this.#after[last] = row;
    this.#before[row] = last;
    this.#after[row] = 0;
    this.#before[0] = row;
  }

  #unlink(row: number): void {
    this.#after[this.#before[row]!] = this.#after[row]!;
    this.#before[this.#after[row]!] = this.#before[row]!;
  }
}
