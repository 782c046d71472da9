import { UsageError } from '../../../core/usage-error.ts';

type Environment = (name: string) => string | undefined;

/** OpenTelemetry's variables, except the variables that its exporters read themselves (headers, compression, certificates). */
export type TracingSettings = NonNullable<ReturnType<typeof tracingSettings>>;

const PROPAGATORS = ['tracecontext', 'baggage', 'none'];
const SAMPLERS = ['always_on', 'always_off', 'traceidratio'];

/**
 * Reads OpenTelemetry's variables. `tracingSettings` returns null if tracing is off. The defaults of these settings are OpenTelemetry's
 * own.
 * @throws UsageError that names the variable
 */
export function tracingSettings(env: Environment) {
  // An empty variable counts as unset.
  const read = (...names: readonly string[]): Setting | null => {
    for (const name of names) {
      const value = env(name)?.trim();
      if (value) return [name, value];
    }
    return null;
  };
  const count = (preset: number, ...names: readonly string[]) => countOf(read(...names), preset);
  const endpoint = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', SHARED_ENDPOINT);
  if (!endpoint || read('OTEL_SDK_DISABLED')?.[1].toLowerCase() === 'true') return null;
  if (oneOf(['otlp', 'none'], read('OTEL_TRACES_EXPORTER'), 'it must be “otlp” or “none”') === 'none') return null;
  return {
    /** The address of the collector. The address of the collector may contain a password. */
    url: urlOf(endpoint),
    protocol: oneOf(
      ['http/protobuf', 'http/json'],
      read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'),
      'it must be “http/protobuf” or “http/json”, which collectors accept on port 4318',
    ),
    sampling: samplingOf(read('OTEL_TRACES_SAMPLER'), read('OTEL_TRACES_SAMPLER_ARG')),
    /** Whether to join callers' traces and propagate the context to providers. */
    propagates: propagatesOf(read('OTEL_PROPAGATORS')),
    timeoutMs: count(10_000, 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'),
    delayMs: count(5_000, 'OTEL_BSP_SCHEDULE_DELAY'),
    exportTimeoutMs: count(30_000, 'OTEL_BSP_EXPORT_TIMEOUT'),
    /** The most spans that wait in the queue; `batchMax` also counts spans. */
    queueMax: count(2_048, 'OTEL_BSP_MAX_QUEUE_SIZE'),
    batchMax: count(512, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE'),
  };
}

type Setting = readonly [name: string, value: string];

const SHARED_ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT';

const settingError = ([name, value]: Setting, right: string): UsageError =>
  new UsageError(`${name} is “${value}”: ${right}.`);

/** Returns the first of the known values if the variable is not set. */
function oneOf<Known extends string>(
  known: readonly [Known, ...Known[]],
  setting: Setting | null,
  right: string,
): Known {
  if (setting === null) return known[0];
  const found = known.find((one) => one === setting[1]);
  if (found === undefined) throw settingError(setting, right);
  return found;
}

/**
 * Appends the path of traces to a collector address that serves all signals. A collector address that serves only traces stays as it is.
 */
function urlOf([name, value]: Setting): string {
  const whole = name === SHARED_ENDPOINT ? `${value}${value.endsWith('/') ? '' : '/'}v1/traces` : value;
  const url = URL.parse(whole);
  // The error does not show the address, because it may contain a password.
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href;
  throw new UsageError(`${name} must be an http or https address, such as http://127.0.0.1:4318.`);
}

/** `propagatesOf` also accepts baggage, which is in OpenTelemetry's default, although Signalbox never propagates baggage. */
function propagatesOf(setting: Setting | null): boolean {
  if (setting === null) return true;
  const names = setting[1].split(',').map((name) => name.trim());
  if (!names.every((name) => PROPAGATORS.includes(name)))
    throw settingError(setting, 'its values must be “tracecontext” or “none”');
  return names.includes('tracecontext');
}

/** Returns whether the caller's sampling decision applies if there is one, and the share of other traces to sample, 0..1. */
function samplingOf(sampler: Setting | null, argument: Setting | null): { byParent: boolean; ratio: number } {
  if (sampler === null) return { byParent: true, ratio: 1 };
  const kind = sampler[1].replace(/^parentbased_/, '');
  const byParent = kind !== sampler[1];
  if (!SAMPLERS.includes(kind)) {
    throw settingError(sampler, `it must be one of ${SAMPLERS.join(', ')}, with or without “parentbased_” before it`);
  }
  if (kind !== 'traceidratio' || argument === null) return { byParent, ratio: kind === 'always_off' ? 0 : 1 };
  const ratio = Number(argument[1]);
  if (!(ratio >= 0 && ratio <= 1)) throw settingError(argument, 'it must be a share from 0 to 1, such as 0.1');
  return { byParent, ratio };
}

function countOf(setting: Setting | null, preset: number): number {
  if (setting === null) return preset;
  const count = Number(setting[1]);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw settingError(setting, 'it must be a whole number above 0');
}

/** Returns the headers for the collector, `name=value,name=value`; a later value replaces an earlier one. */
export const collectorHeaders = (env: Environment): string =>
  ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'].map((name) => env(name) ?? '').join(',');

/** Returns the credentials for the collector: the values of its headers, which no output may show. */
export function collectorSecrets(env: Environment): string[] {
  const values = collectorHeaders(env)
    .split(',')
    .map((pair) => pair.slice(pair.indexOf('=') + 1).trim());
  const plain = values.map((value) =>
    value.replace(/%([0-9a-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
  );
  // Splits values at spaces, because a value such as `Bearer TOKEN` contains a token.
  return [...values, ...plain].flatMap((value) => value.split(' '));
}
