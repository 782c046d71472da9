import { tracingSettings } from './settings.ts';
import type { Tracer, TracerOptions } from './start.ts';

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
