import type { StreamPart } from '../../contract/parts.ts';
import { cappingName, type FundBlock } from '../../core/accounting/fund.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { HOUR_MS } from '../../core/time/clock.ts';
import type { Hold, HoldExtension } from '../../ledger/hold.ts';
import type { AnswerRoom, NextParts } from '../../providers/upstream-call.ts';
import type { ExpectedTokens } from '../money/meter.ts';
import { mayReadOn, nextTranche, OutputBound, paidOutput, type TrancheTerms, wholeTranche } from '../money/tranches.ts';
import type { Attempt } from './attempt.ts';
import { failureIn } from './failure.ts';
import { WaitingParts } from './waiting-parts.ts';

/**
 * The most characters of an answer that wait for a slow reader. When more characters wait, the whole worst case is held, or the answer
 * ends.
 */
const AHEAD_MAX = 65_536;
/** The longest wait of an extension for money, ms. In practice the answer ends before the extension has waited so long. */
const EXTENSION_WAIT_MS = HOUR_MS;

/** The parts of an attempt that are needed to pay for its answer while it is written. */
export type MeteredAttempt = Pick<Attempt, 'read' | 'completed' | 'cutShort' | 'abortedUsage' | 'outputPaid'> & {
  readonly call: Pick<Attempt['call'], 'abort'>;
  readonly health: Pick<Attempt['health'], 'recordBroken'>;
};

export interface GrowingAnswerOptions {
  readonly hold: Pick<Hold, 'left' | 'overrun' | 'extend' | 'scarcest'>;
  /** The parts of the answer that were read before this object was made. */
  readonly first: readonly StreamPart[];
  /** Reserves memory for an answer that is stored until its end; null for an answer that is passed on. */
  readonly room: AnswerRoom | null;
}

/**
 * An answer that is paid for while the model writes it. Signalbox reads the answer from the provider as fast as the answer comes, even if
 * the caller reads slowly, because text that waits in the network would be billed but not counted. The hold is extended before the answer
 * needs more money. If the extension is refused, the answer ends at the last token that is paid for, as if the output limit were there.
 */
export class GrowingAnswer {
  /** Whether the answer was cut off for lack of money, and the fund that lacked it. */
  isCut = false;
  cutBy: string | null = null;
  readonly #attempt: MeteredAttempt;
  readonly #terms: TrancheTerms;
  readonly #options: GrowingAnswerOptions;
  readonly #bound = new OutputBound();
  readonly #finished = new Set<number>();
  readonly #over = new AbortController();
  readonly #ahead = new WaitingParts();
  #isExtending = false;
  #isEnded = false;
  /** Resolves the promise with which the reader waits for the answer, or the answer waits for a slow reader. */
  #arrival: PromiseWithResolvers<void> | null = null;
  #room: PromiseWithResolvers<void> | null = null;
  #refusedBy: string | null = null;
  /** The overrun of the earlier attempts of the request. */
  readonly #overrunBefore: Microcredits;

  constructor(attempt: MeteredAttempt, terms: TrancheTerms, options: GrowingAnswerOptions) {
    this.#attempt = attempt;
    this.#terms = terms;
    this.#options = options;
    this.#overrunBefore = options.hold.overrun;
    this.#note(options.first);
    void this.#readAhead();
  }

