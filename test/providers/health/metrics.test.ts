import { describe, expect, test } from 'bun:test';
import { HEALTH } from '../../../src/core/decision/readings.ts';
import { metricsPage } from '../../../src/host/telemetry/page.ts';
import { endpointFamilies } from '../../../src/providers/health/metrics.ts';
import { model, snapshot } from '../../routing/build.ts';
import { readPage, seriesName, total } from '../../support/prometheus.ts';
import { AUTH, begun, FIRST, FORCED, fail, fakeHealth, limited, RETRY, SERVER } from './support.ts';

function served(ids: readonly string[]) {
  const fake = fakeHealth();
  const models = snapshot(ids.map((id) => model(id)));
  fake.health.watch(models);
  const page = metricsPage(endpointFamilies(() => fake.health.samples()));
  /** Returns the figure of the endpoint `m`; undefined if there is no such series. */
  const figure = async (name: string, labels: Readonly<Record<string, string>> = {}) =>
    total(readPage(await page()), name, { provider: 'p', model: 'm', upstream: 'm', ...labels }) ?? undefined;
  const states = async () => readPage(await page()).get('signalbox_endpoint_state')!.samples;
  return { ...fake, figure, states };
}

describe('metrics of endpoints', () => {
  test('show the state of each endpoint', async () => {
    const { health, figure, states, time } = served(['m']);
    const stateNow = async () => (await states()).filter(({ value }) => value === 1).map(({ labels }) => labels.state);
    const endpoint = health.endpoint('p', 'm', 'm');
    expect(await stateNow()).toEqual(['healthy']);
    expect(await figure('signalbox_endpoint_state', { state: 'ejected' })).toBe(0);
    fail(endpoint, 5);
    expect(await stateNow()).toEqual(['ejected']);
    time.now = 60_000;
    // The state is unknown until an attempt.
    expect(await stateNow()).toEqual(['ejected']);
    begun(endpoint).answered(100);
    expect(await stateNow()).toEqual(['healthy']);
    fail(endpoint, 1, limited());
    expect(await stateNow()).toEqual(['cooling']);
    time.now = 62_000;
    health.publish();
    fail(endpoint, 1, AUTH);
    expect(await stateNow()).toEqual(['misconfigured']);
  });

  test('count attempts by outcome, retries and ejections', async () => {
    const { health, figure } = served(['m']);
    const endpoint = health.endpoint('p', 'm', 'm');
    begun(endpoint).completed(0, 0, null);
    begun(endpoint).dropped();
    fail(endpoint, 1, { kind: 'timeout', message: 'late' });
    for (let i = 0; i < 3; i++) begun(endpoint, RETRY).failed(SERVER, true);
    expect(endpoint.begin(RETRY)).toBe('no-budget');
    fail(endpoint);
    expect(endpoint.begin(FIRST)).toBe('shut');
    begun(endpoint, FORCED).failed(SERVER, true);
    const attempts = (outcome: string) => figure('signalbox_attempts_total', { outcome });
    expect(await Promise.all(['ok', 'dropped', 'timeout', 'server'].map(attempts))).toEqual([1, 1, 1, 5]);
    expect(await attempts('auth')).toBeUndefined();
    expect(await figure('signalbox_retries_total')).toBe(3);
    expect(await figure('signalbox_retries_denied_total')).toBe(1);
    expect(await figure('signalbox_ejections_total')).toBe(1);
  });

  test('show measurements, and nothing if there are none', async () => {
    const { health, figure } = served(['m']);
    const ttft = (percentile: string) => figure('signalbox_endpoint_ttft_seconds', { percentile });
    const warm = () => figure('signalbox_endpoint_warm_ttft_seconds', { percentile: '50' });
    const rate = () => figure('signalbox_endpoint_output_tokens_per_second', { percentile: '50' });
    expect([await ttft('50'), await ttft('90'), await rate()]).toEqual([undefined, undefined, undefined]);
    for (let i = 0; i < 100; i++) {
      const trial = begun(health.endpoint('p', 'm', 'm'));
      trial.answered(i < 80 ? 100 : 5_000);
      trial.completed(100, 2_000, null);
    }
    expect(await ttft('50')).toBeWithin(0.093, 0.108);
    expect(await ttft('90')).toBeWithin(4.65, 5.4);
    expect(await rate()).toBeWithin(46, 54);
    expect(await warm()).toBeUndefined();
    const trial = begun(health.endpoint('p', 'm', 'm'));
    trial.answered(30);
    trial.completed(100, 2_000, null, true);
    expect(await warm()).toBeWithin(0.028, 0.032);
  });

  test('have one line per series, for any names, and only for the active policy', async () => {
    const models = ['m', 'with "quotes"', 'back\\slash', 'two\nlines'];
    const { health, states } = served(models);
    health.endpoint('p', 'm', 'stranger');
    const all = await states();
    expect(new Set(all.map(({ labels }) => labels.model))).toEqual(new Set(models));
    expect(new Set(all.map(seriesName)).size).toBe(models.length * Object.keys(HEALTH).length);
  });
});
