import { ROOT_CONTEXT, type SpanContext, TraceFlags } from '@opentelemetry/api';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace';
import type { Log } from '../log.ts';
import type { Trace } from '../trace.ts';
import { parseContext } from './context.ts';
import { TraceIds } from './ids.ts';
import { RequestTrace } from './request-trace.ts';
import type { TracingSettings } from './settings.ts';
import { spanQueue } from './span-queue.ts';

export type Tracer = ReturnType<typeof startTracing>;

export interface TracerOptions {
  /** Reads an environment variable. OpenTelemetry's exporters also read the environment directly. */
  env(name: string): string | undefined;
  /** The version of Signalbox. */
  readonly version: string;
  readonly log: Log;
  /** Milliseconds on a monotonic clock; `performance.now` by default. */
  readonly clock?: () => number;
  /** Unix time, ms; `Date.now` by default. */
  readonly now?: () => number;
}

/**
 * Loads OpenTelemetry and starts the tracer. Other files import this file only dynamically, so that the process loads OpenTelemetry only
 * when tracing is on.
 */
export function startTracing(settings: TracingSettings, options: TracerOptions) {
  const { clock = () => performance.now(), now = Date.now, env, log, version } = options;
  const { propagates, sampling } = settings;
  const { take, close, family } = spanQueue(settings, { env, log, clock });
  const scope = { name: 'signalbox', version };
  const ids = new TraceIds();
  const request = { clock, now, ids, propagates, take, resource: resourceOf(options), scope };
  const sampler = new TraceIdRatioBasedSampler(sampling.ratio);
  const isSampled = (traceId: string, parent: SpanContext | null): boolean =>
    sampling.byParent && parent
      ? (parent.traceFlags & TraceFlags.SAMPLED) !== 0
      : sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
  return {
    /** Starts the trace of a request with these headers. */
    begin(headers: Headers): Trace {
      const parent = propagates ? parseContext(headers) : null;
      const traceId = parent?.traceId ?? ids.newTraceId();
      return new RequestTrace(traceId, isSampled(traceId, parent), parent, request);
    },
    families: [family],
    close,
  };
}

/** Returns OpenTelemetry's description of this server. The operator's variables take precedence over Signalbox's description. */
function resourceOf({ env, version, log }: TracerOptions): Resource {
  const named = detectResources({ detectors: [envDetector] });
  const stated = env('OTEL_RESOURCE_ATTRIBUTES')?.trim();
  const isRead = Object.keys(named.attributes).some((name) => stated?.includes(name));
  // OpenTelemetry's detector drops invalid attributes silently, so Signalbox logs a warning.
  if (stated && !isRead) log.warn('OTEL_RESOURCE_ATTRIBUTES is ignored: its form must be name=value,name=value');
  const own = resourceFromAttributes({
    'service.name': 'signalbox',
    'service.version': version,
    'service.instance.id': crypto.randomUUID(),
  });
  return defaultResource().merge(own).merge(named);
}
