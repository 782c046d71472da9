import { ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import { totalBy } from '../counts.ts';
import type { Family } from '../families.ts';
import { lineLimit } from '../line-limit.ts';
import type { Log } from '../log.ts';
import type { TracingSettings } from './settings.ts';

/** The metrics of a queue. */
export const spanFamily = (counts: { readonly exported: number; readonly lost: number }): Family =>
  totalBy('signalbox_spans_total', 'Spans, by whether the collector accepted them.', 'outcome', () => [
    ['exported', counts.exported],
    ['lost', counts.lost],
  ]);

/** Sends finished spans to the collector in batches, from a bounded queue. Counts them, and logs losses. */
export class SpanQueue {
  exported = 0;
  lost = 0;
  /** Lost spans that are not logged yet, and the reason for the last. */
  #unreported = 0;
  #reason = '';
  /** A collector that is down must not flood the log. */
  readonly #mayWarn = lineLimit(1);
  /** Spans in the processor's queue. Counted here, because it drops excess spans silently. */
  #waiting = 0;
  /** Spans at the exporter, with the reason that will tell why they are lost; null where they arrive. */
  readonly #sending = new Map<readonly ReadableSpan[], Promise<string | null>>();
  #isClosed = false;
  readonly #settings: TracingSettings;
  readonly #exporter: SpanExporter;
  readonly #processor: BatchSpanProcessor;
  readonly #log: Log;
  readonly #clock: () => number;

  constructor(settings: TracingSettings, log: Log, clock: () => number) {
    const { url, protocol, timeoutMs, delayMs, exportTimeoutMs, queueMax, batchMax } = settings;
    const Exporter = protocol === 'http/json' ? JsonExporter : ProtobufExporter;
    this.#settings = settings;
    this.#log = log;
    this.#clock = clock;
    this.#exporter = new Exporter({ url, timeoutMillis: timeoutMs, headers: { 'accept-encoding': 'identity' } });
    this.#processor = new BatchSpanProcessor({
      exporter: {
        // Its results are counted here. After a failure, the processor would abandon other batches.
        export: (spans, done) => void this.#send(spans).then(() => done({ code: ExportResultCode.SUCCESS })),
        // The exporter would wait for abandoned batches, too.
        shutdown: () => Promise.resolve(),
      },
      maxQueueSize: queueMax,
      maxExportBatchSize: batchMax,
      scheduledDelayMillis: delayMs,
      exportTimeoutMillis: exportTimeoutMs,
    });
  }

  take(span: ReadableSpan): void {
    if (this.#isClosed) this.#lose(1, 'stopped');
    else if (this.#waiting >= this.#settings.queueMax) this.#lose(1, 'queue full');
    else {
      this.#waiting++;
      this.#processor.onEnd(span);
    }
  }

  /** Sends all spans that wait, and none after the patience. Never rejects. */
  async close(patienceMs: number): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // A batch that is on its way already is not the processor's any more.
    const sent = this.#processor.shutdown().then(() => Promise.all(this.#sending.values()));
    await Promise.race([sent.catch(() => {}), Bun.sleep(patienceMs)]);
    let left = this.#waiting;
    for (const { length } of this.#sending.keys()) left += length;
    // Later results are ignored.
    this.#sending.clear();
    if (left > 0) this.#lose(left, 'not sent in time');
    this.#report();
  }

  /** Resolves once the batch has a result, or its time is over. */
  async #send(spans: ReadableSpan[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<string | null>();
    this.#waiting -= spans.length;
    this.#sending.set(spans, promise);
    // The exporter's own timeout concerns silence: a response that trickles in would never end.
    const timer = setTimeout(resolve, this.#settings.timeoutMs, 'timeout');
    timer.unref();
    this.#exporter.export(spans, ({ code, error }) =>
      resolve(code === ExportResultCode.SUCCESS ? null : whyLost(error)),
    );
    const reason = await promise;
    clearTimeout(timer);
    if (!this.#sending.delete(spans)) return;
    if (reason === null) this.exported += spans.length;
    else this.#lose(spans.length, reason);
  }

  #lose(count: number, reason: string): void {
    this.lost += count;
    this.#unreported += count;
    this.#reason = reason;
    if (this.#mayWarn(this.#clock()) !== null) this.#report();
  }

  /** Logs the losses since the last report. */
  #report(): void {
    if (this.#unreported === 0) return;
    this.#log.warn('traces cannot be exported', { lost: this.#unreported, reason: this.#reason });
    this.#unreported = 0;
  }
}

/** Text that is safe to log: the message may contain the address with its password, or a collector's response. */
function whyLost(error: Error | undefined): string {
  const code = error && 'code' in error ? error.code : undefined;
  if (typeof code === 'number') return `HTTP ${code}`;
  if (typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code)) return code;
  return error && /time(?:d )?out/i.test(error.message) ? 'timeout' : 'unavailable';
}
