import { describe, expect, test } from 'bun:test';
import { answerOf, quietFor, waitFor } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox, writePolicy } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** A task whose answers are a tenth or ten times as long as the policy declares, on a server that has measured them. */
const upstream = useUpstream();

const MODELS = {
  cheap: { endpoints: ['up'], price: { input: 0.01, output: 0.4 }, quality: 0.6 },
  expensive: { endpoints: ['up'], price: { input: 0.24, output: 9.6 }, quality: 0.9 },
  writer: { endpoints: ['up'], price: { input: 1, output: 4 }, quality: 0.7 },
  short: { endpoints: ['up'], price: { input: 1, output: 4 }, quality: 0.7 },
};
/** `writer` gives the answers that are measured, so that the candidates of the other selectors keep their declared speeds. */
const SELECTORS = ['auto', 'auto-cheap', 'auto-fast'];
const policyOf = (declared: number) =>
  testPolicy(
    { up: upstream.url },
    MODELS,
    `# The orders of the selectors come from this traffic, not from the declared lengths.
traffic: { general: { share: 1, input_tokens: 500, output_tokens: 400 } }
selectors:
${SELECTORS.map((name) => `  ${name}: { strategy: ${name}, models: { require: '!(model.id in ["writer", "short"])' } }`).join('\n')}
  traffic: { strategy: auto, models: { require: model.id == "writer" } }
  only-short: { strategy: auto, models: { require: model.id == "short" } }
`,
  )
    .replaceAll('default_max_output: 1024', 'default_max_output: 8192')
    .replace(/^ {2}short:[\s\S]*/m, (text) => text.replaceAll('8192', '2000'))
    .replace('coding: { expected_output_tokens: 1200', `coding: { expected_output_tokens: ${declared}`);

const QUESTION = 'Write a function in Python that parses ISO dates.';
const messages = [{ role: 'user', content: QUESTION }];

interface Explanation {
  readonly choice: string;
  readonly candidates: readonly { readonly model: string }[];
  readonly expected_output_tokens: number;
  readonly expected_output_source: string;
  readonly explanation: readonly string[];
}

async function explainedBy(box: Signalbox, model: string, more: object = {}): Promise<Explanation> {
  const request = { model, messages, ...more };
  // Each principal may request ten explanations a second.
  const answer = await waitFor(async () => {
    const response = await box.post('/admin/policy/explain', { request });
    return response.status === 429 ? null : response;
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Explanation;
}

/** So many answers are more than the server needs to measure a length. */
const WARMING = 30;

async function start(declared: number) {
  let skippedMs = 0;
  const policy = policyOf(declared);
  const clock = () => performance.now() + skippedMs;
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV, clock });
  const chat = async (model: string, more: object = {}) => {
    // A key adds at most one answer of a task in ten seconds.
    skippedMs += 10_001;
    const response = await box.post('/v1/chat/completions', { model, messages, ...more });
    expect(response.status).toBe(200);
    return await answerOf(response);
  };
  return { box, chat };
}

/** Starts a server, gets enough answers of `words` words, and waits until the length that all of them give is published. */
async function warm(words: number) {
  upstream.behave({ text: 'word '.repeat(words) });
  const server = await start(1_200);
  for (let i = 0; i < WARMING; i++) await server.chat('traffic');
  await waitFor(async () => {
    const text = await (await server.box.get('/metrics')).text();
    const answers = /^signalbox_task_answers\{task="coding"\} (.*)$/m.exec(text)?.[1];
    // Answers lose weight as they get old.
    return Number(answers) > WARMING - 0.5;
  });
  return server;
}

/** The figures of an explanation, without the measured speed of `writer`. */
const figuresOf = ({ choice, candidates, expected_output_tokens }: Explanation) => ({
  ...{ choice, expected_output_tokens },
  candidates: candidates.filter(({ model }) => model !== 'writer'),
});

