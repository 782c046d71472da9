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
import type { Log } from '../log.ts';
import type { Trace } from '../trace.ts';
import { parseContext, type TraceContext } from './context.ts';
import { newTraceId } from './ids.ts';
import { CountedExporter, Outlet } from './outlet.ts';
import { type Sampled, SampledTrace, UnsampledTrace } from './request-trace.ts';
import type { Sampling, TracingSettings } from './settings.ts';
import { FinishedSpan, type Origin } from './span.ts';
import type { Tracer, TracerOptions } from './tracer.ts';

/** What OpenTelemetry says for a queue where nothing is set, spans. */
const QUEUE_MAX = 2_048;
/** What it says for one batch. */
const TIMEOUT_MS = 10_000;
/** The system's clock may have been set, or the machine have slept, when ours is off by more than this. */
const DRIFT_MS_MAX = 20;
const PATIENCE_MS = 5_000;

/** The one file that loads OpenTelemetry. */
export function startTracing(settings: TracingSettings, options: TracerOptions): Tracer {
  const { clock = () => performance.now(), now = Date.now, log, version } = options;
  const outlet = new Outlet(log, clock);
  const pipe = new Pipe(settings, outlet);
  const origin: Origin = { resource: resourceOf(options), scope: { name: 'signalbox', version } };
  const take: Sampled['take'] = (span) => pipe.take(new FinishedSpan(span, origin));
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
    families: [outlet.family],
    close: (patienceMs = PATIENCE_MS) => pipe.close(patienceMs),
  };
}

function samplerOf({ byParent, ratio }: Sampling): (traceId: string, parent: TraceContext | null) => boolean {
  const sampler = new TraceIdRatioBasedSampler(ratio);
  return (traceId, parent) => {
    if (byParent && parent) return parent.isSampled;
    return ratio === 1 || sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
  };
}

/** Who sends it. What the operator's variables say goes before all else. */
function resourceOf({ env, version, log }: { env: TracerOptions['env']; version: string; log: Log }): Resource {
  const named = detectResources({ detectors: [envDetector] });
  const stated = env('OTEL_RESOURCE_ATTRIBUTES')?.trim();
  const isRead = Object.keys(named.attributes).some((name) => stated?.includes(name));
  // The detector leaves it out without a word.
  if (stated && !isRead) log.warn('OTEL_RESOURCE_ATTRIBUTES is left out: it must be name=value,name=value');
  const own = resourceFromAttributes({
    'service.name': 'signalbox',
    'service.version': version,
    'service.instance.id': crypto.randomUUID(),
  });
  return defaultResource().merge(own).merge(named);
}

/** From spans that have ended to the collector: a bounded queue, sent in batches. */
class Pipe {
  readonly #outlet: Outlet;
  readonly #exporter: CountedExporter;
  readonly #processor: BatchSpanProcessor;
  readonly #queueMax: number;
  /** Spans in the processor's queue. It drops what does not fit without a word, so they are counted here. */
  #waiting = 0;
  #isClosed = false;

  constructor({ url, protocol, timeoutMs, ...settings }: TracingSettings, outlet: Outlet) {
    const Exporter = protocol === 'http/json' ? JsonExporter : ProtobufExporter;
    this.#outlet = outlet;
    const exporter = new Exporter({ url, timeoutMillis: timeoutMs, headers: { 'accept-encoding': 'identity' } });
    this.#exporter = new CountedExporter(exporter, outlet, timeoutMs ?? TIMEOUT_MS, (count) => {
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
    if (this.#isClosed) this.#outlet.lost(1, 'stopped');
    else if (this.#waiting >= this.#queueMax) this.#outlet.lost(1, 'queue full');
    else {
      this.#waiting++;
      this.#processor.onEnd(span);
    }
  }

  async close(patienceMs: number): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, patienceMs);
    });
    await Promise.race([this.#sendAll(), late]);
    clearTimeout(timer);
    this.#exporter.close();
    const left = this.#waiting + this.#exporter.pending;
    if (left > 0) this.#outlet.lost(left, 'not sent in time');
    this.#outlet.tell();
  }

  /** Never rejects: what failed is counted by then. */
  async #sendAll(): Promise<void> {
    // It gives up the exporter with the first batch that fails, while others may be under way.
    await this.#processor.shutdown().catch(() => {});
    await this.#exporter.shutdown().catch(() => {});
  }
}
