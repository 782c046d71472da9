import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { micro, recomputed } from '../ledger/csv-support.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { PROGRAM, runToEnd, startSignalbox } from '../support/signalbox.ts';
import {
  audit,
  budgetOf,
  chat,
  exportOf,
  FOLLOWS,
  folder,
  hang,
  makeKey,
  newPath,
  PATIENCE,
  policyWith,
  start,
  upstream,
  useServers,
} from './ledger-support.ts';

useServers();

describe('ledger audit', () => {
  test(
    'ledger audit runs while the server runs; after kill -9 it lists open holds until a start has closed them',
    async () => {
      const box = await start({ isProcess: true });
      await Promise.all(Array.from({ length: 20 }, async () => expect((await chat(box)).status).toBe(200)));
      await waitFor(async () => (await audit(box.data)).body.open === 0, FOLLOWS);
      const release = await hang(box, 3);
      const beside = await audit(box.data);
      expect(beside).toMatchObject({ code: 0, body: { open: 3, findings: [] } });
      box.signal('SIGKILL');
      await box.exited;
      release();

      const orphans = await audit(box.data);
      expect(orphans).toMatchObject({ code: 0, body: { open: 3, findings: [] } });
      expect(orphans.body.held_credits).toBeGreaterThan(0);
      const idle = await audit(box.data, '--idle');
      const decisions = orphans.body.open_reservations.map(({ decision }) => decision).sort();
      expect(decisions[0]).toMatch(/^dec_[0-9a-z]{11}$/);
      expect(idle.code).toBe(2);
      expect(idle.body.findings.map(({ kind }) => kind)).toEqual(['left_open', 'left_open', 'left_open']);
      expect(idle.body.findings.map(({ decision }) => decision).sort()).toEqual(decisions);
      const { code, out } = await runHere(['ledger', 'audit', '--idle', '--data', box.data]);
      expect(code).toBe(2);
      expect(out).toMatch(/^\d+ entries, 23 holds, 3 open \([\d.]+ Credits held\), 0 funds: 3 findings\n/);
      for (const decision of decisions) expect(out).toMatch(new RegExp(`row \\d+  ${decision}  left_open: is open`));

      await start({ data: box.data, env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: box.key } });
      const after = await audit(box.data, '--idle');
      expect(after).toMatchObject({ code: 0, body: { open: 0, findings: [] } });
      const charged = after.body.charged_credits - orphans.body.charged_credits;
      expect(charged).toBeCloseTo(orphans.body.held_credits, 6);
    },
    PATIENCE,
  );

  test(
    'ledger audit exits with 2 and names the row if a figure was changed directly in the database',
    async () => {
      const box = await start();
      const { platform } = await answerOf(await chat(box));
      box.signal('SIGTERM');
      await box.exited;
      const db = new Database(join(box.data, 'signalbox.db'), { readwrite: true });
      db.run(`UPDATE journal SET amount = amount + 1 WHERE kind = 'settle'`);
      db.close();
      const { code, body } = await audit(box.data);
      expect(code).toBe(2);
      expect(body.findings.map(({ kind }) => kind)).toContain('wrong_spend');
      expect((await exportOf(box.data)).map(({ decision }) => decision)).toEqual([platform.decision_id]);
    },
    PATIENCE,
  );
});

test(
  'ledger export of this month says what each request cost, and why',
  async () => {
    const box = await start({ policy: policyWith(budgetOf('everyone', 1_000)) });
    const { key, id } = await makeKey(box, '--label', 'team==1+1', '--name', 'x');
    const answers = await Promise.all(
      Array.from({ length: 30 }, async (_, i) => {
        upstream.next({ usage: { prompt_tokens: 10 + i, completion_tokens: 3 * i + 1, total_tokens: 11 + 4 * i } });
        return (await answerOf(await chat(box, i % 2 ? key : box.key))).platform;
      }),
    );
    const month = new Date().toISOString().slice(0, 7);
    const lines = await waitFor(async () => {
      const found = await exportOf(box.data, '--from', month);
      return found.length === 30 ? found : null;
    }, FOLLOWS * 2);
    const told = new Map(answers.map((platform) => [platform.decision_id, platform.credits_consumed]));
    for (const line of lines) {
      expect(micro(line.credits!)).toBe(recomputed(line));
      expect(Number(line.credits)).toBe(told.get(line.decision!)!);
      expect(line).toMatchObject({
        usd_per_1m_input: '0.7',
        usd_per_1m_output: '3.3',
        usd_per_credit: '0.001',
        model: 'best',
      });
    }
    const byKey = await exportOf(box.data, '--from', month, '--by', 'key,label:team');
    const all = lines.reduce((sum, { credits }) => sum + micro(credits!), 0n);
    expect(byKey.reduce((sum, { credits }) => sum + micro(credits!), 0n)).toBe(all);
    expect(byKey.find((line) => line.key_id === id)).toMatchObject({ 'label:team': `'=1+1`, charges: '15' });
    // A reader that stops early is no error.
    const cut = await runToEnd(['sh', '-c', `${PROGRAM} ledger export --data ${box.data} | true`], {});
    expect(cut).toEqual({ code: 0, out: '', err: '' });
  },
  PATIENCE,
);