test.each([
  ['a thirtieth as long', 40],
  ['three times as long', 3_600],
])(
  'a server whose answers are %s as declared decides like a new server whose policy declares that length',
  async (_, words) => {
    const { box } = await warm(words);
    const { expected_output_tokens: measured } = await explainedBy(box, 'auto');
    expect(Math.abs(measured / words - 1)).toBeLessThan(0.4);
    const fresh = await start(measured);
    const weights = { route_strategy: { cost_weight: 0.4, quality_weight: 0.6 } };
    const requests = [...SELECTORS.map((name) => [name, {}] as const), ['auto', weights] as const];
    for (const [name, more] of requests) {
      const own = await explainedBy(box, name, more);
      const other = await explainedBy(fresh.box, name, more);
      expect(figuresOf(own)).toEqual(figuresOf(other));
      expect([own.expected_output_source, other.expected_output_source]).toEqual(['measured', 'declared']);
    }
    await Promise.all([box.stop(), fresh.box.stop()]);
  },
  60_000,
);

test('auto-cheap stays with the cheap model while a server measures short answers', async () => {
  const { box, chat } = await start(1_200);
  const choiceNow = async () => (await explainedBy(box, 'auto-cheap')).choice;
  const before = await choiceNow();
  upstream.behave({ text: 'word '.repeat(40) });
  for (let i = 0; i < 80; i++) await chat('traffic');
  await waitFor(async () => (await explainedBy(box, 'auto')).expected_output_tokens < 150);
  expect([before, await choiceNow()]).toEqual(['expensive', 'expensive']);
  await box.stop();
});

test('20 answers are enough for a measured length, and 19 are not', async () => {
  upstream.behave({ text: 'word '.repeat(40) });
  const { box, chat } = await start(1_200);
  const isMeasured = async () => (await explainedBy(box, 'auto')).expected_output_source === 'measured';
  for (let i = 0; i < 19; i++) await chat('traffic');
  await quietFor(1_500, 'a measured length', isMeasured);
  await chat('traffic');
  await waitFor(isMeasured);
  await box.stop();
});

describe('a measured length that has become long', () => {
  /**
   * A server that has measured 3,600 tokens, after more answers of `words` words with this output limit. The answers may change the
   * server's measured length.
   */
  async function after(words: number, max_tokens: number) {
    const { box, chat } = await warm(3_600);
    const lengthNow = async () => (await explainedBy(box, 'auto')).expected_output_tokens;
    const before = await lengthNow();
    upstream.behave(({ body }) => {
      const cap = Number(body.max_tokens);
      return words > cap ? { text: 'word '.repeat(cap), finish: 'length' } : { text: 'word '.repeat(words) };
    });
    for (let i = 0; i < 40; i++) await chat('traffic', { max_tokens });
    return { box, lengthNow, hasChanged: async () => (await lengthNow()) !== before };
  }

  test('a long measured length falls after short answers whose output limits are below it and above the declared length', async () => {
    const { box, lengthNow } = await after(40, 2_000);
    await waitFor(async () => (await lengthNow()) < 100);
    await box.stop();
  });

  test.each([
    ['answers that these output limits cut', 3_600, 2_000],
    ['answers whose output limits are below the declared length', 40, 1_000],
  ] as const)(
    'a long measured length stays after %s',
    async (_, words, cap) => {
      const { box, hasChanged } = await after(words, cap);
      await quietFor(1_500, 'another length', hasChanged);
      await box.stop();
    },
    60_000,
  );

  test('a measured length does not make the server refuse a named model with a shorter output in the middle of a session', async () => {
    const { box } = await warm(3_600);
    upstream.behave({ text: 'word '.repeat(40) });
    const asked = { model: 'short', messages, max_tokens: 32_000 };
    const { platform } = await answerOf(await box.post('/v1/chat/completions', asked));
    expect(platform).toMatchObject({ routed_model: 'short', output_capped_by: 'model' });
    const refusal = await box.post('/v1/chat/completions', { ...asked, model: 'only-short' });
    expect(refusal.status).toBe(422);
    await box.stop();
  });
});

