import { expect, test } from 'bun:test';
import type { Static } from '@sinclair/typebox';
import type { Spend } from '../../src/admin/spend.ts';
import type { AdminUsage } from '../../src/admin/usage.ts';
import { objectOf } from '../../src/core/json/object.ts';
import { answerOf } from '../support/answers.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { chat, makeKey, PATIENCE, start, USAGE, upstream, useServers } from './ledger-support.ts';

/** Spend in the admin API, which takes its figures from counted traffic or from the ledger. */
useServers();

type Answer = Static<typeof Spend>;

async function spend(box: Signalbox, query: string, by: RequestInit = {}): Promise<Answer> {
  const response = await box.get(`/admin/spend?${query}`, by);
  const body = (await response.json()) as Answer;
  expect([response.status, body]).toEqual([200, expect.anything()]);
  return body;
}

const amountsOf = ({ rows }: Answer) => rows.map(({ id, name, whole: { credits } }) => [id, name, credits]);

test(
  'spend by any dimension is the same from traffic and from the ledger, and names its source',
  async () => {
    const box = await start();
    const team = (await (await box.post('/admin/teams', { name: 'search' })).json()) as { readonly id: string };
    const keyIn = async (body: object) =>
      (await (await box.post('/admin/keys', body)).json()) as { readonly id: string; readonly key: string };
    const one = await keyIn({ name: 'crawler', team: team.id, labels: { env: 'live' } });
    const two = await makeKey(box);
    upstream.behave(USAGE);
    for (const { key } of [one, one, two]) await answerOf(await chat(box, key));

    const byKey = await spend(box, 'by=key');
    expect([byKey.source, byKey.counted, byKey.total.whole.credits]).toEqual(['traffic', true, 0.516]);
    expect(amountsOf(byKey)).toEqual([
      [one.id, 'crawler', 0.344],
      [two.id, expect.any(String), 0.172],
    ]);
    expect(byKey.rows[0]).toMatchObject({
      before: null,
      change: null,
      months: [],
      whole: { usd: '0.000344', requests: 2 },
    });

    // A split of a team by key is only in the ledger, whose sums of a day are fast.
    const ofTeam = await spend(box, `by=key&of=team=${team.id}&time_zone=Europe/Berlin`);
    expect([ofTeam.source, amountsOf(ofTeam)]).toEqual(['ledger', [[one.id, 'crawler', 0.344]]]);
    expect(ofTeam.rows[0]!.whole).toMatchObject({ saved_credits: null, saved_usd: null });
    expect((await spend(box, 'by=key&of=team=search')).rows).toEqual(ofTeam.rows);
    // The period before tomorrow is today.
    const dayIn = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const tomorrow = await spend(box, `by=key&of=team=search&from=${dayIn(1)}&to=${dayIn(2)}`);
    expect(tomorrow.rows[0]).toMatchObject({
      whole: { credits: 0 },
      before: { credits: 0.344, usd: '0.000344' },
      change: { credits: -0.344, usd: '-0.000344' },
    });
    const ofNone = await spend(box, 'by=key&of=team=&count=true');
    expect(amountsOf(ofNone).map(([id, , credits]) => [id, credits])).toEqual([[two.id, 0.172]]);

    // Sums of the ledger that take seconds are made only on request.
    const uncounted = await spend(box, 'by=team&of=model=best');
    expect([uncounted.source, uncounted.counted, uncounted.rows]).toEqual(['ledger', false, []]);
    const counted = await spend(box, 'by=team&of=model=best&count=true');
    expect([counted.counted, amountsOf(counted)]).toEqual([
      true,
      [
        [team.id, 'search', 0.344],
        ['', '', 0.172],
      ],
    ]);
    expect((await spend(box, `by=model&of=key=${one.id}`)).source).toBe('traffic');
  },
  PATIENCE,
);

test('spend by task has no second dimension and no part, also without sums of the ledger', async () => {
  const box = await start();
  expect((await spend(box, 'by=task')).source).toBe('traffic');
  for (const query of [
    'by=key&and=task&step=month',
    'by=task&and=key&step=month',
    'by=task&of=key=one',
    'by=key&of=task=coding',
  ]) {
    const refused = await box.get(`/admin/spend?${query}`);
    expect([query, refused.status, objectOf(await refused.json()).error]).toEqual([
      query,
      400,
      expect.objectContaining({ param: 'by', message: expect.stringContaining('The ledger has no tasks') }),
    ]);
  }
});

test('a second dimension needs months, and is another one than the first', async () => {
  const box = await start();
  for (const [query, message] of [
    ['by=key&and=model', '`and` needs `step=month`.'],
    ['by=label:app&and=label:app&step=month', 'another dimension than `by`, which is label:app'],
    ['and=key&step=month', 'another dimension than `by`, which is key'],
  ] as const) {
    const refused = await box.get(`/admin/spend?${query}`);
    const { error } = objectOf(await refused.json());
    expect([query, refused.status, error]).toEqual([
      query,
      400,
      expect.objectContaining({ param: 'and', message: expect.stringContaining(message) }),
    ]);
  }
});

test(
  'spend by month is the same in UTC and in another zone, by one dimension and by two, and adds up',
  async () => {
    const box = await start();
    const { id } = await makeKey(box);
    upstream.behave(USAGE);
    await answerOf(await chat(box));
    const from = `from=${new Date(Date.now() - 40 * 86_400_000).toISOString().slice(0, 10)}`;
    const inUtc = await spend(box, `by=key&step=month&${from}`);
    const inBerlin = await spend(box, `by=key&step=month&time_zone=Europe/Berlin&${from}`);
    const byTwo = await spend(box, `by=key&and=model&step=month&${from}`);
    expect([inUtc.source, inBerlin.source, byTwo.source]).toEqual(['traffic', 'ledger', 'ledger']);
    for (const { rows, months, total } of [inUtc, inBerlin, byTwo]) {
      expect(months.length).toBeGreaterThan(1);
      expect(months.at(-1)).toMatch(/^\d{4}-\d{2}$/);
      expect(total.months.at(-1)).toEqual({ credits: 0.172, usd: '0.000172' });
      expect(rows.map((row) => row.months.map(({ credits }) => credits))).toEqual([
        total.months.map(({ credits }) => credits),
      ]);
    }
    expect(byTwo.rows[0]!.and).toEqual({ id: 'best', name: 'best' });
    const { groups } = (await (await box.get(`/admin/usage?by=month,key,model&${from}`)).json()) as Static<
      typeof AdminUsage
    >;
    expect(groups.map(({ credits }) => credits)).toEqual([0.172]);
    expect(id).toBeString();
  },
  PATIENCE,
);
