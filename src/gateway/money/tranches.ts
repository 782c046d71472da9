import type { StreamPart } from '../../contract/parts.ts';
import type { StoppedBilling } from '../../core/abort-billing.ts';
import type { Microcredits } from '../../core/credits.ts';
import { costBound, outputWithin, type Price } from '../../core/price.ts';
import { isPlausible } from '../../core/usage.ts';
import type { HoldExtension } from '../../ledger/hold.ts';

/**
 * The terms on which an answer is paid for as it is written. Tokens are those of the output of all choices together; the
 * service never bills more than `outputMax`, nor, once aborted, more than `margin` beyond what had been read.
 */
export interface TrancheTerms {
  /** The declaration of the service. */
  readonly declared: StoppedBilling;
  readonly price: Price;
  /** Input tokens that the request cannot exceed. */
  readonly inputMax: number;
  readonly outputMax: number;
  readonly choices: number;
  /** The usual length of such an answer. */
  readonly expected: number;
  /** The least useful length. */
  readonly useful: number;
  readonly margin: number;
}

/** A pace may be so many times the one that was measured. */
export const PACE_FACTOR = 2;

/** Returns the margin of a service in tokens. `tokensPerSecond`: the pace of all choices together. */
export function marginOf({ marginTokens, marginMs }: StoppedBilling, tokensPerSecond: number): number {
  return marginTokens + Math.ceil((marginMs / 1_000) * tokensPerSecond * PACE_FACTOR);
}

/** The output tokens that `left` pays for beside the input. */
export function paidOutput({ price, inputMax, outputMax }: TrancheTerms, left: Microcredits): number {
  return Math.min(outputMax, Math.max(0, outputWithin(price, inputMax, left)));
}

/**
 * The output that must be paid for while `counted` tokens have been read: those that the service may have written since, which
 * are the next to be read, and those that it bills after an abort then.
 */
const neededOutput = ({ outputMax, margin }: TrancheTerms, counted: number): number =>
  Math.min(outputMax, counted + 2 * margin);

/** The cost of the input and so much output. */
const costTo = ({ price, inputMax }: TrancheTerms, output: number): Microcredits => costBound(price, inputMax, output);

/** The whole worst case. */
export const wholeTranche = (terms: TrancheTerms): Microcredits => costTo(terms, terms.outputMax);

/** An answer up to so many times as long as usual needs no other tranche than the first: most do not. */
const FIRST_LENGTHS = 2;

/** The first tranche. */
export const firstTranche = (terms: TrancheTerms): Microcredits =>
  costTo(terms, neededOutput(terms, FIRST_LENGTHS * terms.expected));

/** The least that an answer may begin on. */
export const leastTranche = (terms: TrancheTerms): Microcredits =>
  costTo(terms, neededOutput(terms, Math.min(terms.useful, terms.expected)));

/** Whether an answer of so many tokens may be read on: the service bills nothing that `paid` tokens do not cover. */
export const mayReadOn = (terms: TrancheTerms, paid: number, counted: number): boolean =>
  neededOutput(terms, counted) <= paid;

/**
 * Returns the next extension, which keeps the hold ahead of the answer by its usual length: an answer that has come so far may
 * well be as long again. Null while it is. It is of half that length where the funds have plenty, else of a quarter of that, and
 * of a margin at least.
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

/** Tokens that show no text: around a choice, and around a tool call. */
const AROUND_CHOICE = 8;
const AROUND_CALL = 32;

/** Counts the output of an answer by a bound: each token has a byte at least; a report of the upstream's own is exact. */
export class OutputBound {
  /** Bytes of all parts, at most. */
  bytes = 0;
  #reported = 0;
  /** Bytes of the parts since the report. */
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

  #report(usage: Parameters<typeof isPlausible>[0]): void {
    // Some upstreams report the prompt alone at first.
    if (!isPlausible(usage) || usage.outputTokens === 0) return;
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
