import { ANSWER_BYTES_MAX } from '../../access/idempotency/answer.ts';
import type { IdempotentRun } from '../../access/idempotency/run.ts';
import type { StreamPart } from '../../contract/parts.ts';
import type { AnswerIdentity, Receipt } from '../../core/decision/answer.ts';
import { SignalboxError } from '../../core/errors.ts';
import { arrived } from '../../providers/arrival.ts';
import type { NextParts } from '../../providers/upstream-call.ts';
import type { AnswerSource, RunningAnswer } from './answer-source.ts';
import { slowReaderError } from './failure.ts';
import { batchLine, endLine } from './replayed-answer.ts';
import { WaitingParts } from './waiting-parts.ts';

/** Writes an answer without streaming as the body that its caller gets, so that repeats can send the stored bytes unchanged. */
export interface WholeForm {
  writer(identity: AnswerIdentity): {
    write(parts: readonly StreamPart[]): string;
    end(receipt: Receipt): string;
  };
  /** Returns the headers of an answer that has ended. */
  headers(answer: AnswerSource): Readonly<Record<string, string>>;
}

export interface KeptAnswerOptions {
  readonly source: Omit<RunningAnswer, 'policy'>;
  readonly run: IdempotentRun;
  /** Whether the answer is streamed to the caller. An error after the first part of a stream is the last event of the stream. */
  readonly isStream: boolean;
  /** How an answer without streaming is written. Absent: the reader gets the parts of the answer and writes them. */
  readonly whole?: WholeForm | null;
  /** A function that is called with a defect: an error of the program while the program read the answer, not an error of the answer. */
  readonly onDefect: (error: unknown) => void;
}

/** The most characters of a stored answer that wait for a reader, and how long the characters may wait, ms. */
const WAITING_CHARS_MAX = 262_144;
const CATCH_UP_MS = 10_000;

/**
 * An answer that is stored for repeats of its request. Signalbox reads it to its end, with or without a reader, and stores it before the
 * reader gets the end. A slow reader delays it for a limited time; then it continues without that reader, who gets an error at the end, and
 * can send the request again to get the stored answer.
 */
export class KeptAnswer implements AnswerSource {
  error: SignalboxError | null = null;
  /** The body of an answer that was written for its repeats; null before its end. */
  body: string | null = null;
  readonly #source: KeptAnswerOptions['source'];
  readonly #options: KeptAnswerOptions;
  readonly #recording = new Recording();
  /** The parts that the reader has not yet read. */
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

  /** When the reader disconnects, only the reading ends; the answer itself continues. */
  abandon(reason: SignalboxError | 'caller-gone'): void {
    if (reason !== 'caller-gone') this.#source.abandon(reason);
    this.#isLeft = true;
    this.#waiting.clear();
    this.#tell();
  }

  async #run(): Promise<void> {
    try {
      const next = () => this.#source.read();
      const writer = this.#options.whole?.writer(this);
      const texts: string[] = [];
      for (let batch = await arrived(next); batch !== null; batch = await arrived(next)) {
        this.#recording.add(batch);
        if (writer) texts.push(writer.write(batch));
        else if (!this.#isLeft) this.#waiting.add(batch);
        this.#tell();
        if (this.#waiting.chars > WAITING_CHARS_MAX) await this.#catchUp();
      }
      const { error, receipt } = this.#source;
      if (writer && receipt && !error) this.body = texts.join('') + writer.end(receipt);
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

  /** Ends a stream with an error, which is the last event of the stream. */
  async #endStream(error: SignalboxError): Promise<void> {
    this.error = error;
    const { run } = this.#options;
    const fate = this.#fateOf(error);
    if (fate === 'drop') await run.drop();
    else if (fate === 'lose') await run.lose();
    else await this.#store(error);
  }

  /** Ends an answer that consists only of an error. Returns that error. */
  async #endWithError(error: SignalboxError): Promise<SignalboxError> {
    const { funded } = this.#source;
    const { run } = this.#options;
    const fate = this.#fateOf(error);
    this.error = funded.errorOf(error, false);
    if (fate === 'drop') await run.drop();
    else if (fate === 'lose') await run.lose();
    else {
      // The request is charged although it ended with an error, and a repeat would get only the same stored error, so the error names no
      // time to retry.
      const { retryAfterMs: _, ...info } = error.info;
      this.error = funded.errorOf(new SignalboxError(error.code, error.message, { ...info, retry: false }), true);
      await run.keep({ headers: funded.headers, parts: endLine(this.#source, this.error) });
    }
    return this.error;
  }

  #fateOf({ code }: SignalboxError): 'keep' | 'drop' | 'lose' {
    const { isDeserted, receipt } = this.#source;
    // If the caller disconnected without an answer and nothing was charged, the same request may be sent again and is then charged
    // normally.
    if (isDeserted || !receipt || receipt.platform.credits_consumed === 0) return 'drop';
    // If a shutdown cut off the answer, the caller is not at fault, so the same request may be sent again.
    return code === 'overloaded' ? 'lose' : 'keep';
  }

  async #store(error: SignalboxError | null): Promise<void> {
    const { run, whole } = this.#options;
    const { headers } = this.#source.funded;
    const { body } = this;
    // A body can repeat members of its request, so it can be too large where its parts are not.
    if (whole && body !== null && Buffer.byteLength(body) <= ANSWER_BYTES_MAX) {
      await run.keep({ status: 200, headers: { ...headers, ...whole.headers(this) }, body });
      return;
    }
    const batches = this.#recording.text();
    if (batches === null) await run.tooLarge();
    else await run.keep({ headers, parts: batches + endLine(this.#source, error) });
  }

  /** After a defect of the program, the charge of the answer remains, and no answer is stored. */
  async #lose(): Promise<void> {
    this.#source.abandon('caller-gone');
    await this.#options.run.lose();
  }

  /** A reader that is far behind slows down the answer for a limited time, after which the answer continues without that reader. */
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

/** Collects the lines of an answer, up to the largest size that may be stored. */
export class Recording {
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

  /** @returns null for an answer that is too large */
  text(): string | null {
    return this.#isFull ? null : this.#lines.join('');
  }
}
