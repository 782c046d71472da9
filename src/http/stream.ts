import type { Exchange } from '../gateway/exchange.ts';
import { ChunkWriter, errorEvent, HEARTBEAT } from '../surface/openai-chat/chunks.ts';
import { Slices } from './slices.ts';

/** Pause between heartbeats while a committed stream waits for its first part. */
const HEARTBEAT_MS = 10_000;

export interface StreamOptions {
  readonly includeUsage: boolean;
  /** Headers wait for the first content part, at most so long. */
  readonly commitAfterMs: number;
  /** Puts something between the events and the response, whose headers these are. */
  readonly through?: (events: EventSource, headers: Readonly<Record<string, string>>) => Events;
}

/** A stream's events as text, asked for one after the other. */
export interface Events {
  /** The next text to send; null when the stream is over. */
  next(): Promise<string | null>;
  /** Nobody will ask again. */
  leave(): void;
}

/**
 * Answers as server-sent events. Waits for the first content part, so that a failure before it is an
 * ordinary error response (throws SignalboxError); past `commitAfterMs` the 200 goes out and a failure
 * becomes the last event.
 */
export async function streamResponse(exchange: Exchange, options: StreamOptions): Promise<Response> {
  const opening = exchange.open();
  const opened = await settledWithin(opening, options.commitAfterMs);
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    ...(opened && { 'x-signalbox-model': exchange.model }),
  };
  const source = new EventSource(exchange, opened ? null : opening, options);
  const events = options.through ? options.through(source, headers) : source;
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
          // A defect here: nobody is told of an error by `cancel`.
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

/** The events of an exchange. */
export class EventSource implements Events {
  readonly #exchange: Exchange;
  readonly #includeUsage: boolean;
  /** Pending while the exchange has not shown content; null after. */
  #opening: Promise<void> | null;
  #writer: ChunkWriter | null = null;
  #hasBeaten = false;
  #ended = false;

  constructor(exchange: Exchange, opening: Promise<void> | null, { includeUsage }: StreamOptions) {
    this.#exchange = exchange;
    this.#opening = opening;
    this.#includeUsage = includeUsage;
  }

  /** Whether the last text was told. */
  get ended(): boolean {
    return this.#ended;
  }

  async next(): Promise<string | null> {
    if (this.#ended) return null;
    if (this.#opening) {
      try {
        // The first at once: headers leave with the first bytes.
        const patience = this.#hasBeaten ? HEARTBEAT_MS : 0;
        this.#hasBeaten = true;
        if (!(await settledWithin(this.#opening, patience))) return HEARTBEAT;
      } catch {
        // The exchange has kept the error, and ends here.
        return this.#end();
      }
      this.#opening = null;
    }
    this.#writer ??= new ChunkWriter(this.#exchange);
    for (;;) {
      const batch = await this.#exchange.read();
      if (batch === null) return this.#end();
      const text = this.#writer.write(batch);
      if (text !== '') return text;
    }
  }

  leave(): void {
    this.#exchange.abandon('caller-gone');
  }

  #end(): string {
    this.#ended = true;
    const { error, receipt } = this.#exchange;
    if (error) return errorEvent(error, receipt?.platform ?? null);
    if (!receipt || !this.#writer) throw new Error('the exchange ended without a receipt');
    return this.#writer.end(receipt, this.#includeUsage);
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
