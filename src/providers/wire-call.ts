import type { ProviderFailure, StreamPart } from '../contract/parts.ts';
import type { Frame, ProviderCall, StreamReader, WireAdapter } from '../contract/provider.ts';
import { TextRun } from '../contract/text-run.ts';
import { beyondLimits } from '../core/json/limits.ts';
import { type AlarmOwner, DeadlineAlarm } from './alarm.ts';
import { AnswerCompletion, USAGE_WAIT_MS } from './completion.ts';
import { Opening } from './connection/opening.ts';
import { bodyFailure, openFailure, sanitizeFailure, sanitizePart, UpstreamError } from './failures.ts';
import { type FrameParser, frameParser } from './frames.ts';
import { callHeaders, withTrace } from './http-request.ts';
import { PieceDecoder } from './piece-decoder.ts';
import { TextReading } from './read-text.ts';
import { remainingUnits } from './remaining-units.ts';
import type { UpstreamReply } from './reply.ts';
import { requestIdOf } from './request-id.ts';
import { clampWait, retryAfterMs } from './retry-after.ts';
import {
  AMPLE_ROOM,
  type CallTerms,
  keyNow,
  type NextParts,
  type UpstreamCall,
  type UpstreamTarget,
} from './upstream-call.ts';

/**
 * The maximum number of bytes of a JSON answer, which is kept until its end. The limit also applies to a stream that the provider sends
 * instead of JSON.
 */
const REPLY_MAX = 33_554_432;
/** The maximum number of bytes of a stream. The longest answers, with 20 probabilities per token, are smaller than this limit. */
const STREAM_MAX = 268_435_456;
/** The maximum number of JSON values in an answer or event. 100,000 tokens with their probabilities have fewer. */
const VALUES_MAX = 2_000_000;
/** Answers and events of up to this many characters are cheap to parse, however deeply they are nested. */
const UNCHECKED_MAX = 16_384;
/** The maximum number of bytes of an error's body, and the maximum wait for it in ms. */
const ERROR_MAX = 65_536;
const ERROR_WAIT = 500;
/** The limits, in ms and bytes, for reading the rest of a stream after a complete answer, to keep its connection. */
const DRAIN_WAIT = 250;
const DRAIN_MAX = 65_536;

/** Content types of streams with one JSON text per line. */
const LINES_OF_JSON = /ndjson|jsonl|json-seq/;

/** The part that replaces an answer or event if the adapter throws while it reads it. */
const UNREADABLE: readonly StreamPart[] = [
  { type: 'failure', failure: { kind: 'malformed', message: 'the adapter could not read the answer' } },
];

/** The failure of a request if the adapter throws while it builds the request. */
const UNBUILT: ProviderFailure = { kind: 'server', message: 'the adapter could not build the request' };

const NONE: readonly string[] = [];

interface StreamSource {
  readonly reply: UpstreamReply;
  readonly decoder: PieceDecoder;
  readonly frames: FrameParser;
  readonly reader: StreamReader;
}

/** @throws UpstreamError for JSON that is so expensive to parse that it would delay other requests */
function checkForm(text: string): void {
  if (beyondLimits(text, VALUES_MAX))
    throw new UpstreamError('malformed', 'the answer is nested too deeply or has too many values');
}

/** One HTTP call to a provider. The wire adapter only translates requests and answers; `WireCall` does everything else. */
export class WireCall implements UpstreamCall, AlarmOwner {
  dropped: readonly string[] = NONE;
  requestId: string | null = null;
  readonly #adapter: WireAdapter;
  readonly #apiKey: string | null;
  readonly #terms: CallTerms;
  readonly #firstContentBy: number;
  readonly #alarm: DeadlineAlarm;
  readonly #completion: AnswerCompletion;
  readonly #stream: boolean;
  /** The number of bytes that the provider may still send in the stream. */
  #bytesLeft: number;
  /** Whether the request was sent to the provider unchanged. */
  #passthrough = false;
  #opening: Opening | null = null;
  #source: StreamSource | null = null;
  /** The text of an unstreamed answer, or the body of an error. */
  #text: TextReading | null = null;
  /** The reply of the provider if its status is not 2xx. */
  #failed: UpstreamReply | null = null;
  /** The parts that the current `read` will return. */
  #batch: StreamPart[] = [];
  #finishedAt = 0;
  #expired = false;
  #over = false;

