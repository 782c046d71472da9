import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import type { HTTPHeaders } from 'elysia';
import { separateParts } from '../../contract/text-run.ts';
import type { GatewayPolicy } from '../../core/policy/snapshot.ts';
import type { EventForm, EventWriter } from '../../dialects/surface.ts';
import type { AnswerSource } from '../../gateway/exchange/answer-source.ts';
import { droppedText } from '../../gateway/money/extras.ts';
import { withoutSecrets } from './errors.ts';
import { takeHeaders } from './response.ts';

/** The maximum number of bytes that are handed to the server at once. The server copies and keeps bytes that its socket does not accept. */
export const SLICE_BYTES = 65_536;
/** The same limit as `SLICE_BYTES`, but in characters, which have at most 3 bytes. */
const SLICE = Math.floor(SLICE_BYTES / 3);

/** Returns the end of the slice of a text that begins at `at`. A slice has at most 64 KiB in UTF-8 and splits no character. */
export function sliceEnd(text: string, at: number): number {
  const end = at + SLICE;
  if (end >= text.length) return text.length;
  return (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end - 1 : end;
}

/** The time between heartbeats while a committed stream waits for its first part, in ms. */
const HEARTBEAT_MS = 10_000;
/** The header that names the fields of the request that the model did not receive. */
export const DROPPED_HEADER = 'x-signalbox-dropped';
/** Events that have arrived are joined until the text has this many characters. A text of this length waits while more events arrive. */
const GATHERED_MAX = 4_096;
/**
 * How many characters are sent in one turn of the event loop. The server collects the bytes of a turn, and only then sees how many its
 * socket accepts.
 */
const TURN_MAX = 8_192;
/**
 * How long a failed stream waits before it breaks the connection, in ms. A break discards bytes that this process, the kernel and proxies
 * still hold, and the error event must arrive first.
 */
const BREAK_AFTER_MS = 250;

/** How a stream begins, and how it ends after a failure. */
export type StreamPolicy = Pick<GatewayPolicy, 'commitAfterMs' | 'failedStreams'>;

/**
 * Answers with a stream. `streamResponse` waits for the first content part, so that an earlier failure is an ordinary error response. After
 * `commitAfterMs`, `streamResponse` sends status 200, and a failure becomes the last event; then the body ends or the connection breaks.
 * @param common headers that `streamResponse` moves to the response
 * @throws SignalboxError for a failure before the headers
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
  // Only a stream of type `direct` has no queue and no promise for each text.
  const body = new ReadableStream({
    type: 'direct',
    async pull(sink) {
      try {
        if (!opened) await sendHeartbeats(opening, form.heartbeat, sink);
        await sendTexts(new EventSource(source, form, policy), sink, gone.signal);
      } catch (cause) {
        // After a bug in this function, no client reads the answer, because `cancel` is not called for an error.
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

/** Sends heartbeats until the answer has content or has ended without content. */
async function sendHeartbeats(opening: Promise<void>, heartbeat: string, sink: ReadableStreamDirectController) {
  const isOver = (patienceMs: number) => settledWithin(opening, patienceMs).catch(() => true);
  // The first heartbeat is sent at once, because the headers leave with the first bytes.
  for (let over = await isOver(0); !over; over = await isOver(HEARTBEAT_MS)) {
    sink.write(heartbeat);
    await sink.flush(true);
  }
}

/**
 * Makes the response of a large body.
 * @param texts its pieces, which are removed as they are sent
 * @param common Elysia's headers, which move to the response
 */
export function textsResponse(texts: string[], common: HTTPHeaders): Response {
  const source: TextSource = { next: () => texts.shift() ?? null, isOver: false };
  return new Response(textsBody(source), { headers: takeHeaders(common) });
}

/**
 * Makes a response body that consists of these bytes. The body is sent no faster than its reader accepts it.
 * @param pace called with the size of each piece before the piece is sent; a promise delays the piece
 * @param onEnd called once the body was sent or its reader has left, possibly twice
 */
export function bytesBody(
  bytes: Uint8Array,
  pace: (bytes: number) => Promise<void> | null,
  onEnd: () => void,
): ReadableStream {
  let isGone = false;
  return new ReadableStream({
    type: 'direct',
    async pull(sink) {
      try {
        for (let at = 0; at < bytes.length && !isGone; at += SLICE_BYTES) {
          const piece = bytes.subarray(at, at + SLICE_BYTES);
          await pace(piece.length);
          const written = sink.write(piece);
          if (written instanceof Promise) await written;
          else sink.flush();
        }
        sink.close();
      } finally {
        onEnd();
      }
    },
    cancel() {
      isGone = true;
      onEnd();
    },
  });
}

/** Makes a response body that consists of these texts. */
function textsBody(source: TextSource): ReadableStream {
  const gone = new AbortController();
  return new ReadableStream({
    type: 'direct',
    pull: (sink) => sendTexts(source, sink, gone.signal),
    cancel: () => gone.abort(),
  });
}

/** Texts that are requested one after the other. */
export interface TextSource {
  /** Returns the next text; null if there is none; a promise if the next text has not arrived, after which the caller asks again. */
  next(): string | null | Promise<void>;
  /** Whether the last returned text is the end. */
  readonly isOver: boolean;
  /** Whether the connection breaks after the last text. If absent, the body ends normally. */
  readonly isBroken?: boolean;
}

/**
 * Sends the texts no faster than the reader accepts them, and then ends the body or breaks the connection.
 * @param gone aborted when the reader has left
 */
export async function sendTexts(
  source: TextSource,
  sink: ReadableStreamDirectController,
  gone?: AbortSignal,
): Promise<void> {
  let left = TURN_MAX;
  // The first text is sent without a wait, so that it leaves together with the headers.
  for (let text = source.next(); text !== null; text = source.next()) {
    if (text instanceof Promise) {
      await text;
      continue;
    }
    for (let at = 0, end = 0; at < text.length; at = end) {
      end = sliceEnd(text, at);
      const written = sink.write(end - at === text.length ? text : text.slice(at, end));
      // The end of the body leaves with the last text.
      if (source.isOver && !source.isBroken && end === text.length) break;
      left -= end - at;
      // A promise means that the reader is slow. `flush` would not report this for a small text.
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

/**
 * Breaks the connection after `BREAK_AFTER_MS`, or at once if the reader has left. The returned promise always rejects, which breaks the
 * connection.
 */
async function breakConnection(gone?: AbortSignal): Promise<never> {
  await pause(BREAK_AFTER_MS, undefined, { signal: gone }).catch(() => {});
  // Bun writes every other rejection reason to standard error.
  return await Promise.reject();
}

/** The events of an answer as texts. */
class EventSource implements TextSource {
  readonly #answer: AnswerSource;
  readonly #writer: EventWriter;
  /** The wait for more events, while the earlier events are sent. */
  #waiting: Promise<void> | null = null;
  readonly #breaks: boolean;
  isOver = false;
  isBroken = false;

  constructor(answer: AnswerSource, form: EventForm, { failedStreams }: StreamPolicy) {
    this.#answer = answer;
    this.#writer = form.writer(answer);
    this.#breaks = form.hasNoFailedEnd === true && failedStreams === 'break';
  }

  /** Returns the text of all events that have arrived. */
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
      text += this.#writer.write(this.#writer.takesRuns ? parts : separateParts(parts));
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

/**
 * True when the promise is fulfilled, false if it is not fulfilled within `ms`. If `promise` rejects, the returned promise rejects, too.
 */
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
