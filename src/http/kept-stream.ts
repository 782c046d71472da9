import { ANSWER_BYTES_MAX, FRAME_MARK, type StoredAnswer } from '../access/idempotency/answer.ts';
import type { EventSource, Events } from './stream.ts';

/** A stream's text with what it repeats; null for one that is too large to be kept. */
export type Recorded = Pick<StoredAnswer, 'frame' | 'body'> | null;

/** Where the events come from; `ended` once the last was told. */
type Source = Pick<EventSource, 'next' | 'ended'>;

export interface KeptStreamEnd {
  /** Called once the last text is there and before anybody gets it. */
  end(recorded: Recorded): Promise<void>;
  /** The program has failed, and there will be no last text. Never rejects. */
  defect(error: unknown): Promise<void>;
}

/** Characters that wait for a reader at most, and how long they may, ms. */
const WAITING_CHARS_MAX = 262_144;
const CATCH_UP_MS = 10_000;

/**
 * Reads a stream to its end at the upstream's pace, whether or not somebody listens. A reader that falls behind
 * holds it up for a while, and is then left behind: it can ask again for what is kept.
 */
export class KeptStream implements Events {
  readonly #source: Source;
  readonly #recording: Recording;
  /** Texts that the reader has not taken. */
  #waiting: string[] = [];
  #waitingChars = 0;
  #isLeft = false;
  #isOver = false;
  #failure: { readonly error: unknown } | null = null;
  #changed = Promise.withResolvers<void>();

  constructor(source: Source, heartbeat: string, end: KeptStreamEnd) {
    this.#source = source;
    this.#recording = new Recording(heartbeat);
    void this.#run(end);
  }

  async next(): Promise<string | null> {
    for (;;) {
      if (this.#waiting.length > 0) {
        const text = this.#waiting.join('');
        this.#waiting = [];
        this.#waitingChars = 0;
        this.#tell();
        return text;
      }
      if (this.#failure) throw this.#failure.error;
      if (this.#isOver) return null;
      await this.#changed.promise;
    }
  }

  leave(): void {
    this.#isLeft = true;
    this.#waiting = [];
    this.#waitingChars = 0;
    this.#tell();
  }

  async #run({ end, defect }: KeptStreamEnd): Promise<void> {
    try {
      for (let text = await this.#source.next(); text !== null; text = await this.#source.next()) {
        this.#recording.add(text);
        if (this.#source.ended) await end(this.#recording.text());
        if (!this.#isLeft) {
          this.#waiting.push(text);
          this.#waitingChars += text.length;
        }
        this.#tell();
        if (this.#waitingChars > WAITING_CHARS_MAX) await this.#catchUp();
      }
    } catch (error) {
      this.#failure = { error };
      await defect(error);
    }
    this.#isOver = true;
    this.#tell();
  }

  /** A reader that is far behind sets the pace, for a while; then it is cut off, and what is kept goes on. */
  async #catchUp(): Promise<void> {
    const timer = setTimeout(() => this.leave(), CATCH_UP_MS);
    while (this.#waitingChars > 0) await this.#changed.promise;
    clearTimeout(timer);
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** What every chunk of a stream begins with. */
const FRAME = /^data: \{"id":.*?,"choices":\[/;

/** Gathers a stream's text, with what every chunk repeats as one character. */
class Recording {
  readonly #heartbeat: string;
  #pieces: string[] = [];
  #bytes = 0;
  #frame = '';
  isFull = false;

  constructor(heartbeat: string) {
    this.#heartbeat = heartbeat;
  }

  add(text: string): void {
    if (this.isFull || text === this.#heartbeat) return;
    this.#frame ||= FRAME.exec(text)?.[0] ?? '';
    const short = this.#frame === '' ? text : text.replaceAll(this.#frame, FRAME_MARK);
    this.#bytes += Buffer.byteLength(short);
    this.isFull = this.#bytes > ANSWER_BYTES_MAX;
    if (this.isFull) this.#pieces = [];
    else this.#pieces.push(short);
  }

  text(): Recorded {
    return this.isFull ? null : { frame: this.#frame, body: this.#pieces.join('') };
  }
}
