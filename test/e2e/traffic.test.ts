import { expect, test } from 'bun:test';
import type { Static } from '@sinclair/typebox';
import type { Traffic } from '../../src/admin/traffic.ts';
import type { AdminUsage } from '../../src/admin/usage.ts';
import { answerOf } from '../support/answers.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { chat, makeKey, PATIENCE, start, USAGE, upstream, useServers } from './ledger-support.ts';

/** Traffic in the admin API: requests, refunds and failures that a server has just handled. */
useServers();

async function traffic(box: Signalbox, query: string): Promise<Static<typeof Traffic>> {
  const response = await box.get(`/admin/traffic?${query}`);
  const body = (await response.json()) as Static<typeof Traffic>;
  expect([response.status, body]).toEqual([200, expect.anything()]);
  return body;
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);

test(
  'requests, charges and refunds are reported by every dimension at once, and agree with the ledger',
  async () => {
    const box = await start();
    const [one, two] = [await makeKey(box, '--label', 'env=live'), await makeKey(box)];
    upstream.behave(USAGE);
    const { decision_id } = (await answerOf(await chat(box, one.key))).platform;
    await answerOf(await chat(box, one.key));
    await answerOf(await chat(box, two.key));
    expect(await box.run('ledger', 'refund', decision_id, '0.1')).toMatchObject({ code: 0 });

    const { total, series, other, times, counting_since } = await traffic(box, 'by=key&step=minute');
    expect(series.map(({ value }) => value)).toEqual([one.id, two.id]);
    expect(series.map(({ whole }) => whole.requests)).toEqual([2, 1]);
    expect(series.map(({ whole }) => whole.credits)).toEqual([0.244, 0.172]);
    expect([total.whole.requests, total.whole.credits, other, counting_since]).toEqual([3, 0.416, null, null]);
    expect(times).toHaveLength(1_441);
    for (const { whole, buckets } of [total, ...series]) {
      expect(sum(buckets.requests)).toBe(whole.requests);
      expect(sum(buckets.credits)).toBeCloseTo(whole.credits, 6);
      expect(buckets.duration_p50_ms.filter((ms) => ms !== null).length).toBeGreaterThan(0);
    }
    for (const by of ['model', 'provider', 'team', 'user', 'task', 'status', 'label:none']) {
      const { series } = await traffic(box, `by=${by}`);
      expect([by, series.length, series[0]?.whole.requests, series[0]?.whole.credits]).toEqual([by, 1, 3, 0.416]);
    }
    const days = `from=${new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)}`;
    for (const by of ['user', 'label:env', 'key', 'team'] as const) {
      const { series, other } = await traffic(box, `by=${by}&${days}&step=day&points=false`);
      const { groups } = (await (await box.get(`/admin/usage?by=${by}&${days}`)).json()) as Static<typeof AdminUsage>;
      const booked = groups.map(({ group, credits }) => [group[by] ?? group[`${by}_id`] ?? '', credits]);
      expect([by, other, series.map(({ value, whole }) => [value, whole.credits]).sort()]).toEqual([
        by,
        null,
        booked.sort(),
      ]);
    }
    const models = await traffic(box, `by=model&key=${two.id}`);
    expect(models.series.map(({ value, whole }) => [value, whole.credits])).toEqual([['best', 0.172]]);
    expect(models.total.whole.credits).toBe(0.172);
    const later = (hours: number) =>
      new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 + hours * 3_600_000).toISOString();
    const next = await traffic(box, `by=key&limit=1&compare=before&step=hour&from=${later(1)}&to=${later(3)}`);
    expect([next.total.whole.requests, next.series, next.other]).toEqual([0, [], null]);
    expect([next.total.before?.requests, next.total.before?.credits]).toEqual([3, 0.416]);
    const both = await traffic(box, `by=key&limit=1&compare=before&step=hour&from=${later(-1)}&to=${later(1)}`);
    expect(both.series.map(({ before }) => before)).toEqual([{ requests: 0, credits: 0, usd: '0' }]);
    expect(total.before).toBeNull();
    const bare = await traffic(box, 'by=key&step=minute&points=false');
    expect([bare.times, bare.total.buckets.requests, bare.total.whole.duration_ms.p50]).toEqual([[], [], null]);
    expect(bare.series.map(({ value, whole }) => [value, whole.credits, whole.output_tokens])).toEqual(
      series.map(({ value, whole }) => [value, whole.credits, whole.output_tokens]),
    );
    const few = await traffic(box, 'by=key&limit=1&step=day&time_zone=Europe/Berlin');
    expect([few.series.length, few.other?.whole.requests, few.other?.whole.credits]).toEqual([1, 1, 0.172]);
  },
  PATIENCE,
);

test(
  'the command shows the same as the API, and a rebuild while the server runs counts the same again',
  async () => {
    const box = await start();
    upstream.behave(USAGE);
    for (let requests = 0; requests < 3; requests++) await answerOf(await chat(box));
    const figuresOf = ({ total, series, times }: Awaited<ReturnType<typeof traffic>>) => ({ total, series, times });
    const before = await traffic(box, `by=model&from=${new Date(Date.now() - 7_200_000).toISOString()}`);
    const flags = ['--by', 'model', '--step', 'hour', '--from', before.from, '--to', before.to];
    const shown = await box.run('traffic', 'show', ...flags, '--json');
    expect(shown).toMatchObject({ code: 0, err: '' });
    expect(figuresOf(JSON.parse(shown.out))).toEqual(figuresOf(before));
    const table = (await box.run('traffic', 'show', ...flags)).out;
    expect(table).toMatch(/^best +3 +0 +0\.516 /m);
    expect(await box.run('traffic', 'rebuild')).toMatchObject({ code: 0, out: 'Counted all traffic again.\n' });
    const after = await traffic(box, `by=model&from=${before.from}&to=${before.to}`);
    expect(figuresOf(after)).toEqual(figuresOf(before));
    expect(await box.run('traffic', 'show', '--by', 'colour')).toMatchObject({
      code: 1,
      err: expect.stringContaining('--by must be model, provider'),
    });
  },
  PATIENCE,
);

test(
  'a query that is too large or invalid is refused with its field',
  async () => {
    const box = await start();
    const cases = [
      ['step=week', 'step', 'invalid_value'],
      ['by=colour', 'by', 'invalid_value'],
      ['from=yesterday', 'from', 'invalid_value'],
      ['from=2026-11-20&to=2026-11-19', 'to', 'invalid_value'],
      ['step=minute&from=2026-01-01&to=2026-11-01', 'from', 'out_of_range'],
      ['step=minute&from=2026-11-01&to=2026-11-03&by=key&limit=50', 'limit', null],
      ['by=task&model=best', 'model', 'invalid_value'],
      ['time_zone=Nowhere', 'time_zone', 'invalid_value'],
      ['step=day&time_zone=Asia/Kolkata', 'time_zone', 'invalid_value'],
      ['points=no', 'points', 'invalid_value'],
      ['limit=51', 'limit', 'out_of_range'],
    ] as const;
    for (const [query, param, code] of cases) {
      const response = await box.get(`/admin/traffic?${query}`);
      const { error } = (await response.json()) as { error?: { param: string; code: string } };
      expect([query, error?.code ?? null, error?.param ?? param]).toEqual([query, code, param]);
    }
  },
  PATIENCE,
);