  constructor(adapter: WireAdapter, target: UpstreamTarget, call: ProviderCall, terms: CallTerms) {
    const now = performance.now();
    const { deadlines, totalBy, alarms } = terms;
    this.#alarm = new DeadlineAlarm(this, alarms);
    this.#adapter = adapter;
    this.#apiKey = keyNow(target);
    this.#terms = terms;
    this.#stream = call.stream;
    this.#bytesLeft = call.stream ? STREAM_MAX : REPLY_MAX;
    this.#firstContentBy = call.stream ? Math.min(now + deadlines.firstTokenMs, totalBy) : totalBy;
    this.#completion = new AnswerCompletion(call.request.settings.choices ?? 1);
    this.#send(target, call, now);
  }

  get sent(): boolean {
    return this.#opening?.sent ?? false;
  }

  read(): NextParts {
    try {
      while (!this.#over && this.#batch.length === 0) {
        const waiting = this.#step();
        if (waiting) return waiting;
      }
    } catch (error) {
      this.#fail(this.#expired ? this.#timeout() : bodyFailure(error));
    }
    const batch = this.#batch;
    if (batch.length === 0) return null;
    this.#batch = [];
    return batch;
  }

  abort(): void {
    this.#over = true;
    this.#batch = [];
    this.#close();
  }

