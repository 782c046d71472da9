import { createTraceState, ROOT_CONTEXT } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace';
import type { Family } from '../families.ts';
import type { Log } from '../log.ts';
import type { Trace } from '../trace.ts';
import { parseContext, type TraceContext } from './context.ts';
import { CountedExporter, ExportMonitor } from './exporter.ts';
import { newTraceId } from './ids.ts';
import { SampledTrace, type SampledTraceOptions, UnsampledTrace } from './request-trace.ts';
import type { Sampling, TracingSettings } from './settings.ts';
import { FinishedSpan, type SpanOrigin } from './span.ts';

export interface Tracer {
  /** Starts the trace of a request with these headers. */
  begin(headers: Headers): Trace;
  readonly families: readonly Family[];
  /**
   * Sends the waiting spans, and none after the patience. Never rejects.
   * @param patienceMs 5 s by default
   */
  close(patienceMs?: number): Promise<void>;
}

export interface TracerOptions {
  /** Access to the environment of the process. OpenTelemetry's exporters also read it directly. */
  env(name: string): string | undefined;
  /** The version of Signalbox. */
  readonly version: string;
  readonly log: Log;
  /** Milliseconds on a monotonic clock; `performance.now` by default. */
  readonly clock?: () => number;
  /** Unix time, ms; `Date.now` by default. */
  readonly now?: () => number;
}

/** OpenTelemetry's default size of the queue, in spans. */
const QUEUE_MAX = 2_048;
/** OpenTelemetry's default timeout of a batch. */
const TIMEOUT_MS = 10_000;
/** A greater difference means that the system clock was set, or the machine slept. */
const DRIFT_MS_MAX = 20;
const PATIENCE_MS = 5_000;

/** The only file that loads OpenTelemetry. */
export function startTracing(settings: TracingSettings, options: TracerOptions): Tracer {
  const { clock = () => performance.now(), now = Date.now, log, version } = options;
  const monitor = new ExportMonitor(log, clock);
  const queue = new SpanQueue(settings, monitor);
  const origin: SpanOrigin = { resource: resourceOf(options), scope: { name: 'signalbox', version } };
  const take: SampledTraceOptions['take'] = (span) => queue.take(new FinishedSpan(span, origin));
  const isSampled = samplerOf(settings.sampling);
  const { propagates } = settings;
  let originMs = options.clock ? now() - clock() : performance.timeOrigin;
  return {
    begin(headers: Headers): Trace {
      const parent = propagates ? parseContext(headers) : null;
      const traceId = parent?.traceId ?? newTraceId();
      if (!isSampled(traceId, parent)) return new UnsampledTrace(traceId, parent, propagates);
      const drift = now() - clock() - originMs;
      if (Math.abs(drift) > DRIFT_MS_MAX) originMs += drift;
      const state = parent?.state ? createTraceState(parent.state) : undefined;
      return new SampledTrace(traceId, parent, { clock, originMs, state, propagates, take });
    },
    families: [monitor.family],
    close: (patienceMs = PATIENCE_MS) => queue.close(patienceMs),
  };
}

function samplerOf({ byParent, ratio }: Sampling): (traceId: string, parent: TraceContext | null) => boolean {
  const sampler = new TraceIdRatioBasedSampler(ratio);
  return (traceId, parent) => {
    if (byParent && parent) return parent.isSampled;
    return ratio === 1 || sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
  };
}

/** The description of this server. The operator's variables take precedence. */
function resourceOf({ env, version, log }: { env: TracerOptions['env']; version: string; log: Log }): Resource {
  const named = detectResources({ detectors: [envDetector] });
  const stated = env('OTEL_RESOURCE_ATTRIBUTES')?.trim();
  const isRead = Object.keys(named.attributes).some((name) => stated?.includes(name));
  // The detector drops invalid attributes silently.
  if (stated && !isRead) log.warn('OTEL_RESOURCE_ATTRIBUTES is ignored: its form must be name=value,name=value');
  const own = resourceFromAttributes({
    'service.name': 'signalbox',
    'service.version': version,
    'service.instance.id': crypto.randomUUID(),
  });
  return defaultResource().merge(own).merge(named);
}

/** Sends finished spans to the collector in batches, from a bounded queue. */
class SpanQueue {
  readonly #monitor: ExportMonitor;
  readonly #exporter: CountedExporter;
  readonly #processor: BatchSpanProcessor;
  readonly #queueMax: number;
  /** Spans in the processor's queue. Counted here, because it drops excess spans silently. */
  #waiting = 0;
  #isClosed = false;

  constructor({ url, protocol, timeoutMs, ...settings }: TracingSettings, monitor: ExportMonitor) {
    const Exporter = protocol === 'http/json' ? JsonExporter : ProtobufExporter;
    this.#monitor = monitor;
    const exporter = new Exporter({ url, timeoutMillis: timeoutMs, headers: { 'accept-encoding': 'identity' } });
    this.#exporter = new CountedExporter(exporter, monitor, timeoutMs ?? TIMEOUT_MS, (count) => {
      this.#waiting -= count;
    });
    this.#queueMax = settings.queueMax ?? QUEUE_MAX;
    this.#processor = new BatchSpanProcessor({
      exporter: this.#exporter,
      maxQueueSize: this.#queueMax,
      maxExportBatchSize: settings.batchMax,
      scheduledDelayMillis: settings.delayMs,
      exportTimeoutMillis: settings.exportTimeoutMs,
    });
  }

  take(span: FinishedSpan): void {
    if (this.#isClosed) this.#monitor.lost(1, 'stopped');
    else if (this.#waiting >= this.#queueMax) this.#monitor.lost(1, 'queue full');
    else {
      this.#waiting++;
      this.#processor.onEnd(span);
    }
  }

  async close(patienceMs: number): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.race([this.#sendAll(), Bun.sleep(patienceMs)]);
    this.#exporter.close();
    const left = this.#waiting + this.#exporter.pending;
    if (left > 0) this.#monitor.lost(left, 'not sent in time');
    this.#monitor.report();
  }

  /** Never rejects; failures are counted already. */
  async #sendAll(): Promise<void> {
    // The processor abandons the exporter after a failed batch, while other batches may be in progress.
    await this.#processor.shutdown().catch(() => {});
    await this.#exporter.shutdown().catch(() => {});
  }
}
