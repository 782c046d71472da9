import type { StreamPart } from '../../contract/parts.ts';
import type { StoppedBilling } from '../../core/money/abort-billing.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { costBound, outputWithin, type Priced } from '../../core/money/price.ts';
import { isPlausible, type Usage } from '../../core/money/usage.ts';
import type { HoldExtension } from '../../ledger/hold.ts';

/**
 * The terms on which an answer is paid for while the model writes it. All numbers of output tokens are for all choices together. The
 * provider never bills more than `outputMax` tokens. After an abort, the provider never bills more than `margin` tokens beyond the tokens
 * that had been read.
 */
export interface TrancheTerms {
  /** The provider's declaration about aborted answers. */
  readonly declared: StoppedBilling;
  /** The prices of the endpoint. */
  readonly priced: Priced;
  /** The upper bound of the request's input tokens. */
  readonly inputMax: number;
  /** The bits of the media that the input can have. */
  readonly media: number;
  readonly outputMax: number;
  readonly choices: number;
  /** The usual length of an answer of this kind, in tokens. */
  readonly expected: number;
  /** The least useful length, in tokens. */
  readonly useful: number;
  readonly margin: number;
}

/** How many times faster than measured a model may write. */
export const PACE_FACTOR = 2;

/** Returns the margin of a provider in tokens. `tokensPerSecond`: the speed of all choices together. */
export function marginOf({ marginTokens, marginMs }: StoppedBilling, tokensPerSecond: number): number {
  return marginTokens + Math.ceil((marginMs / 1_000) * tokensPerSecond * PACE_FACTOR);
}

/** Returns the number of output tokens that the money `left` pays for in addition to the input. */
export function paidOutput({ priced, inputMax, outputMax, media }: TrancheTerms, left: Microcredits): number {
  return Math.min(outputMax, Math.max(0, outputWithin(priced, inputMax, left, undefined, media)));
}

/**
 * Returns the output tokens that must be paid for once `counted` tokens have been read. The result includes a margin for tokens that the
 * provider may already have written and that are read next, and a margin for tokens that the provider bills after an abort.
 */
const neededOutput = ({ outputMax, margin }: TrancheTerms, counted: number): number =>
  Math.min(outputMax, counted + 2 * margin);

/** Returns the cost of the input and of `output` tokens. */
const costTo = ({ priced, inputMax, media }: TrancheTerms, output: number): Microcredits =>
  costBound(priced, inputMax, output, undefined, media);

/** Returns the cost of the whole worst case. */
export const wholeTranche = (terms: TrancheTerms): Microcredits => costTo(terms, terms.outputMax);

/** An answer up to this many times as long as usual needs only the first tranche. Most answers are shorter than that. */
const FIRST_LENGTHS = 2;

/** Returns the amount of the first tranche. */
export const firstTranche = (terms: TrancheTerms): Microcredits =>
  costTo(terms, neededOutput(terms, FIRST_LENGTHS * terms.expected));

/** Returns the least amount with which an answer may begin. */
export const leastTranche = (terms: TrancheTerms): Microcredits =>
  costTo(terms, neededOutput(terms, Math.min(terms.useful, terms.expected)));

/**
 * Whether the gateway may continue to read an answer of `counted` tokens: it may while `paid` tokens cover everything that the provider may
 * bill.
 */
export const mayReadOn = (terms: TrancheTerms, paid: number, counted: number): boolean =>
  neededOutput(terms, counted) <= paid;

/**
 * Returns the next extension of the hold. It keeps the paid output ahead of the answer by the usual length, because an answer that has
 * reached the usual length may become twice as long. Returns null if the hold is far enough ahead. If the funds have plenty, the extension
 * pays for half of the usual length, else for an eighth of the usual length (in both cases for at least the margin).
 */
export function nextTranche(terms: TrancheTerms, left: Microcredits, counted: number): HoldExtension | null {
  const { margin, expected, outputMax } = terms;
  const paid = paidOutput(terms, left);
  const needed = neededOutput(terms, counted);
  if (paid >= outputMax || paid - needed >= Math.max(margin, expected)) return null;
  const step = Math.max(margin, Math.ceil(expected / 2));
  const by = (more: number): Microcredits =>
    Math.max(0, costTo(terms, Math.min(outputMax, Math.max(paid, needed) + more)) - left);
  const least = by(Math.max(1, margin));
  return least === 0 ? null : { amounts: [by(margin + Math.ceil(step / 4)), by(margin + step)], least };
}

/** The number of tokens without text that providers count around a choice, and around a tool call. */
const AROUND_CHOICE = 8;
const AROUND_CALL = 32;

/** Counts an upper bound of an answer's output, because each token has at least one byte. The upstream's own report is exact. */
export class OutputBound {
  /** The most bytes of all parts. */
  bytes = 0;
  #reported = 0;
  /** The bytes of the parts since the report. */
  #since = 0;
  readonly #choices: Set<number> = new Set();

  add(parts: readonly StreamPart[]): void {
    for (const part of parts) {
      if (part.type === 'usage') this.#report(part.usage);
      else if (part.type !== 'failure') this.#written(this.#boundOf(part));
    }
  }

  get tokens(): number {
    return this.#reported + this.#since;
  }

  #written(bytes: number): void {
    this.bytes += bytes;
    this.#since += bytes;
  }

  #report(usage: Usage | undefined): void {
    // The first report of an upstream may include only the prompt.
    if (!usage || !isPlausible(usage) || usage.outputTokens === 0) return;
    this.#reported = usage.outputTokens;
    this.#since = 0;
  }

  #boundOf(part: StreamPart): number {
    let bound = 0;
    if ('choice' in part && !this.#choices.has(part.choice)) {
      this.#choices.add(part.choice);
      bound += AROUND_CHOICE;
    }
    if ('text' in part) bound += Buffer.byteLength(part.text);
    else if ((part.type === 'passthrough' || part.type === 'unread') && part.unread) {
      bound += part.unread.stateChars;
      for (const text of part.unread.texts) bound += Buffer.byteLength(text);
    } else if (part.type === 'tool-call') {
      bound += Buffer.byteLength(part.arguments);
      if (part.name !== undefined) bound += Buffer.byteLength(part.name) + AROUND_CALL;
    }
    return bound;
  }
}