  onDeadline(): void {
    if (this.#opening?.ring()) return;
    this.#expired = true;
    this.#opening?.abort();
  }

  /** Sends the request. `#send` never throws: the first `read` reports the error. */
  #send(target: UpstreamTarget, call: ProviderCall, now: number): void {
    try {
      if (this.#terms.totalBy <= now) throw new UpstreamError('timeout', 'no time was left for this attempt');
      const request = this.#adapter.request(call);
      if ('kind' in request) throw new UpstreamError(request.kind, request.message);
      const { path, body, pieces, dropped, headers: own } = request;
      this.dropped = dropped;
      this.#passthrough = request.passthrough ?? false;
      const { dial } = target;
      if (!dial) throw new UpstreamError('connect', 'the provider has no http address');
      const headers = withTrace(callHeaders(this.#adapter, own, target, call.stream), this.#terms.trace);
      const headBy = this.#firstContentBy;
      const connectBy = Math.min(now + this.#terms.deadlines.connectMs, headBy);
      this.#opening = new Opening(
        { dial, path, headers, stream: call.stream, startedAt: now, connectBy, headBy },
        pieces ?? body,
        this.#alarm,
      );
    } catch (error) {
      this.#fail(error instanceof UpstreamError ? error.failure : UNBUILT);
    }
  }

  /** Processes the bytes that have arrived. Returns a promise to wait for, or nothing if some bytes were processed. */
  #step(): Promise<void> | undefined {
    if (this.#source) return this.#advance(this.#source);
    if (this.#failed) return this.#readError(this.#failed);
    if (this.#text) return this.#readReply(this.#text);
    return this.#open();
  }

  #open(): Promise<void> | undefined {
    let reply: UpstreamReply | Promise<void>;
    try {
      reply = this.#opening!.reply();
    } catch (error) {
      this.#fail(this.#expired ? this.#timeout() : openFailure(error, this.sent));
      return;
    }
    if (reply instanceof Promise) return reply;
    const { status } = reply;
    this.requestId = requestIdOf(reply, this.#apiKey);
    const remaining = this.#terms.limits ? remainingUnits(reply) : null;
    if (remaining) this.#terms.limits?.correct(remaining);
    if (status >= 300 && status < 400) {
      this.#fail({ kind: 'not_found', message: 'redirects are not followed', status });
    } else if (status < 200 || status > 299) {
      this.#alarm.set(Math.min(performance.now() + ERROR_WAIT, this.#terms.totalBy));
      this.#failed = reply;
      this.#text = new TextReading(reply, ERROR_MAX);
    } else this.#begin(reply);
    return;
  }

  /** Begins to read an answer. @throws UpstreamError if its content is not an answer */
  #begin(reply: UpstreamReply): void {
    const type = reply.header('content-type')?.toLowerCase() ?? '';
    // An HTML page comes from an intermediary, such as a login page or an error page.
    if (type.includes('html')) throw new UpstreamError('malformed', 'the answer is an HTML page');
    const framed = type.includes('event-stream') ? 'sse' : LINES_OF_JSON.test(type) ? 'ndjson' : null;
    // The content type of the upstream's answer decides whether the answer is read as JSON or as a stream. Without a content type, the
    // answer is read in the requested form.
    if (framed === null && (type.includes('json') || !this.#stream)) {
      this.#text = new TextReading(reply, REPLY_MAX, this.#terms.room);
      return;
    }
    this.#source = {
      reply,
      decoder: new PieceDecoder(),
      frames: frameParser(framed ?? this.#adapter.frames),
      reader: this.#adapter.stream(this.#passthrough),
    };
  }

  /**
   * Reads a reply whose status is not 2xx. The body of an error only explains the error, so a slow or broken body does not hide the status.
   */
  #readError({ status, headers }: UpstreamReply): Promise<void> | undefined {
    let text = '';
    try {
      const body = this.#text?.read();
      if (body instanceof Promise) return body;
      text = body ?? '';
    } catch {
      // The status of an error remains valid without a body.
    }
    let failure: ProviderFailure;
    try {
      failure = this.#adapter.failure(status, headers, text, this.#passthrough);
    } catch {
      failure = { kind: 'server', message: `status ${status}`, status };
    }
    const wait = failure.retryAfterMs ?? retryAfterMs(headers, Date.now(), status);
    this.#fail(wait === undefined ? failure : { ...failure, retryAfterMs: wait });
    return;
  }

  #readReply(reading: TextReading): Promise<void> | undefined {
    const body = reading.read();
    if (body instanceof Promise) return body;
    // The call was aborted because there was no memory for the text.
    if (this.#over) return;
    if (reading.isCut) throw new UpstreamError('malformed', 'the answer was too large');
    if (body.length > UNCHECKED_MAX) checkForm(body);
    let parts: readonly StreamPart[];
    try {
      parts = this.#adapter.reply(body, this.#passthrough);
    } catch {
      parts = UNREADABLE;
    }
    if (this.#addParts(parts)) this.#endOfBytes();
    return;
  }

  /** Reads once from the network. */
  #advance(source: StreamSource): Promise<void> | undefined {
    const piece = source.reply.read();
    if (piece instanceof Promise) {
      this.#alarm.set(this.#readDeadline());
      return piece;
    }
    this.#bytesLeft -= piece?.length ?? 0;
    if (this.#bytesLeft < 0) throw new UpstreamError('malformed', 'the answer was too large');
    // If the provider streams an answer that was requested unstreamed, the call keeps the events until the last one.
    if (piece && !this.#stream && !(this.#terms.room ?? AMPLE_ROOM).makeRoom(piece.length)) return;
    // The idle timeout does not run while the caller handles these parts.
    this.#alarm.set(this.#terms.totalBy);
    const { decoder, frames, reader } = source;
    frames.add(piece ? decoder.decode(piece) : decoder.end());
    for (let next = frames.next(reader.textForm); next; next = frames.next(reader.textForm)) {
      const isWanted = next instanceof TextRun ? this.#add(next) : this.#addFrame(next, reader);
      if (!isWanted) return;
    }
    if (frames.overflowed) throw new UpstreamError('malformed', 'an event of the answer was too large');
    if (!piece && frames.end().every((frame) => this.#addFrame(frame, reader))) this.#endOfBytes();
    return;
  }

  /** Adds the parts of a frame to the batch. Returns false once the call is over. */
  #addFrame(frame: Frame, reader: StreamReader): boolean {
    if (frame.data.length > UNCHECKED_MAX) checkForm(frame.data);
    let parts: readonly StreamPart[];
    try {
      parts = reader.read(frame);
    } catch {
      parts = UNREADABLE;
    }
    return this.#addParts(parts);
  }

  /** Adds the adapter's parts to the batch. Returns false once the call is over. */
  #addParts(parts: readonly StreamPart[]): boolean {
    for (const part of parts) {
      // Most providers use the neutral finish reasons, so such a reason needs no check.
      const isOwnWord = part.type === 'finish' && part.raw !== part.reason;
      if (!this.#add(isOwnWord ? sanitizePart(part, this.#apiKey) : part)) return false;
    }
    if (this.#completion.finished && this.#finishedAt === 0) this.#finishedAt = performance.now();
    return true;
  }

  /** Adds a part to the batch. Returns false once the call is over. */
  #add(part: StreamPart): boolean {
    if (this.#completion.add(part, this.#batch)) return true;
    if (this.#completion.failure) this.#fail(this.#completion.failure);
    else this.#finish();
    return false;
  }

  /** Returns the deadline of the next read. */
  #readDeadline(): number {
    if (this.#finishedAt > 0) return Math.min(this.#finishedAt + USAGE_WAIT_MS, this.#terms.totalBy);
    if (!this.#completion.started || !this.#stream) return this.#firstContentBy;
    return Math.min(performance.now() + this.#terms.deadlines.idleMs, this.#terms.totalBy);
  }

  #endOfBytes(): void {
    if (!this.#completion.finished) {
      throw new UpstreamError(this.#completion.started ? 'cut' : 'malformed', 'the answer ended without a finish');
    }
    this.#over = true;
    this.#alarm.clear();
  }

  /** Ends the call. The answer is complete, whether or not the upstream has closed the connection. */
  #finish(): void {
    this.#over = true;
    if (this.#source) void this.#drain(this.#source.reply);
    else this.#alarm.clear();
  }

  /** Reads a stream to its end if the end comes soon, because only then the next call can reuse the connection. */
  async #drain(reply: UpstreamReply): Promise<void> {
    const drainBy = performance.now() + DRAIN_WAIT;
    try {
      for (let left = DRAIN_MAX; left > 0; ) {
        const piece = reply.read();
        if (piece === null) return this.#alarm.clear();
        if (piece instanceof Promise) {
          this.#alarm.set(drainBy);
          await piece;
        } else left -= piece.length;
      }
    } catch {
      // The answer is complete, so an error at the end of its connection does not matter.
    }
    this.#close();
  }

  #timeout(): ProviderFailure {
    const message = this.#completion.started ? 'the answer stalled or took too long' : 'no answer in time';
    return { kind: 'timeout', message };
  }

  /** Ends the call. `#fail` reports the failure unless only the usage was missing or the call was already over. */
  #fail(failure: ProviderFailure): void {
    if (!this.#over && !this.#completion.finished) {
      const { retryAfterMs: wait } = failure;
      const limited = wait === undefined ? failure : { ...failure, retryAfterMs: clampWait(wait) };
      this.#batch.push({ type: 'failure', failure: sanitizeFailure(limited, this.#apiKey) });
    }
    this.#over = true;
    this.#close();
  }

  #close(): void {
    this.#alarm.clear();
    this.#opening?.abort();
  }
}
