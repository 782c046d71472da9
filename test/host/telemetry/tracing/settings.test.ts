import { describe, expect, test } from 'bun:test';
import { UsageError } from '../../../../src/core/usage-error.ts';
import { tracingSettings } from '../../../../src/host/telemetry/tracing/settings.ts';

const ENDPOINT = 'http://127.0.0.1:4318';
const read = (env: Readonly<Record<string, string>>) => tracingSettings((name) => env[name]);
const withEndpoint = (env: Readonly<Record<string, string>>) => read({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, ...env });

describe('tracing is off', () => {
  test.each<[string, Record<string, string>]>([
    ['if no collector is named', {}],
    ['if the collector’s address is empty', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    ['if OpenTelemetry is turned off', { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }],
    ['if traces are turned off', { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
  ])('%s', (_, env) => {
    expect(read(env)).toBeNull();
  });
});

describe('the address of the collector', () => {
  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }, `${ENDPOINT}/v1/traces`],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: `${ENDPOINT}/` }, `${ENDPOINT}/v1/traces`],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: `${ENDPOINT}/otlp` }, `${ENDPOINT}/otlp/v1/traces`],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${ENDPOINT}/here` }, `${ENDPOINT}/here`],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://b' }, 'https://b/'],
  ])('the address for traces of %j is %s', (env, url) => {
    expect(read(env)?.url).toBe(url);
  });
});

describe('an invalid value', () => {
  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', '127.0.0.1'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'grpc://localhost:4317'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'thrift'],
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER', 'parentbased_sometimes'],
    ['OTEL_PROPAGATORS', 'b3'],
    ['OTEL_PROPAGATORS', 'tracecontext,jaeger'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '-1'],
    ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '1.5'],
    ['OTEL_BSP_SCHEDULE_DELAY', 'soon'],
    ['OTEL_BSP_EXPORT_TIMEOUT', '0'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s'],
  ])('the invalid value of %s (%s) is reported in one sentence with the variable’s name', (name, value) => {
    expect(() => withEndpoint({ [name]: value })).toThrow(UsageError);
    expect(() => withEndpoint({ [name]: value })).toThrow(new RegExp(`^${name} [^\n]+\\.$`));
  });

  test.each(['-0.1', '1.1', 'half', 'NaN'])(
    'an invalid sampling ratio (%s) is reported if the sampler uses it',
    (share) => {
      const env = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: share };
      expect(() => withEndpoint(env)).toThrow(/^OTEL_TRACES_SAMPLER_ARG /);
      expect(withEndpoint({ ...env, OTEL_TRACES_SAMPLER: 'always_on' })?.sampling.ratio).toBe(1);
    },
  );

  test('the error about an address does not repeat it, because it may contain a password', () => {
    expect(() => withEndpoint({ OTEL_EXPORTER_OTLP_ENDPOINT: 'ftp://me:hush@there' })).not.toThrow(/hush/);
  });
});