  /** This method has the same contract as `read` of an upstream call. */
  read(): NextParts {
    const batch = this.#ahead.take();
    if (batch) {
      this.#room?.resolve();
      return batch;
    }
    if (this.#isEnded) return null;
    this.#arrival ??= Promise.withResolvers();
    return this.#arrival.promise;
  }

  /** This method has the same contract as `completed` of an attempt. */
  completed(): ReturnType<Attempt['completed']> {
    return this.isCut ? this.#attempt.cutShort(this.#billable()) : this.#attempt.completed();
  }

  /**
   * This method has the same contract as `broken` of an attempt, but also charges the text that the provider may have written and that was
   * not read.
   */
  broken(): ReturnType<Attempt['broken']> {
    return this.#attempt.abortedUsage(this.#billable());
  }

  /** The most tokens that the provider may bill for the text that was read, and for the text that the provider has written since then. */
  #billable(): ExpectedTokens {
    const { inputMax, margin } = this.#terms;
    return { inputTokens: inputMax, outputMax: this.#bound.tokens + margin };
  }

  /**
   * Ends the wait for money, after the settlement. A provider that billed more than was held has broken its declaration.
   * @param overrun the overrun of all attempts
   */
  settled(overrun: Microcredits): void {
    this.#over.abort();
    this.#room?.resolve();
    const excess = overrun - this.#overrunBefore;
    if (excess > 0) this.#attempt.health.recordBroken(this.#terms.declared, excess);
  }

  async #readAhead(): Promise<void> {
    while (!this.#isEnded) {
      if (!this.#isPaid()) return this.#cut();
      this.#extendInTime();
      if (this.#ahead.chars > AHEAD_MAX && !(await this.#waitForReader())) return this.#cut();
      const batch = this.#attempt.read();
      if (batch instanceof Promise) await batch;
      else if (batch === null) this.#end();
      else this.#pass(batch);
    }
  }

  #pass(batch: readonly StreamPart[]): void {
    const before = this.#bound.bytes;
    this.#note(batch);
    const bytes = this.#bound.bytes - before;
    const { room } = this.#options;
    if (room && !room.makeRoom(bytes)) {
      this.#end();
      return;
    }
    this.#ahead.add(batch);
    if (failureIn(batch)) this.#end();
    else this.#wake();
  }

  #note(parts: readonly StreamPart[]): void {
    this.#bound.add(parts);
    for (const part of parts) if (part.type === 'finish') this.#finished.add(part.choice);
  }

  #isPaid(): boolean {
    const terms = this.#terms;
    const { hold } = this.#options;
    if (this.#finished.size >= terms.choices) return true;
    const paid = paidOutput(terms, hold.left);
    this.#attempt.outputPaid = paid;
    return mayReadOn(terms, paid, this.#bound.tokens);
  }

  #extendInTime(): void {
    const terms = this.#terms;
    const { hold } = this.#options;
    if (this.#isExtending || this.#finished.size >= terms.choices) return;
    const next = nextTranche(terms, hold.left, this.#bound.tokens);
    if (next) void this.#extend(next);
  }

  /** @returns whether the extension was granted */
  async #extend(next: HoldExtension): Promise<boolean> {
    const { hold } = this.#options;
    this.#isExtending = true;
    try {
      const { signal } = this.#over;
      const onBlocked = ({ fund: { title } }: FundBlock) => {
        this.#refusedBy = cappingName(title);
      };
      const isGranted = await hold.extend(next, { waitMs: EXTENSION_WAIT_MS, signal, onBlocked });
      // After a final refusal, the extension of the hold is not requested again.
      this.#isExtending = !isGranted;
      return isGranted;
    } catch {
      // Money of an extension that cannot be stored must not be spent.
      return false;
    }
  }

  /** Waits for a slow reader, with the whole worst case held, because text that the upstream writes during the wait cannot be counted. */
  async #waitForReader(): Promise<boolean> {
    const terms = this.#terms;
    const { hold } = this.#options;
    const missing = wholeTranche(terms) - hold.left;
    if (missing > 0 && (this.#isExtending || !(await this.#extend({ amounts: [missing], least: missing }))))
      return false;
    if (this.#ahead.chars <= AHEAD_MAX || this.#over.signal.aborted) return true;
    this.#room = Promise.withResolvers();
    await this.#room.promise;
    return true;
  }

  /** Ends the answer in the normal way at the last token that is paid for. */
  #cut(): void {
    this.isCut = true;
    this.#attempt.call.abort();
    // If no fund has refused the extension, the extension was requested or answered too late, and the error names the fund with the least
    // money.
    const { scarcest } = this.#options.hold;
    this.cutBy = this.#refusedBy ?? (scarcest && cappingName(scarcest));
    const cut: StreamPart[] = [];
    for (let choice = 0; choice < this.#terms.choices; choice++) {
      if (!this.#finished.has(choice)) cut.push({ type: 'finish', choice, reason: 'length', raw: 'length' });
    }
    if (cut.length > 0) this.#ahead.add(cut);
    this.#end();
  }

  #end(): void {
    this.#isEnded = true;
    this.#over.abort();
    this.#wake();
  }

  #wake(): void {
    this.#arrival?.resolve();
    this.#arrival = null;
  }
}
