import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { totalBy } from '../counts.ts';
import type { Family } from '../families.ts';
import type { Log } from '../log.ts';

/** A collector that is down must not flood the log. */
const WARN_EVERY_MS = 60_000;

/** Counts exported and lost spans, and logs losses. */
export class ExportMonitor {
  #exported = 0;
  #lost = 0;
  /** Lost spans that are not logged yet. */
  #unreported = 0;
  #reason = '';
  #warnedAt = Number.NEGATIVE_INFINITY;
  readonly #log: Log;
  readonly #clock: () => number;

  constructor(log: Log, clock: () => number) {
    this.#log = log;
    this.#clock = clock;
  }

  get family(): Family {
    return totalBy('signalbox_spans_total', 'Spans, by whether the collector accepted them.', 'outcome', () => [
      ['exported', this.#exported],
      ['lost', this.#lost],
    ]);
  }

  exported(count: number): void {
    this.#exported += count;
  }

  lost(count: number, reason: string): void {
    this.#lost += count;
    this.#unreported += count;
    this.#reason = reason;
    if (this.#clock() - this.#warnedAt >= WARN_EVERY_MS) this.report();
  }

  /** Logs the losses since the last report. */
  report(): void {
    if (this.#unreported === 0) return;
    this.#warnedAt = this.#clock();
    this.#log.warn('traces cannot be exported', { lost: this.#unreported, reason: this.#reason });
    this.#unreported = 0;
  }
}

/** OpenTelemetry's `ExportResultCode`. */
const SUCCESS = 0;
const FAILED = 1;

/**
 * Counts the results of an exporter, and gives up on an export after its timeout (ms). `pending` is the number of spans
 * without a result.
 */
export class CountedExporter implements SpanExporter {
  pending = 0;
  #isClosed = false;
  readonly #onIdle: (() => void)[] = [];
  readonly #inner: SpanExporter;
  readonly #monitor: ExportMonitor;
  readonly #timeoutMs: number;
  readonly #onTaken: (count: number) => void;

  constructor(inner: SpanExporter, monitor: ExportMonitor, timeoutMs: number, onTaken: (count: number) => void) {
    this.#inner = inner;
    this.#monitor = monitor;
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
        if (result.code === SUCCESS) this.#monitor.exported(length);
        else this.#monitor.lost(length, reasonOf(result.error));
      }
      done(result);
      if (this.pending === 0) for (const idle of this.#onIdle.splice(0)) idle();
    };
    // The exporter's own timeout concerns silence: a response that trickles in would never end.
    const late = () => end({ code: FAILED, error: new Error('timeout') });
    const timer = setTimeout(late, this.#timeoutMs);
    timer.unref();
    this.#inner.export(spans, end);
  }

  /** Resolves once every export has a result. The inner exporter would wait for abandoned exports, too. */
  shutdown(): Promise<void> {
    if (this.pending === 0) return Promise.resolve();
    return new Promise((done) => this.#onIdle.push(done));
  }

  /** Ignores all later results. */
  close(): void {
    this.#isClosed = true;
  }
}

/** Text that is safe to log: the message may contain the address with its password, or a collector's response. */
function reasonOf(error: Error | undefined): string {
  const code = error && 'code' in error ? error.code : undefined;
  if (typeof code === 'number') return `HTTP ${code}`;
  if (typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code)) return code;
  return error && /time(?:d )?out/i.test(error.message) ? 'timeout' : 'unavailable';
}
