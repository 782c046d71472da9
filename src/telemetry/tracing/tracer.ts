import type { Family } from '../families.ts';
import type { Log } from '../log.ts';
import type { Trace } from '../trace.ts';
import { tracingSettings } from './settings.ts';

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

/**
 * Opens the tracer; null without a collector, in which case OpenTelemetry is not loaded.
 * @throws TracingSettingError, whose message names the variable
 */
export async function openTracer(options: TracerOptions): Promise<Tracer | null> {
  const settings = tracingSettings(options.env);
  if (!settings) return null;
  const { startTracing } = await import('./start.ts');
  return startTracing(settings, options);
}
