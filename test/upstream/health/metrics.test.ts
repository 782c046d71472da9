import { describe, expect, test } from 'bun:test';
import { endpointMetrics } from '../../../src/http/endpoint-metrics.ts';
import { model, snapshot } from '../../routing/build.ts';
import { AUTH, begun, FIRST, FORCED, fail, fakeHealth, limited, RETRY, SERVER } from './support.ts';

function served(ids: readonly string[]) {
  const fake = fakeHealth();
  const models = snapshot(ids.map((id) => model(id)));
  fake.health.watch(models);
  const page = () =>
    new Map(
      endpointMetrics(fake.health.samples())
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
        .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))] as const),
    );
  return { ...fake, page };
}

const named = (name: string, more = '') => `${name}{provider="p",model="m",upstream="m"${more}}`;

describe('metrics of endpoints', () => {
  test('say which state each is in', () => {
    const { health, page, time } = served(['m']);
    const states = () =>
      [...page()].filter(([name, value]) => name.startsWith('signalbox_endpoint_state') && value === 1);
    const expectState = (state: string) =>
      expect(states()).toEqual([[named('signalbox_endpoint_state', `,state="${state}"`), 1]]);
    const endpoint = health.endpoint('p', 'm', 'm');
    expectState('healthy');
    expect(page().get(named('signalbox_endpoint_state', ',state="ejected"'))).toBe(0);
    fail(endpoint, 5);
    expectState('ejected');
    time.now = 60_000;
    // Until somebody has tried, nobody knows.
    expectState('ejected');
    begun(endpoint).answered(100);
    expectState('healthy');
    fail(endpoint, 1, limited());
    expectState('cooling');
    time.now = 62_000;
    health.publish();
    fail(endpoint, 1, AUTH);
    expectState('misconfigured');
  });

  test('count attempts by how they ended, retries and ejections', () => {
    const { health, page } = served(['m']);
    const endpoint = health.endpoint('p', 'm', 'm');
    begun(endpoint).completed(0, 0, null);
    begun(endpoint).dropped();
    fail(endpoint, 1, { kind: 'timeout', message: 'late' });
    for (let i = 0; i < 3; i++) begun(endpoint, RETRY).failed(SERVER, true);
    expect(endpoint.begin(RETRY)).toBe('no-budget');
    fail(endpoint);
    expect(endpoint.begin(FIRST)).toBe('shut');
    begun(endpoint, FORCED).failed(SERVER, true);
    const counts = page();
    const attempts = (outcome: string) => counts.get(named('signalbox_attempts_total', `,outcome="${outcome}"`));
    expect([attempts('ok'), attempts('dropped'), attempts('timeout'), attempts('server')]).toEqual([1, 1, 1, 5]);
    expect(attempts('auth')).toBeUndefined();
    expect(counts.get(named('signalbox_retries_total'))).toBe(3);
    expect(counts.get(named('signalbox_retries_denied_total'))).toBe(1);
    expect(counts.get(named('signalbox_ejections_total'))).toBe(1);
  });

  test('show what was measured, and nothing where nothing was', () => {
    const { health, page } = served(['m']);
    const ttft = (quantile: string) => page().get(named('signalbox_endpoint_ttft_ms', `,quantile="${quantile}"`));
    const rate = () => page().get(named('signalbox_endpoint_output_tokens_per_second', ',quantile="0.5"'));
    expect([ttft('0.5'), ttft('0.9'), rate()]).toEqual([undefined, undefined, undefined]);
    for (let i = 0; i < 100; i++) {
      const trial = begun(health.endpoint('p', 'm', 'm'));
      trial.answered(i < 80 ? 100 : 5_000);
      trial.completed(100, 2_000, null);
    }
    expect(ttft('0.5')).toBeWithin(93, 108);
    expect(ttft('0.9')).toBeWithin(4_650, 5_400);
    expect(rate()).toBeWithin(46, 54);
    const warm = named('signalbox_endpoint_warm_ttft_ms', ',quantile="0.5"');
    expect(page().get(warm)).toBeUndefined();
    const trial = begun(health.endpoint('p', 'm', 'm'));
    trial.answered(30);
    trial.completed(100, 2_000, null, true);
    expect(page().get(warm)).toBeWithin(28, 32);
  });

  test('have one line a series, whatever names there are, and only those of the policy in force', () => {
    const { health, page } = served(['m', 'with "quotes"', 'back\\slash', 'two\nlines']);
    health.endpoint('p', 'm', 'stranger');
    const states = [...page().keys()].filter((name) => name.startsWith('signalbox_endpoint_state'));
    expect(states).toHaveLength(16);
    for (const series of states) {
      expect(series).toMatch(
        /^signalbox_endpoint_state\{provider="p",model="(?:[^"\\\n]|\\["\\n])+",upstream="(?:[^"\\\n]|\\["\\n])+",state="[a-z]+"\}$/,
      );
      expect(series).not.toContain('stranger');
    }
    const lines = endpointMetrics(health.samples()).split('\n');
    expect(new Set(lines).size).toBe(lines.length);
  });
});
