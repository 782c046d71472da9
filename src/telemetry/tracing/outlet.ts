import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Family } from '../families.ts';
import type { Log } from '../log.ts';

/** A collector that is down must not fill the log. */
const WARN_EVERY_MS = 60_000;

/** Counts what goes out, and tells the log of what does not. */
export class Outlet {
  #exported = 0;
  #lost = 0;
  /** Lost, and not yet told of. */
  #untold = 0;
  #reason = '';
  #warnedAt = Number.NEGATIVE_INFINITY;
  readonly #log: Log;
  readonly #clock: () => number;

  constructor(log: Log, clock: () => number) {
    this.#log = log;
    this.#clock = clock;
  }

  get family(): Family {
    return {
      type: 'counter',
      name: 'signalbox_spans_total',
      help: 'Spans of traces, by whether the collector took them.',
      labels: ['outcome'],
      samples: () => [
        [{ outcome: 'exported' }, this.#exported],
        [{ outcome: 'lost' }, this.#lost],
      ],
    };
  }

  exported(count: number): void {
    this.#exported += count;
  }

  lost(count: number, reason: string): void {
    this.#lost += count;
    this.#untold += count;
    this.#reason = reason;
    if (this.#clock() - this.#warnedAt >= WARN_EVERY_MS) this.tell();
  }

  /** Tells the log of what was lost since it was told last. */
  tell(): void {
    if (this.#untold === 0) return;
    this.#warnedAt = this.#clock();
    this.#log.warn('traces cannot be exported', { lost: this.#untold, reason: this.#reason });
    this.#untold = 0;
  }
}

/** OpenTelemetry's `ExportResultCode`. */
const SUCCESS = 0;
const FAILED = 1;

/**
 * An exporter that has its results counted, and that nobody waits for beyond its timeout (ms). `pending` are spans that it
 * was given and has said nothing of yet.
 */
export class CountedExporter implements SpanExporter {
  pending = 0;
  #isClosed = false;
  readonly #onIdle: (() => void)[] = [];
  readonly #inner: SpanExporter;
  readonly #outlet: Outlet;
  readonly #timeoutMs: number;
  readonly #onTaken: (count: number) => void;

  constructor(inner: SpanExporter, outlet: Outlet, timeoutMs: number, onTaken: (count: number) => void) {
    this.#inner = inner;
    this.#outlet = outlet;
    this.#timeoutMs = timeoutMs;
    this.#onTaken = onTaken;
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    const { length } = spans;
    this.#onTaken(length);
    this.pending += length;
    let isOver = false;
    const end: typeof done = (result) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      if (!this.#isClosed) {
        this.pending -= length;
        if (result.code === SUCCESS) this.#outlet.exported(length);
        else this.#outlet.lost(length, reasonOf(result.error));
      }
      done(result);
      if (this.pending === 0) for (const idle of this.#onIdle.splice(0)) idle();
    };
    // The exporter's own timeout is one of silence: an answer that comes byte by byte would never be over.
    const late = () => end({ code: FAILED, error: new Error('timeout') });
    const timer = setTimeout(late, this.#timeoutMs);
    timer.unref();
    this.#inner.export(spans, end);
  }

  /** Resolves once all that it was given is over. The inner exporter would wait for what was given up, too. */
  shutdown(): Promise<void> {
    if (this.pending === 0) return Promise.resolve();
    return new Promise((done) => this.#onIdle.push(done));
  }

  /** Whatever comes of the rest, nobody will count it. */
  close(): void {
    this.#isClosed = true;
  }
}

/** What may stand in the log: an error's own words may hold the address, with its password, or what a collector repeats. */
function reasonOf(error: Error | undefined): string {
  const code = error && 'code' in error ? error.code : undefined;
  if (typeof code === 'number') return `HTTP ${code}`;
  if (typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code)) return code;
  return error && /time(?:d )?out/i.test(error.message) ? 'timeout' : 'unavailable';
}
