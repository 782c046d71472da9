import { ExportResultCode, parseKeyPairsIntoRecord } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { totalBy } from '../counts.ts';
import type { Family } from '../families.ts';
import { lineLimit } from '../line-limit.ts';
import type { Log } from '../log.ts';
import { registerSecrets } from '../secrets.ts';
import { collectorHeaders, collectorSecrets, type TracingSettings } from './settings.ts';

const PATIENCE_MS = 5_000;

/** Makes the metrics of a span queue. */
export const spanFamily = (read: () => { readonly exported: number; readonly lost: number }): Family =>
  totalBy('signalbox_spans_total', 'Spans, by whether the collector accepted them.', 'outcome', () =>
    Object.entries(read()),
  );

/** Counts lost spans, and logs losses only now and then, because a collector that is down must not flood the log. */
function lossCounter(log: Log, clock: () => number) {
  const mayWarn = lineLimit(1);
  let lost = 0;
  let reported = 0;
  let last = '';
  /** Logs the losses since the last report. */
  const report = (): void => {
    if (reported === lost) return;
    log.warn('traces cannot be exported', { lost: lost - reported, reason: last });
    reported = lost;
  };
  return {
    total: () => lost,
    add(spans: number, reason: string): void {
      lost += spans;
      last = reason;
      if (mayWarn(clock()) !== null) report();
    },
    report,
  };
}

interface SpanQueueHost {
  /** Reads an environment variable. */
  env(name: string): string | undefined;
  readonly log: Log;
  /** Milliseconds on a monotonic clock. */
  readonly clock: () => number;
}

/**
 * Sends finished spans to the collector in batches, from a bounded queue. The span queue counts the spans, and logs losses. State: traces.
 */
export function spanQueue(settings: TracingSettings, { env, log, clock }: SpanQueueHost) {
  const { url, protocol, timeoutMs, delayMs, exportTimeoutMs, queueMax, batchMax } = settings;
  const Exporter = protocol === 'http/json' ? JsonExporter : ProtobufExporter;
  // The queue reads the headers for each batch, because a file with headers may have changed.
  const headers = async () => {
    registerSecrets(collectorSecrets(env));
    return { 'accept-encoding': 'identity', ...parseKeyPairsIntoRecord(collectorHeaders(env)) };
  };
  const exporter = new Exporter({ url, timeoutMillis: timeoutMs, headers });
  const losses = lossCounter(log, clock);
  let exported = 0;
  /**
   * The number of spans in the processor's queue. The queue counts waiting spans itself, because the processor drops excess spans silently.
   */
  let waiting = 0;
  /** The spans at the exporter. Each promise resolves with the reason why the spans are lost; null if the spans arrive. */
  const sending = new Map<readonly ReadableSpan[], Promise<string | null>>();
  let isClosed = false;
  /** Resolves once the batch has a result, or its time is over. */
  const send = async (spans: ReadableSpan[]): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<string | null>();
    waiting -= spans.length;
    sending.set(spans, promise);
    // The exporter's own timeout applies only to silence, so a response that arrives byte by byte would never end.
    const timer = setTimeout(resolve, timeoutMs, 'timeout');
    timer.unref();
    exporter.export(spans, ({ code, error }) => resolve(code === ExportResultCode.SUCCESS ? null : whyLost(error)));
    const reason = await promise;
    clearTimeout(timer);
    if (!sending.delete(spans)) return;
    if (reason === null) exported += spans.length;
    else losses.add(spans.length, reason);
  };
  const processor = new BatchSpanProcessor({
    exporter: {
      // The queue counts the results itself and always reports a success to the processor. After a failure, the processor would abandon
      // other batches.
      export: (spans, done) => void send(spans).then(() => done({ code: ExportResultCode.SUCCESS })),
      // The exporter's own shutdown would also wait for abandoned batches.
      shutdown: () => Promise.resolve(),
    },
    maxQueueSize: queueMax,
    maxExportBatchSize: batchMax,
    scheduledDelayMillis: delayMs,
    exportTimeoutMillis: exportTimeoutMs,
  });
  return {
    family: spanFamily(() => ({ exported, lost: losses.total() })),
    take(span: ReadableSpan): void {
      if (isClosed) losses.add(1, 'stopped');
      else if (waiting >= queueMax) losses.add(1, 'queue full');
      else {
        waiting++;
        processor.onEnd(span);
      }
    },
    /** Sends all waiting spans, and sends no span after `patienceMs`. `close` never rejects. */
    async close(patienceMs = PATIENCE_MS): Promise<void> {
      if (isClosed) return;
      isClosed = true;
      // A batch that is already being sent no longer belongs to the processor.
      const sent = processor.shutdown().then(() => Promise.all(sending.values()));
      await Promise.race([sent.catch(() => {}), Bun.sleep(patienceMs)]);
      let left = waiting;
      for (const { length } of sending.keys()) left += length;
      // The queue ignores results that arrive after `close` has cleared `sending`.
      sending.clear();
      if (left > 0) losses.add(left, 'not sent in time');
      losses.report();
    },
  };
}

/**
 * Returns a reason for lost spans that is safe to log. The error's own message may contain the address with its password, or a collector's
 * response.
 */
function whyLost(error: Error | undefined): string {
  const code = error && 'code' in error ? error.code : undefined;
  if (typeof code === 'number') return `HTTP ${code}`;
  if (typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code)) return code;
  return error && /time(?:d )?out/i.test(error.message) ? 'timeout' : 'unavailable';
}