describe('ledger backup', () => {
  test(
    'a backup of a server under load is complete, and a restored server continues from it',
    async () => {
      const box = await start({ policy: policyWith(budgetOf('everyone', 100_000)) });
      const { key } = await makeKey(box);
      const release = await hang(box, 2);
      upstream.behave({});
      let stop = false;
      const traffic = Promise.all(
        Array.from({ length: 8 }, async () => {
          while (!stop) expect((await chat(box, key)).status).toBe(200);
        }),
      );
      await Bun.sleep(300);
      const file = join(folder, 'backup.db');
      const made = await box.run('ledger', 'backup', file);
      stop = true;
      await traffic;
      release();
      expect(made).toMatchObject({ code: 0, err: '' });
      expect(made.out).toMatch(
        /^Wrote .*\.db, [\d.]+ MB\. [\d,]+ entries, .* open \(.* held\), \d funds?: nothing wrong\n$/,
      );
      expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
      for (const left of ['.part', '.part-wal', '.part-shm', '.part-journal', '-wal', '-shm'])
        expect(existsSync(file + left)).toBe(false);

      const data = newPath();
      mkdirSync(data);
      copyFileSync(file, join(data, 'signalbox.db'));
      const before = await audit(data);
      expect(before.body.open).toBeGreaterThanOrEqual(2);
      const env = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: box.key };
      const restored = await start({ data, env, policy: policyWith(budgetOf('everyone', 100_000)) });
      expect(restored.lines.join('\n')).toContain('closed reservations that an earlier run left open');
      const after = await audit(data, '--idle');
      expect(after).toMatchObject({ code: 0, body: { open: 0, findings: [] } });
      expect(after.body.charged_credits - before.body.charged_credits).toBeCloseTo(before.body.held_credits, 6);
      expect((await chat(restored, key)).status).toBe(200);
      await waitFor(async () => (await audit(data, '--idle')).code === 0, FOLLOWS * 2);
    },
    PATIENCE,
  );

  test(
    'ledger backup overwrites nothing, and leaves no file after a failure',
    async () => {
      const box = await start();
      await chat(box);
      const file = newPath();
      writeFileSync(file, 'precious');
      const refused = await box.run('ledger', 'backup', file);
      expect(refused).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringContaining('A backup never overwrites a file.'),
      });
      expect(readFileSync(file, 'utf8')).toBe('precious');
      writeFileSync(`${file}2.part`, 'half');
      expect((await box.run('ledger', 'backup', `${file}2`)).err).toContain('was interrupted');
      expect(readFileSync(`${file}2.part`, 'utf8')).toBe('half');
      const nowhere = await box.run('ledger', 'backup', join(folder, 'none', 'x.db'));
      expect(nowhere).toMatchObject({ code: 1, err: expect.stringContaining('there is no such folder') });
    },
    PATIENCE,
  );
});

describe('wrong usage of a ledger command gets one clear sentence and exit code 1:', () => {
  let data: string;
  beforeAll(async () => {
    const box = await startSignalbox({ policy: policyWith(), env: UPSTREAM_ENV, data: newPath() });
    data = box.data;
    await box.stop();
  });

  const cases: readonly [readonly string[], RegExp][] = [
    [[], /The commands of ledger are status, usage, export, reconcile, audit, refund or backup/],
    [['adit'], /The commands of ledger are status, usage, export, reconcile, audit, refund or backup/],
    [['audit', 'extra'], /Unexpected argument 'extra'/],
    [['audit', '--jsn'], /Unknown option '--jsn'/],
    [['export', '--by', 'week'], /--by must be day, month/],
    [['backup'], /needs the name of one file/],
    [['backup', 'a', 'b'], /needs the name of one file/],
  ];
  for (const [args, message] of cases) {
    test(
      `ledger ${args.join(' ')}`,
      async () => {
        const { code, out, err } = await runHere(['ledger', ...args, '--data', data]);
        expect(err).toMatch(message);
        expect(err).toMatch(/^signalbox: [^\n]+\.\n$/);
        expect({ code, out }).toEqual({ code: 1, out: '' });
      },
      PATIENCE,
    );
  }

  test('a ledger command without a database', async () => {
    const { code, err } = await runHere(['ledger', 'audit', '--data', join(folder, 'none')]);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('There is no database') });
  });
});
