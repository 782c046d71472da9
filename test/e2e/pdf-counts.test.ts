import { beforeEach, describe, expect, test } from 'bun:test';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import type { Behaviour, RecordedRequest } from '../support/fake-upstream.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** Counts of PDFs by providers: how many are requested, and the answer if a count fails. */
const claude = useUpstream({ dialect: 'anthropic' });
const gemini = useUpstream({ dialect: 'gemini' });
const reader = (provider: string, quality: number) => ({
  endpoints: [provider],
  quality,
  capabilities: ['file_input'],
  more: '    page_tokens_max: 3000\n    pages_max: { request: 6 }\n',
});
const useReaders = () =>
  useSignalbox(() => ({
    policy: testPolicy(
      { one: { url: claude.url, adapter: 'anthropic' }, two: { url: gemini.url, adapter: 'gemini' } },
      {
        best: reader('one', 0.9),
        good: reader('one', 0.8),
        other: reader('two', 0.7),
        least: reader('two', 0.6),
      },
    ),
  }));

const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } };
const bodyOf = (model: string, text = 'What does it say?') => ({
  model,
  max_tokens: 2_000,
  messages: [{ role: 'user', content: [{ type: 'text', text }, file] }],
});
const isCount = ({ path }: Pick<RecordedRequest, 'path'>) => /count_?tokens$/i.test(path);
const usage = (prompt_tokens: number): Behaviour => ({ usage: { prompt_tokens, completion_tokens: 100 } });
const counts = () => [claude, gemini].flatMap(({ requests }) => requests.filter(isCount));

/** Answers counts as given, and bills 900 tokens. */
function serve(count: Behaviour, countOfGemini = count): void {
  claude.behave((request) => (isCount(request) ? count : usage(900)));
  gemini.behave((request) => (isCount(request) ? countOfGemini : usage(900)));
}

function forget(): void {
  for (const { requests } of [claude, gemini]) requests.length = 0;
}
beforeEach(forget);

describe('a count of a PDF that fails', () => {
  const box = useReaders();
  const ask = async (budget: string, model = 'best') =>
    box.post('/v1/chat/completions', bodyOf(model), withKey(await box.makeKey('--budget', budget)));

  test('if a count is late, a request is capped by its upper bound; if it would be refused, it gets 503 instead', async () => {
    serve({ hang: 'headers' });
    const began = performance.now();
    // 18,000 tokens and a few for the text; 2,000 of output cost 8 Credits.
    const capped = await ask('22/month');
    expect(performance.now() - began).toBeGreaterThan(990);
    const { platform } = await answerOf(capped);
    expect([capped.status, platform.output_capped_by]).toEqual([200, expect.any(String)]);
    const refused = await ask('10/month');
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.clone().text()).not.toContain('never fits');
    await expectError(refused, 'overloaded');
    // A count that was only late is requested again, because the file may have been long.
    expect(counts()).toHaveLength(2);
  });

  test('if the provider fails to count, it is called again within seconds, and no caller is told that the request never fits', async () => {
    serve({ fail: 'server' });
    for (const most of ['2', '[12]']) {
      const refused = await ask('10/month');
      expect(refused.headers.get('retry-after')).toMatch(new RegExp(`^${most}$`));
      expect(await refused.clone().text()).not.toContain('never fits');
      await expectError(refused, 'overloaded');
    }
    expect(counts()).toHaveLength(1);
    serve(usage(900));
    await waitFor(async () => (await ask('10/month')).status === 200);
  });

  test('if the provider refuses to count the prompt, the request stays refused, and other prompts are counted at once', async () => {
    for (const fail of ['rejected', 'context', 'not_found'] as const) {
      serve({ fail });
      await expectError(await ask('10/month', 'other'), 'request_exceeds_budget');
    }
    serve(usage(900));
    expect((await ask('10/month', 'other')).status).toBe(200);
    const metrics = await (await box.get('/metrics')).text();
    expect(metrics).toContain('signalbox_prompt_counts_total{provider="two",end="refused"} 3');
    expect(metrics).toContain('signalbox_prompt_counts_total{provider="two",end="counted"} 1');
    expect(metrics).toMatch(/signalbox_prompt_counts_total\{provider="one",end="failed"\} [1-9]/);
  });
});

describe('a selector', () => {
  const box = useReaders();
  const ask = async () =>
    box.post('/v1/chat/completions', bodyOf('auto'), withKey(await box.makeKey('--budget', '11/month')));

  test('a selector counts for the model that it would choose, and for no other if that model can be paid', async () => {
    serve(usage(900));
    const { platform } = await answerOf(await ask());
    expect(counts()).toHaveLength(1);
    expect([claude, gemini].map(({ requests }) => requests.length).sort()).toEqual([0, 2]);
    expect(platform.output_capped_by).toBeUndefined();
  });

  test('a selector counts for the next model if the first one cannot be paid or counted', async () => {
    for (const count of [usage(17_000), { fail: 'context' }] as const) {
      forget();
      serve(count, usage(900));
      expect((await ask()).status).toBe(200);
      expect(counts().length).toBeGreaterThan(1);
      expect(gemini.requests.filter(isCount)).toHaveLength(1);
    }
  });
});

describe('a key', () => {
  const box = useReaders();

  test('a key has at most four counts at once: further counts of the key wait, and other keys do not', async () => {
    serve({ hang: 'headers' });
    const [many, one] = [await box.makeKey('--budget', '10/month'), await box.makeKey('--budget', '10/month')];
    const ask = (key: string, text: string) => box.post('/v1/chat/completions', bodyOf('best', text), withKey(key));
    const askedBy = (text: string) => counts().filter((request) => request.text.includes(text)).length;
    const all = Array.from({ length: 7 }, () => ask(many, 'of many'));
    const last = ask(one, 'of one');
    await waitFor(() => askedBy('of one') === 1);
    expect(askedBy('of many')).toBe(4);
    for (const answer of await Promise.all([...all, last])) await expectError(answer, 'overloaded');
    // A place that was released is used again.
    serve(usage(900));
    const again = await Promise.all(Array.from({ length: 7 }, () => ask(many, 'again')));
    expect(again.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    expect(again.map(({ status }) => status)).not.toContain(503);
  });
});
