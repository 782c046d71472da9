import { ANSWER_BYTES_MAX } from '../../access/idempotency/answer.ts';
import type { IdempotentRun } from '../../access/idempotency/run.ts';
import type { StreamPart } from '../../contract/parts.ts';
import { SignalboxError } from '../../core/errors.ts';
import { arrived } from '../../providers/arrival.ts';
import type { NextParts } from '../../providers/upstream-call.ts';
import type { Receipt } from '../money/receipt.ts';
import type { AnswerSource, RunningAnswer } from './answer-source.ts';
import { slowReaderError } from './failure.ts';
import { batchLine, endLine } from './replayed-answer.ts';
import { WaitingParts } from './waiting-parts.ts';

export interface KeptAnswerOptions {
  readonly source: Omit<RunningAnswer, 'policy'>;
  readonly run: IdempotentRun;
  /** Whether the answer goes out as it comes: then an error after its first part is its last event. */
  readonly isStream: boolean;
  /** Called with a defect: an error of the program while the answer was read, not of the answer. */
  readonly onDefect: (error: unknown) => void;
}

/** Characters that wait for a reader at most, and how long they may, ms. */
const WAITING_CHARS_MAX = 262_144;
const CATCH_UP_MS = 10_000;

/**
 * An answer that is stored for repeats: it is read to its end at its source's pace, with or without a reader, and
 * stored before its end is read. A reader that falls behind holds it up for a while. Then the answer goes on without that
 * reader, who gets an error at its end and can send the request again for the stored answer.
 */
export class KeptAnswer implements AnswerSource {
  error: SignalboxError | null = null;
  readonly #source: KeptAnswerOptions['source'];
  readonly #options: KeptAnswerOptions;
  readonly #recording = new Recording();
  /** What the reader has not taken. */
  readonly #waiting = new WaitingParts();
  #isLeft = false;
  /** Whether the reader has missed a part of the answer. */
  #hasMissed = false;
  #isOver = false;
  #failure: { readonly error: unknown } | null = null;
  #changed = Promise.withResolvers<void>();

  constructor(options: KeptAnswerOptions) {
    this.#source = options.source;
    this.#options = options;
  }

  get decision(): number {
    return this.#source.decision;
  }
  get created(): number {
    return this.#source.created;
  }
  get model(): string {
    return this.#source.model;
  }
  get inputTokens(): number {
    return this.#source.inputTokens ?? 0;
  }
  get mayBeCut(): boolean {
    return this.#source.mayBeCut ?? true;
  }
  get dropped(): readonly string[] {
    return this.#source.dropped ?? [];
  }
  get receipt(): Receipt | null {
    return this.#source.receipt;
  }

  async open(): Promise<void> {
    try {
      await this.#source.open();
    } catch (cause) {
      if (!(cause instanceof SignalboxError) || !this.receipt) {
        await this.#lose();
        throw cause;
      }
      this.#isOver = true;
      throw await this.#endWithError(cause);
    }
    void this.#run();
  }

  read(): NextParts {
    const next = this.#waiting.take();
    if (next) {
      this.#tell();
      return next;
    }
    if (this.#failure) throw this.#failure.error;
    return this.#isOver ? null : this.#changed.promise;
  }

  /** The answer itself goes on without its reader. */
  abandon(reason: SignalboxError | 'caller-gone'): void {
    if (reason !== 'caller-gone') this.#source.abandon(reason);
    this.#isLeft = true;
    this.#waiting.clear();
    this.#tell();
  }

  async #run(): Promise<void> {
    try {
      const next = () => this.#source.read();
      for (let batch = await arrived(next); batch !== null; batch = await arrived(next)) {
        this.#recording.add(batch);
        if (!this.#isLeft) this.#waiting.add(batch);
        this.#tell();
        if (this.#waiting.chars > WAITING_CHARS_MAX) await this.#catchUp();
      }
      const { error } = this.#source;
      if (!error) await this.#store(null);
      else if (this.#options.isStream) await this.#endStream(error);
      else await this.#endWithError(error);
      if (this.#hasMissed) this.error ??= slowReaderError();
    } catch (error) {
      this.#failure = { error };
      this.#options.onDefect(error);
      await this.#lose();
    }
    this.#isOver = true;
    this.#tell();
  }

  /** Ends an answer whose error is its last event. */
  async #endStream(error: SignalboxError): Promise<void> {
    this.error = error;
    const { run } = this.#options;
    const fate = this.#fateOf(error);
    if (fate === 'drop') await run.drop();
    else if (fate === 'lose') await run.lose();
    else await this.#store(error);
  }

  /** Ends an answer whose error is all that its caller gets. Returns that error. */
  async #endWithError(error: SignalboxError): Promise<SignalboxError> {
    const { funded } = this.#source;
    const { run } = this.#options;
    const fate = this.#fateOf(error);
    this.error = funded.errorOf(error, false);
    if (fate === 'drop') await run.drop();
    else if (fate === 'lose') await run.lose();
    else {
      // It was charged, and the same again is all that a repeat would get.
      const { retryAfterMs: _, ...info } = error.info;
      this.error = funded.errorOf(new SignalboxError(error.code, error.message, { ...info, retry: false }), true);
      await run.keep({ headers: funded.headers, parts: endLine(this.#source, this.error) });
    }
    return this.error;
  }

  #fateOf({ code }: SignalboxError): 'keep' | 'drop' | 'lose' {
    const { isDeserted, receipt } = this.#source;
    // The caller left and has no answer; the request may be sent again, for its price then.
    if (isDeserted || !receipt || receipt.platform.credits_consumed === 0) return 'drop';
    // A shutdown cut it off, at no fault of the caller's.
    return code === 'overloaded' ? 'lose' : 'keep';
  }

  async #store(error: SignalboxError | null): Promise<void> {
    const { run } = this.#options;
    const batches = this.#recording.text();
    if (batches === null) await run.tooLarge();
    else await run.keep({ headers: this.#source.funded.headers, parts: batches + endLine(this.#source, error) });
  }

  /** After a defect the charge stands, and nothing is stored. */
  async #lose(): Promise<void> {
    this.#source.abandon('caller-gone');
    await this.#options.run.lose();
  }

  /** A reader that is far behind sets the pace, for a while; then the answer goes on without it. */
  async #catchUp(): Promise<void> {
    const timer = setTimeout(() => {
      this.#hasMissed = true;
      this.abandon('caller-gone');
    }, CATCH_UP_MS);
    while (!this.#waiting.isEmpty) await this.#changed.promise;
    clearTimeout(timer);
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** Gathers the lines of an answer, up to the most that may be stored. */
class Recording {
  #lines: string[] = [];
  #bytes = 0;
  #isFull = false;

  add(batch: readonly StreamPart[]): void {
    if (this.#isFull) return;
    const line = batchLine(batch);
    this.#bytes += Buffer.byteLength(line);
    this.#isFull = this.#bytes > ANSWER_BYTES_MAX;
    if (this.#isFull) this.#lines = [];
    else this.#lines.push(line);
  }

  /** Returns null for an answer that is too large. */
  text(): string | null {
    return this.#isFull ? null : this.#lines.join('');
  }
}
