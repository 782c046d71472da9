import { describe, expect, test } from 'bun:test';
import { expectError } from '../support/error-contract.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { withKey } from '../support/signalbox.ts';
import { chat, exportOf, makeKey, PATIENCE, policyWith, start, USAGE, upstream, useServers } from './ledger-support.ts';

/** What a key sees of its own spending: everything, to the microcredit, and nothing about other keys. */
useServers();

interface Report {
  readonly from: string;
  readonly to: string;
  readonly time_zone: string;
  readonly total_credits: number;
  readonly days: readonly {
    readonly date: string;
    readonly model: string | null;
    readonly charges: number;
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly credits: number;
    readonly usd: string;
  }[];
  readonly funds: readonly {
    readonly kind: string;
    readonly name: string;
    readonly subject: string;
    readonly limit_credits: number;
    readonly spent_credits: number;
    readonly held_credits: number;
    readonly left_credits: number;
    readonly renews_at: string | null;
  }[];
  readonly balance_credits: number | null;
}

const ask = (box: Signalbox, key: string, query = '') => box.get(`/v1/usage${query}`, withKey(key));

async function usage(box: Signalbox, key: string, query = ''): Promise<Report> {
  const response = await ask(box, key, query);
  expect(response.status).toBe(200);
  return (await response.json()) as Report;
}

/** Returns the same lines from the command, which reads only the journal. */
async function exported(box: Signalbox, id: string, zone = 'UTC') {
  const lines = await exportOf(box.data, '--key', id, '--by', 'day,model', '--time-zone', zone);
  return lines.map((line) => ({
    date: line.day!,
    model: line.model === '' ? null : line.model!,
    charges: Number(line.charges),
    input_tokens: Number(line.input_tokens),
    output_tokens: Number(line.output_tokens),
    credits: Number(line.credits),
    usd: line.usd!,
  }));
}

const micro = (credits: number) => Math.round(credits * 1_000_000);
const today = () => new Date().toISOString().slice(0, 10);
const BUDGETS = `budgets:
  - { name: everyone, limit_credits: 1000, window: total }
  - { name: team, each: key.labels.team, match: key.labels.team != "", limit_credits: 500, window: month }
  - { name: of-best, match: request.model == "best", each: key, limit_credits: 100, window: day, time_zone: Europe/Berlin }
  - { name: of-others, match: key.labels.team == "somebody", limit_credits: 10, window: day }
`;

