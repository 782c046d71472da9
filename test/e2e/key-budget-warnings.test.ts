import { describe, expect, test } from 'bun:test';
import { expectError } from '../support/error-contract.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** A key whose budget fits no usual request is reported where it is created, changed and listed. */
const upstream = useUpstream();

/** A short request is no classification, so the few tokens of a class are no measure for it. */
const CLASSES = '  classification: { expected_output_tokens: 20, default_input_tokens: 400, min_useful_output: 8 }\n';
const box = useSignalbox(() => ({
  policy: testPolicy(
    { fake: upstream.url },
    {
      best: { endpoints: ['fake'] },
      plain: { endpoints: ['fake'], price: { input: 0.1, output: 0.4 } },
    },
  ).replace(/^ {2}classification: .*\n/m, CLASSES),
}));

interface Created {
  readonly id: string;
  readonly key: string;
}

const warnings = (answer: Response) =>
  (answer.headers.get('x-signalbox-warnings') ?? '').split(',').filter(Boolean).map(decodeURIComponent);

/** Creates a key. Returns it with the amount in USD that the warning says it needs; null without a warning. */
async function create(budget: object, more: object = {}) {
  const answer = await box.post('/admin/keys', { name: 'ci', budgets: [{ window: 'day', ...budget }], ...more });
  expect(answer.status).toBe(200);
  const key = (await answer.json()) as Created;
  const [text = null, ...others] = warnings(answer);
  expect(others).toEqual([]);
  return { ...key, text, needed: text === null ? null : (/ needs .*\(([\d.]+) USD\)/.exec(text)?.[1] ?? '') };
}

const ask = ({ key }: Created) =>
  box.post('/v1/chat/completions', { model: 'plain', messages: [{ role: 'user', content: 'Hi' }] }, withKey(key));

describe.each(['cap', 'downgrade', 'reject'])('with `on_exhausted: %s`', (on_exhausted) => {
  test('a warning names an amount that pays for a request, and a budget of half of it pays for none', async () => {
    const low = await create({ limit_usd: '0.000001', on_exhausted });
    expect(low.text).toMatch(
      /^Key ci \(\w+\) can send no usual request: its budget is 0\.001 Credits \(0\.000001 USD\) a day, and a short request without `max_tokens` needs [\d.]+ Credits \([\d.]+ USD\) with `plain`, the cheapest model that the key may use\.$/,
    );
    const half = await create({ limit_usd: (Number(low.needed) / 2).toFixed(9), on_exhausted });
    expect(half.text).not.toBeNull();
    await expectError(await ask(half), 'request_exceeds_budget');
    const enough = await create({ limit_usd: low.needed, on_exhausted });
    expect(enough.text).toBeNull();
    const answer = await ask(enough);
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
  });
});

test('only models that the key may use count', async () => {
  const { needed } = await create({ limit_usd: '0.000001' });
  expect((await create({ limit_usd: needed }, { models: ['best'] })).text).toContain('with `best`');
  expect((await create({ limit_usd: needed }, { not_models: ['plain'] })).text).toContain('with `best`');
  expect((await create({ limit_usd: '0.000001' }, { models: ['nobody'] })).text ?? '').not.toContain(
    'no usual request',
  );
});

test('a budget of 0 is meant for free requests and gets only its own warning', async () => {
  expect((await create({ limit_credits: 0 })).text).toContain('A budget of 0 Credits');
});

test('lists, a single key and a change show the warning, and commands print it', async () => {
  const { id } = await create({ limit_usd: '0.000001' }, { name: 'poor' });
  const listed = warnings(await box.get('/admin/keys?name=poor'));
  expect(listed).toEqual([expect.stringMatching(/^Key poor \(\w+\) can send no usual request/)]);
  expect(warnings(await box.get(`/admin/keys/${id}`))).toEqual(listed);
  for (const words of [
    ['keys', 'list', '--name', 'poor'],
    ['keys', 'show', id],
  ]) {
    const { code, err } = await box.run(...words);
    expect([code, err]).toEqual([0, expect.stringContaining(listed[0]!)]);
  }
  const raised = await box.run('keys', 'change', id, '--budget', '20USD/day');
  expect([raised.code, raised.err]).toEqual([0, '']);
  await box.post(`/admin/keys/${id}/revoke`, {});
  for (let at = 0; at < 7; at++) await create({ limit_usd: '0.000001' }, { name: 'many' });
  const many = warnings(await box.get('/admin/keys?name=many'));
  expect([many.length, many.at(-1)]).toEqual([6, '2 more keys have a budget that fits no request.']);
});