test('the record has the length with its source, and repeating the decision gives the same result', async () => {
  const { box, chat } = await warm(40);
  const { platform } = await chat('auto');
  const decision = (await (await box.get(`/v1/decisions/${platform?.decision_id}`)).json()) as Explanation & {
    replay: object;
  };
  const tokens = decision.expected_output_tokens;
  expect(tokens).toBeLessThan(100);
  expect(decision).toMatchObject({ replay: { matches: true }, expected_output_source: 'measured' });
  expect(decision.explanation).toContain(`Expected answer: ${tokens} tokens, measured from answers to coding tasks.`);
  // A key with only the scope report sees the record, but the decision is not repeated for it.
  const reader = await box.makeKey('--scope', 'report');
  const read = await fetch(`${box.url}/v1/decisions/${platform?.decision_id}`, {
    headers: { authorization: `Bearer ${reader}` },
  });
  expect(await read.json()).toMatchObject({
    candidates: null,
    expected_output_tokens: tokens,
    expected_output_source: 'measured',
  });
  await box.stop();
});

test('policy explain --url decides with the measurements of a running server; without it, only with the policy', async () => {
  const { box } = await warm(40);
  const folder = writePolicy(policyOf(1_200));
  const env = { ...UPSTREAM_ENV, SIGNALBOX_KEY: box.key };
  // The server may still count the earlier explanations against the rate limit.
  const explain = (...args: string[]) =>
    waitFor(async () => {
      const ended = await runHere(['policy', 'explain', '--message', QUESTION, ...args], env);
      return ended.err.includes('answered 429') ? null : ended;
    });
  const served = await explain('--url', box.url);
  expect(served).toMatchObject({ code: 0, err: '' });
  expect(served.out).toMatch(/Expected answer: \d\d tokens, measured from answers to coding tasks\./);
  expect(served.out).toMatch(/^1 +(cheap|expensive) /m);
  const alone = await explain(folder);
  expect(alone.out).toContain('Expected answer: 1,200 tokens, declared by the policy for coding tasks.');
  const json = JSON.parse((await explain('--url', `${box.url}/`, '--json')).out) as Explanation;
  expect(json).toEqual(await explainedBy(box, 'auto'));
  await box.stop();
});

test('policy explain --url says what is wrong with an address, a key or a flag', async () => {
  const { box } = await start(1_200);
  const explain = async (key: string, ...args: string[]) => {
    const { code, err, out } = await runHere(['policy', 'explain', ...args], { SIGNALBOX_KEY: key });
    expect([code, out]).toEqual([1, '']);
    return err;
  };
  expect(await explain('', '--url', box.url)).toContain('Set SIGNALBOX_KEY to a key with the scope');
  expect(await explain('sb_live_wrong', '--url', box.url)).toContain(`${box.url} answered 401: `);
  expect(await explain(box.key, '--url', 'ftp://x')).toContain('--url must be the URL of a server');
  expect(await explain(box.key, '--url', 'http://127.0.0.1:1')).toContain('http://127.0.0.1:1 does not answer');
  expect(await explain(box.key, '--url', box.url, '--label', 'a=b')).toContain('Remove --label.');
  expect(await explain(box.key, '--url', `${box.url}/nowhere`)).toContain('answered 404');
  expect(await explain(box.key, '--url', box.url, '--data', box.data)).toContain('Remove --data.');
  expect(await explain(box.key, '--url', box.url, '--policies', box.data)).toContain('Remove --policies.');
  for (const named of ['--decision', '--case']) {
    const expected = `${named} states the whole request. Remove --url.`;
    expect(await explain(box.key, '--url', box.url, named, 'dec_x')).toContain(expected);
  }
  await box.stop();
});

test('the source says who set a length that does not come from the task', async () => {
  const { box } = await start(1_200);
  const sourceOf = async (more: object) => (await explainedBy(box, 'auto', more)).expected_output_source;
  expect(await sourceOf({})).toBe('declared');
  expect(await sourceOf({ estimated_output_tokens: 77 })).toBe('request');
  expect(await sourceOf({ max_tokens: 50 })).toBe('max_tokens');
  expect(await sourceOf({ messages: [{ role: 'user', content: 'Write 200 words on dates.' }] })).toBe('prompt');
  await box.stop();
});
