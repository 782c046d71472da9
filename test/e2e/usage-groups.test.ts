import { describe, expect, test } from 'bun:test';
import { readCsv } from '../ledger/csv-support.ts';
import { waitFor } from '../support/answers.ts';
import { apiClient } from '../support/api-client.ts';
import { expectError } from '../support/error-contract.ts';
import { readPage, total } from '../support/prometheus.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { chat, makeKey, PATIENCE, policyWith, start, USAGE, upstream, useServers } from './ledger-support.ts';

/** Usage by groups: the running server and the command read different tables of the same books. */
useServers();

interface Report {
  readonly by: readonly string[];
  readonly total_credits: number;
  readonly total_usd: string;
  readonly groups: readonly {
    readonly group: Readonly<Record<string, string>>;
    readonly charges: number;
    readonly credits: number;
    readonly usd: string;
  }[];
}

/** A report without the time at which it was made. */
function sumsIn({ counted_until, ...report }: Report & { readonly counted_until: string }): Report {
  expect(Date.now() - Date.parse(counted_until)).toBeLessThan(PATIENCE);
  return report;
}

async function served(box: Signalbox, query: string): Promise<Report> {
  const response = await box.get(`/admin/usage${query}`);
  expect(response.status).toBe(200);
  return sumsIn((await response.json()) as Parameters<typeof sumsIn>[0]);
}

async function printed(box: Signalbox, ...args: string[]): Promise<Report> {
  const { out, err, code } = await box.run('ledger', 'usage', ...args, '--json');
  expect({ err, code }).toEqual({ err: '', code: 0 });
  return sumsIn(JSON.parse(out));
}

const GROUPINGS = [
  'day',
  'month',
  'key',
  'model',
  'provider',
  'selector',
  'label:team',
  'key,model',
  'month,label:team',
];

