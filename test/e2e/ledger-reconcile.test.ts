import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf, waitFor } from '../support/answers.ts';
import { runHere } from '../support/run-here.ts';
import { chat, exportOf, FOLLOWS, folder, PATIENCE, start, upstream, useServers } from './ledger-support.ts';

useServers();

const reconcile = (data: string, ...args: string[]) => runHere(['ledger', 'reconcile', ...args, '--data', data]);

test(
  'ledger reconcile compares the bill of a provider with what the gateway charged',
  async () => {
    const box = await start();
    for (let request = 1; request <= 12; request++) {
      upstream.next({
        usage: { prompt_tokens: 100 * request, completion_tokens: 7 * request, total_tokens: 107 * request },
      });
      await answerOf(await chat(box));
    }
    const lines = await waitFor(async () => {
      const found = (await exportOf(box.data)).filter(({ kind }) => kind === 'settle');
      return found.length === 12 ? found : null;
    }, FOLLOWS * 2);
    const [{ upstream: model, time }] = [lines[0]! as Record<string, string>] as [{ upstream: string; time: string }];
    const sum = (column: string) => lines.reduce((all, line) => all + Number(line[column as keyof typeof line]), 0);
    const usage = {
      object: 'organization.usage.completions.result',
      ...{ model: `${model}-2026-08-06`, project_id: 'proj_a', num_model_requests: 12 },
      ...{ input_tokens: sum('input_tokens'), output_tokens: sum('output_tokens') },
    };
    const cost = (item: string, value: number) => ({
      object: 'organization.costs.result',
      amount: { value, currency: 'usd' },
      line_item: `${model}, ${item}`,
      project_id: 'proj_a',
    });
    const start_time = Math.floor(Date.parse(time.slice(0, 10)) / 1_000);
    const billOf = (name: string, results: readonly object[]) => {
      const file = join(folder, name);
      writeFileSync(file, JSON.stringify({ object: 'page', data: [{ start_time, results }], has_more: false }));
      return file;
    };
    // The policy states 0.7 and 3.3 USD per 1M tokens.
    const costs = [cost('input', (usage.input_tokens * 0.7) / 1e6), cost('output', (usage.output_tokens * 3.3) / 1e6)];
    const clean = [billOf('usage.json', [usage]), billOf('costs.json', costs)];
    const equal = await reconcile(box.data, ...clean, '--provider', 'first');
    expect(equal).toMatchObject({ code: 0, err: '' });
    expect(equal.out).toContain('12 charges');
    expect(equal.out).toContain('The bill and the books are equal.');

    const [input, output] = costs as [ReturnType<typeof cost>, ReturnType<typeof cost>];
    const dearer = { ...output, amount: { ...output.amount, value: output.amount.value * 2 } };
    const wrong = await reconcile(box.data, clean[0]!, billOf('dearer.json', [input, dearer]), '--provider', 'first');
    expect(wrong.code).toBe(2);
    expect(wrong.out).toContain('6.6 instead of 3.3 USD per 1M');

    const more = {
      ...usage,
      num_model_requests: 13,
      input_tokens: usage.input_tokens + 55,
      output_tokens: usage.output_tokens + 5,
    };
    const outside = await reconcile(box.data, billOf('more.json', [more]), '--provider', 'first', '--json');
    expect(outside.code).toBe(0);
    expect(JSON.parse(outside.out)).toMatchObject({
      provider: 'first',
      differences: [{ kind: 'outside_traffic', unit: 'requests', billed: 13, booked: 12, from: time.slice(0, 10) }],
    });
    const lacking = await reconcile(
      box.data,
      join(folder, 'more.json'),
      '--provider',
      'first',
      '--account',
      'proj_a',
      '--json',
    );
    expect(lacking.code).toBe(2);
    expect(JSON.parse(lacking.out).differences).toMatchObject([
      { kind: 'missing_requests', detail: 'the books lack them' },
    ]);

    const unknown = await reconcile(box.data, clean[0]!);
    expect(unknown.code).toBe(1);
    expect(unknown.err).toContain('The books have no charge of the provider openai');
    expect(unknown.err).toContain('--provider: first.');
    expect(await reconcile(box.data)).toMatchObject({ code: 1, err: expect.stringContaining('at least one file') });
    expect(await reconcile(box.data, join(folder, 'none.json'))).toMatchObject({
      code: 1,
      err: expect.stringContaining('none.json cannot be read.'),
    });
  },
  PATIENCE,
);
