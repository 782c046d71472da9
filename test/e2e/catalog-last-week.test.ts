import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf, waitFor } from '../support/answers.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { writePolicy } from '../support/signalbox.ts';
import {
  chat,
  exportOf,
  FOLLOWS,
  folder,
  PATIENCE,
  policyWith,
  start,
  USAGE,
  upstream,
  useServers,
} from './ledger-support.ts';

useServers();

test(
  'catalog update says what the requests of the last seven days would have cost at the prices of a list',
  async () => {
    const policy = policyWith()
      .replace('adapter: openai-compatible', 'adapter: openai-compatible, preset: groq')
      .replace('basis: own', 'basis: aggregator');
    const box = await start({ policy });
    for (let request = 1; request <= 3; request++) {
      upstream.next(USAGE);
      await answerOf(await chat(box));
    }
    await waitFor(
      async () => (await exportOf(box.data)).filter(({ kind }) => kind === 'settle').length === 3,
      FOLLOWS * 2,
    );
    // The policy states 0.7 and 3.3 USD; the list has twice as much.
    const entry = {
      litellm_provider: 'groq',
      mode: 'chat',
      input_cost_per_token: 1.4e-6,
      output_cost_per_token: 6.6e-6,
    };
    const list = join(folder, 'prices.json');
    writeFileSync(list, JSON.stringify({ 'best-upstream': entry }));
    const today = new Date().toISOString().slice(0, 10);
    const args = [
      '--policies',
      writePolicy({ 'policy.yaml': policy }),
      '--data',
      box.data,
      '--from',
      `${list}=${today}`,
    ];
    const { code, out, err } = await runHere(['catalog', 'update', ...args, '--json'], UPSTREAM_ENV);
    expect([code, err]).toEqual([2, '']);
    const sums = { attempts: 3, charged_microcredits: 516_000, new_microcredits: 1_032_000 };
    expect(JSON.parse(out).last_week).toEqual({ ...sums, models: [{ model: 'best', ...sums }] });
    const report = await runHere(['catalog', 'update', ...args], UPSTREAM_ENV);
    expect(report.out).toContain('3 attempts, 0.516 Credits. At the new prices: 1.032 Credits.');
  },
  PATIENCE,
);
