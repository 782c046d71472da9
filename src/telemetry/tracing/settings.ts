/** OpenTelemetry's variables, except those its exporters read themselves (headers, compression, certificates). */
export interface TracingSettings {
  /** The address of the collector. May contain a password. */
  readonly url: string;
  readonly protocol: 'http/protobuf' | 'http/json';
  readonly sampling: Sampling;
  /** Whether to join callers' traces and propagate the context to providers. */
  readonly propagates: boolean;
  /** Milliseconds; undefined for the library's default, as all below. */
  readonly timeoutMs: number | undefined;
  /** Milliseconds. */
  readonly delayMs: number | undefined;
  /** Milliseconds. */
  readonly exportTimeoutMs: number | undefined;
  /** Spans. */
  readonly queueMax: number | undefined;
  /** Spans. */
  readonly batchMax: number | undefined;
}

export interface Sampling {
  /** Whether the caller's decision, if there is one, applies. */
  readonly byParent: boolean;
  /** The share of other traces to sample, 0..1. */
  readonly ratio: number;
}

type Environment = (name: string) => string | undefined;

/** A variable has an invalid value. The message is one sentence for the operator. */
export class TracingSettingError extends Error {}

const PROPAGATORS = ['tracecontext', 'baggage', 'none'];
const SAMPLERS = ['always_on', 'always_off', 'traceidratio'];

/**
 * Null if tracing is off.
 * @throws TracingSettingError
 */
export function tracingSettings(env: Environment): TracingSettings | null {
  // An empty variable counts as unset.
  const read = (...names: readonly string[]): readonly [name: string, value: string] | null => {
    for (const name of names) {
      const value = env(name)?.trim();
      if (value) return [name, value];
    }
    return null;
  };
  const own = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const shared = read('OTEL_EXPORTER_OTLP_ENDPOINT');
  const endpoint = own ?? shared;
  if (!endpoint || read('OTEL_SDK_DISABLED')?.[1].toLowerCase() === 'true') return null;
  const exporter = read('OTEL_TRACES_EXPORTER');
  if (exporter?.[1] === 'none') return null;
  if (exporter && exporter[1] !== 'otlp') throw settingError(exporter, '“otlp” and “none” are known');
  const count = (...names: readonly string[]) => countOf(read(...names));
  return {
    url: urlOf(endpoint, own === null),
    protocol: protocolOf(read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL')),
    sampling: samplingOf(read('OTEL_TRACES_SAMPLER'), read('OTEL_TRACES_SAMPLER_ARG')),
    propagates: propagatesOf(read('OTEL_PROPAGATORS')),
    timeoutMs: count('OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'),
    delayMs: count('OTEL_BSP_SCHEDULE_DELAY'),
    exportTimeoutMs: count('OTEL_BSP_EXPORT_TIMEOUT'),
    queueMax: count('OTEL_BSP_MAX_QUEUE_SIZE'),
    batchMax: count('OTEL_BSP_MAX_EXPORT_BATCH_SIZE'),
  };
}

type Setting = readonly [name: string, value: string];

const settingError = ([name, value]: Setting, right: string): TracingSettingError =>
  new TracingSettingError(`${name} is “${value}”: ${right}.`);

/** Appends the path of traces to the address for all signals; an address for traces alone stays as it is. */
function urlOf([name, value]: Setting, isShared: boolean): string {
  const whole = isShared ? `${value}${value.endsWith('/') ? '' : '/'}v1/traces` : value;
  const url = URL.parse(whole);
  // The message omits the address, which may contain a password.
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href;
  throw new TracingSettingError(`${name} must be an http or https address, such as http://127.0.0.1:4318.`);
}

function protocolOf(setting: Setting | null): TracingSettings['protocol'] {
  if (setting === null) return 'http/protobuf';
  const [, value] = setting;
  if (value === 'http/protobuf' || value === 'http/json') return value;
  throw settingError(setting, 'traces are sent by “http/protobuf” or “http/json”, which collectors take at port 4318');
}

/** Accepts baggage, which is in OpenTelemetry's default, although it is never propagated. */
function propagatesOf(setting: Setting | null): boolean {
  if (setting === null) return true;
  const names = setting[1].split(',').map((name) => name.trim());
  if (!names.every((name) => PROPAGATORS.includes(name)))
    throw settingError(setting, '“tracecontext” and “none” are known');
  return names.includes('tracecontext');
}

function samplingOf(sampler: Setting | null, argument: Setting | null): Sampling {
  if (sampler === null) return { byParent: true, ratio: 1 };
  const byParent = sampler[1].startsWith('parentbased_');
  const kind = byParent ? sampler[1].slice('parentbased_'.length) : sampler[1];
  if (!SAMPLERS.includes(kind)) {
    throw settingError(sampler, `${SAMPLERS.join(', ')} and the same with “parentbased_” before them are known`);
  }
  if (kind !== 'traceidratio') return { byParent, ratio: kind === 'always_on' ? 1 : 0 };
  if (argument === null) return { byParent, ratio: 1 };
  const ratio = Number(argument[1]);
  if (!(ratio >= 0 && ratio <= 1)) throw settingError(argument, 'it must be a share from 0 to 1, such as 0.1');
  return { byParent, ratio };
}

function countOf(setting: Setting | null): number | undefined {
  if (setting === null) return undefined;
  const count = Number(setting[1]);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw settingError(setting, 'it must be a whole number above 0');
}

/** The credentials for the collector: the values of its headers, which no output may show. */
export function collectorSecrets(env: Environment): string[] {
  const headers = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'].map((name) => env(name) ?? '');
  const values = headers.flatMap((pairs) => pairs.split(',')).map((pair) => pair.slice(pair.indexOf('=') + 1).trim());
  const plain = values.map((value) =>
    value.replace(/%([0-9a-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
  );
  // Such as the token after `Bearer`.
  return [...values, ...plain].flatMap((value) => value.split(' '));
}
