import { registerSecrets } from '../secrets.ts';
import { collectorSecrets, tracingSettings } from './settings.ts';
import type { Tracer, TracerOptions } from './start.ts';

/**
 * Opens the tracer; null if no collector is set, in which case OpenTelemetry is not loaded.
 * @throws UsageError that names the variable
 */
export async function openTracer(options: TracerOptions): Promise<Tracer | null> {
  registerSecrets(collectorSecrets(options.env));
  const settings = tracingSettings(options.env);
  if (!settings) return null;
  const { startTracing } = await import('./start.ts');
  return startTracing(settings, options);
}