describe('GET /admin/usage and signalbox ledger usage', () => {
  test(
    'the API and the command return the same figures for every grouping and filter',
    async () => {
      const box = await start();
      const search = await makeKey(box, '--label', 'team=search');
      const legal = await makeKey(box, '--label', 'team=legal');
      upstream.behave(USAGE);
      for (const key of [search.key, legal.key, search.key]) expect((await chat(box, key)).status).toBe(200);
      const refunded = (await chat(box, legal.key)).headers.get('x-signalbox-decision-id')!;
      expect((await box.run('ledger', 'refund', refunded, '0.1')).err).toBe('');
      const until = performance.now() + 10_000;
      while ((await served(box, '?by=key')).total_credits !== 0.588) {
        expect(performance.now()).toBeLessThan(until);
        await Bun.sleep(20);
      }

      for (const by of GROUPINGS) expect(await served(box, `?by=${by}`)).toEqual(await printed(box, '--by', by));
      expect(await served(box, '')).toEqual(await printed(box));
      const filters = `?by=model&key=${search.id}&model=best&label=team%3Dsearch`;
      const filtered = ['--by', 'model', '--key', search.id, '--model', 'best', '--label', 'team=search'];
      expect(await served(box, filters)).toEqual(await printed(box, ...filtered));

      expect(await served(box, '?month=this')).toEqual(await printed(box, '--month', 'this'));
      expect((await served(box, '?month=last')).groups).toEqual([]);

      const { groups, total_usd } = await served(box, '?by=label:team,model');
      expect(total_usd).toBe('0.000588');
      expect(groups).toMatchObject([
        // The refund names no model.
        { group: { 'label:team': 'legal', model: '' }, charges: 1, credits: -0.1, usd: '-0.0001' },
        { group: { 'label:team': 'legal', model: 'best' }, charges: 2, credits: 0.344 },
        { group: { 'label:team': 'search', model: 'best' }, charges: 2, credits: 0.344 },
      ]);
      const text = (await box.run('ledger', 'usage', '--by', 'label:team')).out;
      expect(text).toContain('LABEL:TEAM');
      expect(text).toContain('0.588 Credits, 0.000588 USD.');
      const rows = (await box.run('ledger', 'usage', '--by', 'label:team,model')).out.split('\n');
      expect(rows.slice(1, 5).map((row) => row.trim().split(/ {2,}/))).toEqual([
        ['legal', '-', '1', '0', '0', '-0.100', '-0.000100'],
        ['legal', 'best', '2', '20', '100', '0.344', '0.000344'],
        ['legal', 'subtotal', '3', '20', '100', '0.244', '0.000244'],
        ['search', 'best', '2', '20', '100', '0.344', '0.000344'],
      ]);
    },
    PATIENCE,
  );

  test(
    'the API and the command export the same table as CSV, and a spreadsheet runs no formula from it',
    async () => {
      const box = await start();
      upstream.behave(USAGE);
      const made = await box.post('/admin/teams', { name: '=HYPERLINK("https://example.com", "a")' });
      const team = ((await made.json()) as { id: string }).id;
      const key = await box.post('/admin/keys', { name: 'of-team', team, labels: { '=1+1': '+1' } });
      const { key: secret } = (await key.json()) as { key: string };
      for (const one of [secret, secret, box.key]) expect((await chat(box, one)).status).toBe(200);
      await waitFor(async () => (await served(box, '?by=team')).groups.length === 2);
      for (const by of ['team', 'team,model', 'day,user,team', 'label:=1+1', 'key,team']) {
        const report = await served(box, `?by=${encodeURIComponent(by)}`);
        const answer = await box.get(`/admin/usage?by=${encodeURIComponent(by)}&format=csv`);
        expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="usage-[\d-]+\.csv"$/);
        const rows = readCsv(await answer.text());
        expect(rows.map(({ credits, usd }) => [Number(credits), usd])).toEqual(
          report.groups.map(({ credits, usd }) => [credits, usd]),
        );
        const { out } = await box.run('ledger', 'export', '--by', by);
        // The export has more columns: the ledger has cached tokens separately, but the sums of a server do not.
        const exported = readCsv(out).map((row) =>
          Object.fromEntries(Object.keys(rows[0]!).map((name) => [name, row[name] ?? ''])),
        );
        expect(rows).toEqual(exported);
      }
      const table = await (await box.get('/admin/usage?by=team,label:%3D1%2B1&format=csv')).text();
      const [head, first, second] = table.split('\r\n');
      expect(head).toBe('team_id,team_name,label:=1+1,charges,input_tokens,output_tokens,credits,usd');
      expect(first).toStartWith(',,,1,');
      expect(second).toStartWith(`${team},"'=HYPERLINK(""https://example.com"", ""a"")",'+1,2,`);
      const entries = readCsv((await box.run('ledger', 'export')).out).filter(({ team_id }) => team_id === team);
      expect(entries.map(({ team_name, user_name }) => [team_name, user_name])).toEqual(
        entries.map(() => [`'=HYPERLINK("https://example.com", "a")`, '']),
      );
      expect(new Set(entries.map(({ key_name }) => key_name))).toEqual(new Set(['of-team']));
      await expectError(await box.get('/admin/usage?format=xlsx'), 'invalid_value', 'format');
      const client = await apiClient(box.url);
      const headers = { authorization: `Bearer ${box.key}` };
      expect((await client.call('GET /admin/usage', { query: { format: 'csv' }, headers })).status).toBe(200);
    },
    PATIENCE,
  );

  test(
    'the metrics have the Credits by the key label that the policy chooses, and by nothing that a caller sends',
    async () => {
      const policy = policyWith('metrics: { key_label: team }\n').replace(
        'usd_per_credit: 0.001',
        'usd_per_credit: 0.0375',
      );
      const box = await start({ policy });
      upstream.behave(USAGE);
      const search = await makeKey(box, '--label', 'team=search "&" found');
      const own = { metadata: { team: 'mine', key_label: 'mine' }, user: 'mine' };
      for (const key of [search.key, search.key, box.key]) expect((await chat(box, key, own)).status).toBe(200);
      const page = readPage(await (await fetch(`${box.url}/metrics`)).text());
      const { groups, total_usd } = await served(box, '?by=label:team');
      expect(groups.map(({ group }) => group['label:team'])).toEqual(['', 'search "&" found']);
      for (const { group, charges, credits } of groups) {
        const of = (family: string) =>
          page
            .get(family)!
            .samples.filter(({ labels }) => labels.key_label === group['label:team'] && labels.model === 'best');
        expect(of('signalbox_chats_total').map(({ value }) => value)).toEqual([charges]);
        expect(of('signalbox_credits_spent_total').map(({ value }) => value)).toEqual([credits]);
      }
      expect(total(page, 'signalbox_usd_per_credit')).toBe(0.0375);
      const spent = groups.reduce((sum, { credits }) => sum + Math.round(credits * 1e6), 0);
      expect(Number(total_usd)).toBeCloseTo((spent / 1e6) * 0.0375, 12);
    },
    PATIENCE,
  );

  test(
    'the API refuses a query with the name of its field, and keys without the scope admin',
    async () => {
      const box = await start();
      const wrong = [
        ['by=week', 'by'],
        ['by=day,day', 'by'],
        ['by=label:', 'by'],
        ['label=team', 'label'],
        ['from=2026-13-01', 'from'],
        ['from=2026-11-20&to=2026-11-20', 'to'],
        ['month=2026-13', 'month'],
        ['month=last&from=2026-11-20', 'month'],
        ['time_zone=Berlin', 'time_zone'],
      ] as const;
      for (const [query, param] of wrong) {
        await expectError(await box.get(`/admin/usage?${query}`), 'invalid_value', param);
      }
      await expectError(await box.get('/admin/usage?from=2020-01-01&to=2026-01-01'), 'out_of_range', 'from');
      const { key } = await makeKey(box, '--scope', 'chat');
      const headers = { authorization: `Bearer ${key}` };
      await expectError(await box.get('/admin/usage', { headers }), 'insufficient_permissions');
      for (const args of [
        ['--by', 'week'],
        ['--from', '2026-11'],
        ['--month', 'next'],
        ['--time-zone', 'Berlin'],
        ['--label', 'team'],
      ]) {
        expect((await box.run('ledger', 'usage', ...args)).code).toBe(1);
      }
      for (const command of ['usage', 'export']) {
        const { code, err } = await box.run('ledger', command, '--by', 'team', '--by', 'model');
        expect([code, err]).toEqual([1, expect.stringContaining('--by is given twice; write --by team,model.')]);
      }
      const traffic = await box.run('traffic', 'show', '--by', 'team', '--by', 'model');
      expect(traffic.err).toContain('--by is given twice; give it once.');
    },
    PATIENCE,
  );
});
