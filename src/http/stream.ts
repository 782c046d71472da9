import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import type { HTTPHeaders } from 'elysia';
import type { GatewayPolicy } from '../core/snapshot.ts';
import type { EventForm, EventWriter } from '../dialects/surface.ts';
import type { AnswerSource } from '../gateway/exchange/answer-source.ts';
import { droppedText } from '../gateway/money/extras.ts';
import { withoutSecrets } from './errors.ts';
import { takeHeaders } from './response.ts';

/** The most bytes handed to the server at once: it copies and keeps the bytes that its socket does not take. */
const SLICE_BYTES = 65_536;
/** A character is 3 bytes at most. */
const SLICE = Math.floor(SLICE_BYTES / 3);

/** Returns where the slice of a text ends that begins at `at`: at most 64 KiB in UTF-8, and no character cut in two. */
export function sliceEnd(text: string, at: number): number {
  const end = at + SLICE;
  if (end >= text.length) return text.length;
  return (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end - 1 : end;
}

/** Pause between heartbeats while a committed stream waits for its first part. */
const HEARTBEAT_MS = 10_000;
/** The header that names the fields of the request that its model did not get. */
export const DROPPED_HEADER = 'x-signalbox-dropped';
/** Events that have come are gathered into one text until it has this many characters: it waits while more arrive. */
const GATHERED_MAX = 4_096;
/** Characters that are sent in one turn of the event loop: the server gathers a turn's bytes, and only then sees what its socket takes. */
const TURN_MAX = 8_192;
/** Time for the error event of a failed stream to reach its client, ms: a break drops what this process, the kernel and proxies still hold. */
const BREAK_AFTER_MS = 250;

/** How a stream begins, and how it ends after a failure. */
export type StreamPolicy = Pick<GatewayPolicy, 'commitAfterMs' | 'failedStreams'>;

/**
 * Answers as a stream. Waits for the first content part, so that a failure before it is an ordinary error response;
 * past `commitAfterMs` the 200 goes out and a failure becomes the last event. After it the body ends or the connection breaks.
 * @param common headers that the response gets beside its own: they move there
 * @throws SignalboxError of a failure before the headers.
 */
export async function streamResponse(
  source: AnswerSource,
  form: EventForm,
  policy: StreamPolicy,
  common: HTTPHeaders = {},
): Promise<Response> {
  const opening = source.open();
  const opened = await settledWithin(opening, policy.commitAfterMs);
  const headers = takeHeaders(common);
  headers.set('content-type', form.contentType);
  headers.set('cache-control', 'no-cache, no-transform');
  headers.set('x-accel-buffering', 'no');
  // Before the answer is open, its model is not known.
  if (opened) {
    headers.set('x-signalbox-model', source.model);
    if (source.dropped?.length) headers.set(DROPPED_HEADER, droppedText(source.dropped));
  }
  const gone = new AbortController();
  // The only kind of stream without a queue and a promise of its own for each text.
  const body = new ReadableStream({
    type: 'direct',
    async pull(sink) {
      try {
        if (!opened) await sendHeartbeats(opening, form.heartbeat, sink);
        await sendTexts(new EventSource(source, form, policy), sink, gone.signal);
      } catch (cause) {
        // After a defect here the answer has no reader: `cancel` is not called for an error.
        source.abandon('caller-gone');
        throw cause;
      }
    },
    cancel() {
      gone.abort();
      source.abandon('caller-gone');
    },
  });
  return new Response(body, { headers });
}

/** Sends heartbeats until the answer shows content, or has ended without any. */
async function sendHeartbeats(opening: Promise<void>, heartbeat: string, sink: ReadableStreamDirectController) {
  const isOver = (patienceMs: number) => settledWithin(opening, patienceMs).catch(() => true);
  // The first at once: headers leave with the first bytes.
  for (let over = await isOver(0); !over; over = await isOver(HEARTBEAT_MS)) {
    sink.write(heartbeat);
    await sink.flush(true);
  }
}

/**
 * Makes the response of a large body.
 * @param texts its pieces, which are taken out as they are sent
 * @param common Elysia's headers, which move to the response
 */
export function textsResponse(texts: string[], common: HTTPHeaders): Response {
  const source: TextSource = { next: () => texts.shift() ?? null, isOver: false };
  return new Response(textsBody(source), { headers: takeHeaders(common) });
}

/** Makes the body of a response that consists of these texts. */
export function textsBody(source: TextSource): ReadableStream {
  const gone = new AbortController();
  return new ReadableStream({
    type: 'direct',
    pull: (sink) => sendTexts(source, sink, gone.signal),
    cancel: () => gone.abort(),
  });
}

/** Texts, asked for one after the other. */
export interface TextSource {
  /** Returns the next text; null when there is none; a promise while it has not come: ask again then. */
  next(): string | null | Promise<void>;
  /** Whether nothing follows the text that was given last. */
  readonly isOver: boolean;
  /** Whether the connection breaks after the last text; absent: the body ends. */
  readonly isBroken?: boolean;
}

/**
 * Sends the texts as they come, no faster than their reader takes them, and then ends the body or breaks the connection.
 * @param gone aborted once the reader has left
 */
export async function sendTexts(
  source: TextSource,
  sink: ReadableStreamDirectController,
  gone?: AbortSignal,
): Promise<void> {
  let left = TURN_MAX;
  // Nothing awaits before the first text: what is written at once goes out together with the headers.
  for (let text = source.next(); text !== null; text = source.next()) {
    if (text instanceof Promise) {
      await text;
      continue;
    }
    for (let at = 0, end = 0; at < text.length; at = end) {
      end = sliceEnd(text, at);
      const written = sink.write(end - at === text.length ? text : text.slice(at, end));
      // The end of the body goes out with the last text.
      if (source.isOver && !source.isBroken && end === text.length) break;
      left -= end - at;
      // A promise: the reader is behind. `flush` would not say so of a small text.
      if (written instanceof Promise) await written;
      else sink.flush();
      if (left > 0) continue;
      await setImmediate();
      left = TURN_MAX;
    }
  }
  if (source.isBroken) await breakConnection(gone);
  sink.close();
}

/** Breaks the connection after `BREAK_AFTER_MS`, or at once where its reader has left. Always rejects: that breaks it. */
async function breakConnection(gone?: AbortSignal): Promise<never> {
  await pause(BREAK_AFTER_MS, undefined, { signal: gone }).catch(() => {});
  // Bun writes every other reason to standard error.
  return await Promise.reject();
}

/** The events of an answer as text, asked for one after the other. */
class EventSource implements TextSource {
  readonly #answer: AnswerSource;
  readonly #writer: EventWriter;
  /** The wait for more, while what came before it is sent. */
  #waiting: Promise<void> | null = null;
  readonly #breaks: boolean;
  isOver = false;
  isBroken = false;

  constructor(answer: AnswerSource, form: EventForm, { failedStreams }: StreamPolicy) {
    this.#answer = answer;
    this.#writer = form.writer(answer);
    this.#breaks = form.hasNoFailedEnd === true && failedStreams === 'break';
  }

  /** Returns the text of all that has come. */
  next(): string | null | Promise<void> {
    if (this.isOver) return null;
    let text = '';
    while (text.length < GATHERED_MAX) {
      const parts = this.#waiting ?? this.#answer.read();
      this.#waiting = null;
      if (parts === null) return text + this.#end();
      if (parts instanceof Promise) {
        if (text === '') return parts;
        this.#waiting = parts;
        break;
      }
      text += this.#writer.write(parts);
    }
    return text;
  }

  #end(): string {
    this.isOver = true;
    const { error, receipt } = this.#answer;
    if (error) {
      this.isBroken = this.#breaks;
      return this.#writer.error(withoutSecrets(error), receipt?.platform ?? null);
    }
    if (!receipt) throw new Error('the answer ended without a receipt');
    return this.#writer.end(receipt);
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