describe('GET /v1/usage', () => {
  test(
    'GET /v1/usage equals the export to the microcredit, before and after the sums are written, and after a restart',
    async () => {
      const first = await start();
      const [mine, other] = await Promise.all([makeKey(first, '--name', 'mine'), makeKey(first, '--name', 'other')]);
      upstream.behave(USAGE);
      for (const key of [mine.key, other.key, mine.key, mine.key]) expect((await chat(first, key)).status).toBe(200);
      // A failed attempt that was billed, and an attempt that answered.
      upstream.next({ raw: ['{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}'], form: 'json' });
      await chat(first, mine.key);

      const before = await usage(first, mine.key);
      expect(before.days).toEqual(await exported(first, mine.id));
      expect(before.days.map(({ charges }) => charges)).toEqual([4]);
      expect(before.days[0]).toMatchObject({ date: today(), model: 'best' });
      expect(micro(before.total_credits)).toBe(3 * 172_000 + 14_800);

      // A refund becomes visible in the running server, and names no model.
      const decision = (await chat(first, mine.key)).headers.get('x-signalbox-decision-id')!;
      const refund = await first.run('ledger', 'refund', decision, '0.1');
      expect(refund.err).toBe('');
      first.signal('SIGTERM');
      await first.exited;
      const second = await start({ data: first.data, env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: first.key } });
      await chat(second, mine.key);
      const after = await usage(second, mine.key);
      expect(after.days).toEqual(await exported(second, mine.id));
      expect(after.days.find(({ model }) => model === null)).toMatchObject({ charges: 1, credits: -0.1 });
      expect(micro(after.total_credits)).toBe(3 * 172_000 + 14_800 + 2 * 172_000 - 100_000);
    },
    PATIENCE,
  );

  test(
    'GET /v1/usage shows every fund that the key’s own requests draw on, and no other fund',
    async () => {
      const box = await start({ policy: policyWith(BUDGETS) });
      const mine = await makeKey(box, '--label', 'team=search');
      const other = await makeKey(box, '--label', 'team=legal');
      upstream.behave(USAGE);
      await chat(box, mine.key);
      await chat(box, other.key);
      await chat(box, other.key);
      const { funds, balance_credits: balance } = await usage(box, mine.key);
      const shown = funds.map(({ name, subject, spent_credits: spent }) => [name, subject, spent]);
      expect(shown).toEqual([
        ['everyone', '', 0.516],
        ['team', 'search', 0.172],
        ['of-best', mine.id, 0.172],
      ]);
      expect(funds[1]).toMatchObject({ limit_credits: 500, held_credits: 0, left_credits: 499.828 });
      expect(Date.parse(funds[1]!.renews_at!)).toBeGreaterThan(Date.now());
      expect(funds[0]!.renews_at).toBeNull();
      expect(balance).toBeNull();
    },
    PATIENCE,
  );

  test(
    'GET /v1/usage shows what is left of the balance',
    async () => {
      const box = await start();
      const mine = await makeKey(box);
      await box.run('keys', 'grant', mine.id, '25');
      const until = performance.now() + 10_000;
      while ((await usage(box, mine.key)).balance_credits !== 25) {
        expect(performance.now()).toBeLessThan(until);
        await Bun.sleep(20);
      }
      upstream.behave(USAGE);
      await chat(box, mine.key);
      const { funds, balance_credits: balance } = await usage(box, mine.key);
      expect(balance).toBe(24.828);
      expect(funds).toMatchObject([{ kind: 'balance', name: mine.id, limit_credits: 25, spent_credits: 0.172 }]);
    },
    PATIENCE,
  );

  test(
    'GET /v1/usage is about one key only: nothing in it depends on other keys, or names them',
    async () => {
      const box = await start();
      const [mine, other] = await Promise.all([makeKey(box), makeKey(box)]);
      upstream.behave(USAGE);
      await chat(box, mine.key);
      const sumsIn = async (answer: Response) => (await answer.text()).replace(/"counted_until":"[^"]*"/, '');
      const before = await sumsIn(await ask(box, mine.key));
      for (let i = 0; i < 3; i++) await chat(box, other.key);
      // A key cannot see another key's usage with any parameter or header.
      for (const name of ['key', 'key_id', 'keyId']) {
        await expectError(await ask(box, mine.key, `?${name}=${other.id}`), 'invalid_value', name);
      }
      const headers = { authorization: `Bearer ${mine.key}`, 'x-key-id': other.id, 'x-signalbox-key': other.id };
      expect(await sumsIn(await box.get('/v1/usage', { headers }))).toBe(before);
      expect(before).not.toContain(other.id);
      // Even for an admin key, only its own usage is shown.
      expect((await usage(box, box.key)).total_credits).toBe(0);
    },
    PATIENCE,
  );

  test(
    'GET /v1/usage accepts a period and a time zone',
    async () => {
      const box = await start();
      const mine = await makeKey(box);
      upstream.behave(USAGE);
      await chat(box, mine.key);
      const standard = await usage(box, mine.key);
      const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
      const monthAgo = new Date(Date.now() - 29 * 86_400_000).toISOString().slice(0, 10);
      expect(standard).toMatchObject({ from: monthAgo, to: tomorrow, time_zone: 'UTC' });
      expect((await usage(box, mine.key, `?to=${today()}`)).days).toEqual([]);
      expect((await usage(box, mine.key, `?from=${tomorrow}&to=${next(tomorrow)}`)).days).toEqual([]);
      // Days begin and end in the requested time zone.
      for (const zone of ['Pacific/Kiritimati', 'America/Los_Angeles', 'Asia/Kathmandu']) {
        const there = await usage(box, mine.key, `?time_zone=${zone}`);
        expect(there.days).toEqual(await exported(box, mine.id, zone));
        expect(there.time_zone).toBe(zone);
      }
    },
    PATIENCE,
  );

  test('GET /v1/usage says what is wrong with a query, with the name of the parameter', async () => {
    const box = await start();
    const wrong = [
      ['?from=yesterday', 'invalid_value', 'from'],
      ['?from=2026-02-30', 'invalid_value', 'from'],
      ['?to=2026-11', 'invalid_value', 'to'],
      ['?from=2026-11-02&to=2026-11-02', 'invalid_value', 'to'],
      ['?from=2020-01-01&to=2026-01-01', 'out_of_range', 'from'],
      ['?from=9999-12-31', 'invalid_value', 'from'],
      ['?time_zone=Mars/Olympus', 'invalid_value', 'time_zone'],
      ['?time_zone=%2B01:07', 'invalid_value', 'time_zone'],
    ] as const;
    for (const [query, code, param] of wrong) await expectError(await ask(box, box.key, query), code, param);
    // If a parameter is given twice, the first value counts, and nothing fails.
    expect((await ask(box, box.key, '?from=2026-01-01&to=2026-02-01&from=x')).status).toBe(200);
  });
});

const next = (day: string) => new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
