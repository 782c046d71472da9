import type { Family } from '../families.ts';
import type { Log } from '../log.ts';
import type { Trace } from '../trace.ts';
import { tracingSettings } from './settings.ts';

export interface Tracer {
  /** A request has come, with these headers. */
  begin(headers: Headers): Trace;
  readonly families: readonly Family[];
  /**
   * Sends what waits, within the patience (ms, 5 s if left out), and no more after it. Never rejects.
   */
  close(patienceMs?: number): Promise<void>;
}

export interface TracerOptions {
  /** The process's environment: OpenTelemetry's exporters read headers, compression and certificates from there themselves. */
  env(name: string): string | undefined;
  /** Of Signalbox. */
  readonly version: string;
  readonly log: Log;
  /** Milliseconds on a clock that never goes back; `performance.now` if left out. */
  readonly clock?: () => number;
  /** Unix time, ms; `Date.now` if left out. */
  readonly now?: () => number;
}

/**
 * Null where no collector is named: then nothing of OpenTelemetry is loaded. Rejects with TracingSettingError, whose
 * message says which variable is wrong.
 */
export async function openTracer(options: TracerOptions): Promise<Tracer | null> {
  const settings = tracingSettings(options.env);
  if (!settings) return null;
  const { startTracing } = await import('./start.ts');
  return startTracing(settings, options);
}
