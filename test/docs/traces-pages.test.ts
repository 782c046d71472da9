import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { openTracer } from '../../src/host/telemetry/tracing/tracer.ts';
import { type Collector, startCollector } from '../support/otlp.ts';
import { blocksOf } from '../support/page-blocks.ts';
import { documentedFamilies } from './metrics-page.ts';

interface Service {
  readonly page: string;
  /** Host and path that the page names, without `/v1/traces`. */
  readonly origin: string;
  readonly path: string;
  /** Variables whose examples the test replaces with credentials. */
  readonly credentials: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
// The first bytes make `+` and `/` appear in base64, and the lengths make padding appear.
const SECRET = 'x~~~???>>>-a-long-secret-that-base64-would-break-into-two-lines-of-76-characters~';

const SERVICES: readonly Service[] = [
  {
    page: 'traces-langfuse',
    origin: 'https://cloud.langfuse.com',
    path: '/api/public/otel',
    credentials: { LANGFUSE_PUBLIC_KEY: 'pk-lf-1', LANGFUSE_SECRET_KEY: SECRET },
    headers: { authorization: basic('pk-lf-1', SECRET), 'x-langfuse-ingestion-version': '4' },
  },
  {
    page: 'traces-grafana-cloud',
    origin: 'https://otlp-gateway-prod-eu-west-2.grafana.net',
    path: '/otlp',
    credentials: { GRAFANA_INSTANCE_ID: '42', GRAFANA_TOKEN: SECRET },
    headers: { authorization: basic('42', SECRET) },
  },
  { page: 'traces-datadog', origin: 'http://localhost:4318', path: '', credentials: {}, headers: {} },
];

const blocks = (page: string, word: string) =>
  blocksOf(`docs/operate/${page}.md`).filter(({ words }) => words.includes(word));

/** Runs the page's commands with other credentials. @returns the OpenTelemetry variables that `npm start` gets */
function environmentOf({ page, credentials }: Service): Record<string, string> {
  const [{ text = '' } = {}] = blocks(page, 'example');
  const commands = Object.entries(credentials).reduce(
    (all, [name, value]) => all.replace(new RegExp(`^(export ${name}=).*$`, 'm'), `$1'${value}'`),
    text,
  );
  const { stdout, exitCode } = Bun.spawnSync(['bash', '-euc', `npm() { env -0; }\n${commands}`], {
    env: { PATH: process.env.PATH },
  });
  expect(exitCode).toBe(0);
  const variables = stdout
    .toString()
    .split('\0')
    .filter((line) => line.startsWith('OTEL_'));
  return Object.fromEntries(
    variables.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

let collector: Collector;
beforeEach(() => {
  collector = startCollector();
});
afterEach(() => collector.stop());

/** Sends one span with these variables, to the collector in place of the service. */
async function send({ origin }: Service, stated: Readonly<Record<string, string>>): Promise<void> {
  const env = new Map(Object.entries(stated).map(([name, value]) => [name, value.replace(origin, collector.url)]));
  const log = { info() {}, warn() {}, error() {} };
  const tracer = await openTracer({ env: (name) => env.get(name), version: '1.2.3', log });
  if (!tracer) throw new Error('The page does not turn on traces.');
  tracer.begin(new Headers()).end({ name: 'request', attributes: {}, error: null });
  await tracer.close();
}

function expectArrived({ path, headers }: Service): void {
  expect(collector.spans.map(({ name }) => name)).toEqual(['request']);
  expect(collector.requests.map((request) => request.path)).toEqual([`${path}/v1/traces`]);
  for (const name of ['authorization', ...Object.keys(headers)]) {
    expect(collector.requests[0]?.headers.get(name) ?? null).toBe(headers[name] ?? null);
  }
}

describe.each(SERVICES)('the commands of $page', (service) => {
  test('send traces to the path of the service, with its credentials', async () => {
    const env = environmentOf(service);
    expect(Object.values(env).some((value) => value.startsWith(service.origin))).toBe(true);
    await send(service, env);
    expectArrived(service);
  });
});

test('a space in a header may be written as %20', async () => {
  const service = SERVICES.find(({ page }) => page === 'traces-grafana-cloud')!;
  const { OTEL_EXPORTER_OTLP_HEADERS = '', ...others } = environmentOf(service);
  expect(OTEL_EXPORTER_OTLP_HEADERS).toContain('Basic ');
  await send(service, { ...others, OTEL_EXPORTER_OTLP_HEADERS: OTEL_EXPORTER_OTLP_HEADERS.replace(' ', '%20') });
  expectArrived(service);
});

test('Datadog’s Agent reads metrics that exist', () => {
  const [{ text = '' } = {}] = blocks('traces-datadog', 'check');
  const { instances } = Bun.YAML.parse(text) as { instances: { raw_metric_prefix: string; metrics: string[] }[] };
  const [{ raw_metric_prefix = '', metrics = [] } = {}] = instances;
  const known = documentedFamilies.map(({ name }) => name.replace(/_total$/, ''));
  expect(metrics).not.toBeEmpty();
  expect(metrics.filter((name) => !known.includes(`${raw_metric_prefix}${name}`))).toEqual([]);
});
