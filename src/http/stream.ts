import type { AnswerSource } from '../gateway/answer-source.ts';
import type { EventForm, EventWriter } from '../surface/surface.ts';
import { withoutSecrets } from './errors.ts';
import { Slices } from './slices.ts';

/** Pause between heartbeats while a committed stream waits for its first part. */
const HEARTBEAT_MS = 10_000;

/**
 * Answers as a stream. Waits for the first content part, so that a failure before it is an ordinary error response;
 * past `commitAfterMs` the 200 goes out and a failure becomes the last event.
 * @param commitAfterMs headers wait for the first content part, at most so long.
 * @throws SignalboxError of a failure before the headers.
 */
export async function streamResponse(source: AnswerSource, form: EventForm, commitAfterMs: number): Promise<Response> {
  const opening = source.open();
  const opened = await settledWithin(opening, commitAfterMs);
  const headers = {
    'content-type': form.contentType,
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    ...(opened && { 'x-signalbox-model': source.model }),
  };
  const events = new EventSource(source, form, opened ? null : opening);
  const slices = new Slices();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          let bytes = slices.next();
          if (bytes === null) {
            const text = await events.next();
            if (text === null) return controller.close();
            slices.put(text);
            bytes = slices.next();
          }
          if (bytes) controller.enqueue(bytes);
        } catch (cause) {
          // A defect here: `cancel` is not called for an error.
          events.leave();
          throw cause;
        }
      },
      cancel() {
        events.leave();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}

/** The events of an answer as text, asked for one after the other. */
class EventSource {
  readonly #answer: AnswerSource;
  readonly #form: EventForm;
  /** Pending while the answer has not shown content; null after. */
  #opening: Promise<void> | null;
  #writer: EventWriter | null = null;
  #hasBeaten = false;
  #ended = false;

  constructor(answer: AnswerSource, form: EventForm, opening: Promise<void> | null) {
    this.#answer = answer;
    this.#form = form;
    this.#opening = opening;
  }

  /** Returns the next text to send; null when the stream is over. */
  async next(): Promise<string | null> {
    if (this.#ended) return null;
    if (this.#opening) {
      try {
        // The first at once: headers leave with the first bytes.
        const patience = this.#hasBeaten ? HEARTBEAT_MS : 0;
        this.#hasBeaten = true;
        if (!(await settledWithin(this.#opening, patience))) return this.#form.heartbeat;
      } catch {
        // The answer holds the error, and has ended.
        return this.#end();
      }
      this.#opening = null;
    }
    this.#writer ??= this.#form.writer(this.#answer);
    for (;;) {
      const batch = await this.#answer.read();
      if (batch === null) return this.#end();
      const text = this.#writer.write(batch);
      if (text !== '') return text;
    }
  }

  /** Ends the answer: the reader has left. */
  leave(): void {
    this.#answer.abandon('caller-gone');
  }

  #end(): string {
    this.#ended = true;
    const writer = this.#writer ?? this.#form.writer(this.#answer);
    const { error, receipt } = this.#answer;
    if (error) return writer.error(withoutSecrets(error), receipt?.platform ?? null);
    if (!receipt) throw new Error('the answer ended without a receipt');
    return writer.end(receipt);
  }
}

/** True once the promise is fulfilled, false when it is not within `ms`. Rejects with it. */
function settledWithin(promise: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), ms);
    promise.then(
      () => {
        clearTimeout(timer);
        resolve(true);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
