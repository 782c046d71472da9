import { beforeEach, describe, expect, test } from 'bun:test';
import type { EntryKind } from '../../src/store/journal-reader.ts';
import { closedBooks, entriesOf } from '../gateway/money/books.ts';
import { shippedPolicy } from '../policy/support.ts';
import { answerOf } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import type { Behaviour, RecordedRequest } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** PDFs under budgets, on the shipped models of Claude and Gemini. Signalbox opens no file; if necessary, the provider counts it. */
const claude = useUpstream({ dialect: 'anthropic' });
const gemini = useUpstream({ dialect: 'gemini' });
const KEY = 'api_key_env: TEST_UPSTREAM_KEY';
const box = useSignalbox(() => ({
  policy: Object.fromEntries(
    shippedPolicy().map(({ path, text }) => [
      path.replace('policies/', ''),
      text
        .replace('{ preset: anthropic,', `{ preset: anthropic, base_url: "${claude.url}", ${KEY},`)
        .replace('{ preset: gemini,', `{ preset: gemini, base_url: "${gemini.url}", ${KEY},`),
    ]),
  ),
  env: UPSTREAM_ENV,
}));

const upstreams = { 'claude-sonnet-5-5': claude, 'gemini-3.8-flash': gemini } as const;
type Model = keyof typeof upstreams;
const MODELS = Object.keys(upstreams) as Model[];

/** Signalbox does not read these bytes. */
const PDF = `data:application/pdf;base64,${Buffer.from('%PDF-1.4\n1 0 obj\n').toString('base64')}`;
const file = (file_data = PDF) => ({ type: 'file', file: { filename: 'a.pdf', file_data } });
const bodyOf = (model: string, ...parts: readonly object[]) => ({
  model,
  max_tokens: 2_000,
  messages: [{ role: 'user', content: [{ type: 'text', text: 'What does it say?' }, ...parts] }],
});
const isCount = ({ path }: Pick<RecordedRequest, 'path'>) => /count_?tokens$/i.test(path);
const usage = (prompt_tokens: number): Behaviour => ({ usage: { prompt_tokens, completion_tokens: 100 } });
const countsIn = (model: Model) => upstreams[model].requests.filter(isCount).length;

beforeEach(() => {
  for (const upstream of [claude, gemini]) {
    upstream.requests.length = 0;
    upstream.behave(usage(2_400));
  }
});

describe.each(MODELS)('a PDF of one page on %s', (model) => {
  const upstream = upstreams[model];
  const ask = async (budget: string, more: object = {}) =>
    box.post(
      '/v1/chat/completions',
      { ...bodyOf(model, file()), ...more },
      withKey(await box.makeKey('--budget', budget)),
    );

  test('a PDF of one page is served from a budget of 50 Credits: its provider counts it first', async () => {
    const answer = await ask('50/month');
    expect(answer.status).toBe(200);
    expect(upstream.requests.map(isCount)).toEqual([true, false]);
    expect(upstream.requests[0]!.text).toContain(PDF.slice(PDF.indexOf(',') + 1));
    const { platform } = await answerOf(answer);
    expect(platform.credits_consumed).toBeGreaterThan(0);
    expect(platform.credits_consumed).toBeLessThan(50);
    expect(platform.output_capped_by).toBeUndefined();
    const decision = await (await box.get(`/v1/decisions/${platform.decision_id}`)).json();
    // The count plus a margin of 5 % and 256 tokens.
    expect(decision).toMatchObject({
      facts: { pdfs: 1, pages: 1, unbounded_media: 0, service_counts: { [model]: { tokens: 2_400, margin: 376 } } },
      replay: { matches: true },
    });
  });

  test('a PDF of one page is also served within a budget_limit of 50 Credits', async () => {
    const answer = await box.post('/v1/chat/completions', { ...bodyOf(model, file()), budget_limit: 50 });
    expect([answer.status, countsIn(model)]).toEqual([200, 1]);
  });

  test('a PDF is not counted if a budget covers its whole worst case, or nothing limits it', async () => {
    expect((await ask('100000/month')).status).toBe(200);
    expect((await box.post('/v1/chat/completions', bodyOf(model, file()))).status).toBe(200);
    expect(countsIn(model)).toBe(0);
  });

  test('a PDF is not counted if even the shortest PDF could not be paid', async () => {
    await expectError(await ask('0.1/month'), 'request_exceeds_budget');
    expect(upstream.requests).toHaveLength(0);
  });

  test('a PDF is refused as without a count if the count costs more than the available money', async () => {
    upstream.behave(usage(400_000));
    await expectError(await ask('50/month'), 'request_exceeds_budget');
    expect(upstream.requests.map(isCount)).toEqual([true]);
  });

  test.each<[string, number, EntryKind[]]>([
    ['within the margin above its count is charged in full', 2_776, []],
    ['beyond the margin is charged up to its hold, and the rest is an overrun', 20_000, ['overrun']],
  ])('a PDF that is billed %s', async (_, billed, more) => {
    const before = entriesOf(box.data).length;
    upstream.behave((request) => usage(isCount(request) ? 2_400 : billed));
    const answer = await ask('50/month', { max_tokens: 100 });
    const { platform, usage: reported } = await answerOf(answer);
    expect(reported.prompt_tokens).toBe(billed);
    const { entries, faults } = await closedBooks(box.data);
    expect(faults).toEqual([]);
    const [held, settled, ...rest] = entries.slice(before);
    expect(rest.map(({ kind }) => kind)).toEqual(more);
    expect(settled!.amount).toBeLessThanOrEqual(held!.amount);
    expect(platform.credits_consumed).toBe(settled!.amount / 1e6);
  });
});

const documentBy = (source: object) => ({
  model: 'claude-sonnet-5-5',
  max_tokens: 2_000,
  messages: [{ role: 'user', content: [{ type: 'document', source }] }],
});
const AT = { type: 'url', url: 'https://a.example/long.pdf' };
const INLINE = { type: 'base64', media_type: 'application/pdf', data: PDF.slice(PDF.indexOf(',') + 1) };

describe('a PDF given by its address', () => {
  test('a PDF given by its address is held like an inline PDF but never counted, because its server may answer with another file', async () => {
    const before = entriesOf(box.data).length;
    const rich = withKey(await box.makeKey('--budget', '100000/month'));
    for (const source of [INLINE, AT])
      expect((await box.post('/v1/messages', documentBy(source), rich)).status).toBe(200);
    const { entries } = await closedBooks(box.data);
    const holds = entries.slice(before).filter(({ kind }) => kind === 'reserve');
    const [inline, at] = holds.map(({ amount }) => amount);
    expect(at).toBe(inline!);
    expect(countsIn('claude-sonnet-5-5')).toBe(0);
    const poor = withKey(await box.makeKey('--budget', '50/month'));
    expect((await box.post('/v1/messages', documentBy(AT), poor)).status).toBe(402);
    expect(claude.requests.map(isCount)).toEqual([false, false]);
  });
});

describe('a file given by its address or its ID', () => {
  const openai = useUpstream();
  const reading = useSignalbox(() => ({
    policy: testPolicy(
      { one: { url: openai.url, adapter: 'openai' } },
      {
        // The pages of a file may fill this model's window.
        reader: {
          endpoints: ['one'],
          capabilities: ['file_input'],
          more: '    page_tokens_max: 900\n    pages_max: { file: 900 }\n',
        },
        plain: { endpoints: ['one'], capabilities: ['file_input'] },
      },
    ),
  }));

  test.each([
    ['data', { file_data: PDF }],
    ['an address', { file_url: 'https://a.example/long.pdf' }],
    ['an ID', { file_id: 'file_1' }],
  ])('a file is held like a PDF: by %s', async (_, members) => {
    const rich = withKey(await reading.makeKey('--budget', '1000/month'));
    const input = [{ role: 'user', content: [{ type: 'input_file', ...members }] }];
    const ask = (model: string) => reading.post('/v1/route', { model, input, max_output_tokens: 100 }, rich);
    expect(await (await ask('reader')).json()).toMatchObject({ first_hold_credits: 32.768 + 0.4 });
    // Without the figures, the tokens of a file have no upper bound.
    await expectError(await ask('plain'), 'no_eligible_model');
  });
});

test('a route query shows what would be held, and calls no provider', async () => {
  const rich = withKey(await box.makeKey('--budget', '100000/month'));
  const holdOf = async (...parts: readonly object[]) => {
    const answer = await box.post('/v1/route', bodyOf('claude-sonnet-5-5', ...parts), rich);
    return ((await answer.json()) as { readonly first_hold_credits: number }).first_hold_credits;
  };
  const one = await holdOf(file());
  // The window of 1,000,000 tokens at the price of cache writes, and 2,000 tokens of output.
  expect(one).toBe(1_000_000 * 0.0025 + 2_000 * 0.01);
  expect(await holdOf(...Array(5).fill(file()))).toBe(one);
  const poor = withKey(await box.makeKey('--budget', '50/month'));
  const refused = await box.post('/v1/route', bodyOf('claude-sonnet-5-5', file()), poor);
  await expectError(refused, 'request_exceeds_budget');
  expect(claude.requests).toHaveLength(0);
});
