import { describe, expect, test } from 'bun:test';
import { type Answer, answerOf, quietFor, waitFor } from '../support/answers.ts';
import { frequentTimers } from '../support/frequent-timers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox, writePolicy } from '../support/signalbox.ts';
import { useStarted, useUpstream } from '../support/use.ts';

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

/** So many answers are more than the server needs to measure a length. */
const WARMING = 30;

/** Servers publish measurements so many times a second, in place of once. */
const FASTER = 10;
/** In this time, a server publishes measurements at least once, ms. */
const PUBLISHED_MS = 1_500 / FASTER;

interface Server {
  readonly box: Signalbox;
  explain(model: string, more?: object): Promise<Explanation>;
  chat(model: string, more?: object): Promise<Answer>;
  stop(): Promise<void>;
}

async function start(declared: number): Promise<Server> {
  let skippedMs = 0;
  const policy = policyOf(declared);
  const clock = () => performance.now() + skippedMs;
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV, clock, timers: frequentTimers(FASTER) });
  return {
    box,
    async explain(model, more = {}) {
      // Each principal may request ten explanations a second.
      skippedMs += 100;
      const answer = await box.post('/admin/policy/explain', { request: { model, messages, ...more } });
      expect(answer.status).toBe(200);
      return (await answer.json()) as Explanation;
    },
    async chat(model, more = {}) {
      // A key adds at most one answer of a task in ten seconds.
      skippedMs += 10_001;
      const response = await box.post('/v1/chat/completions', { model, messages, ...more });
      expect(response.status).toBe(200);
      return await answerOf(response);
    },
    stop: () => box.stop(),
  };
}

/** Starts a server, gets enough answers of `words` words, and waits until the length that all of them give is published. */
async function warm(words: number): Promise<Server> {
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

/** An explanation without the measured speed of `writer`, which changes as the measurements get old. */
const withoutWriter = (one: Explanation): Explanation => ({
  ...one,
  candidates: one.candidates.filter(({ model }) => model !== 'writer'),
});

const figuresOf = (one: Explanation) => {
  const { choice, candidates, expected_output_tokens } = withoutWriter(one);
  return { choice, candidates, expected_output_tokens };
};

async function decidesAsDeclared(server: Server, words: number): Promise<void> {
  const { expected_output_tokens: measured } = await server.explain('auto');
  expect(Math.abs(measured / words - 1)).toBeLessThan(0.4);
  const fresh = await start(measured);
  const weights = { route_strategy: { cost_weight: 0.4, quality_weight: 0.6 } };
  const requests = [...SELECTORS.map((name) => [name, {}] as const), ['auto', weights] as const];
  for (const [name, more] of requests) {
    const own = await server.explain(name, more);
    const other = await fresh.explain(name, more);
    expect(figuresOf(own)).toEqual(figuresOf(other));
    expect([own.expected_output_source, other.expected_output_source]).toEqual(['measured', 'declared']);
  }
  await fresh.stop();
}

test('auto-cheap stays with the cheap model while a server measures short answers', async () => {
  const { chat, explain, stop } = await start(1_200);
  const before = (await explain('auto-cheap')).choice;
  upstream.behave({ text: 'word '.repeat(40) });
  for (let i = 0; i < 80; i++) await chat('traffic');
  await waitFor(async () => (await explain('auto')).expected_output_tokens < 150);
  expect([before, (await explain('auto-cheap')).choice]).toEqual(['expensive', 'expensive']);
  await stop();
});

describe('a server that has measured nothing', () => {
  const server = useStarted(() => start(1_200));

  test('says who set a length that does not come from the task', async () => {
    const sourceOf = async (more: object) => (await server.explain('auto', more)).expected_output_source;
    expect(await sourceOf({})).toBe('declared');
    expect(await sourceOf({ estimated_output_tokens: 77 })).toBe('request');
    expect(await sourceOf({ max_tokens: 50 })).toBe('max_tokens');
    expect(await sourceOf({ messages: [{ role: 'user', content: 'Write 200 words on dates.' }] })).toBe('prompt');
  });

  test('policy explain --url says what is wrong with an address, a key or a flag', async () => {
    const { box } = server;
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
  });

  test('measures a length from 20 answers, and none from 19', async () => {
    upstream.behave({ text: 'word '.repeat(40) });
    const isMeasured = async () => (await server.explain('auto')).expected_output_source === 'measured';
    for (let i = 0; i < 19; i++) await server.chat('traffic');
    await quietFor(PUBLISHED_MS, 'a measured length', isMeasured);
    await server.chat('traffic');
    await waitFor(isMeasured);
  });
});

describe('a server whose answers are a thirtieth as long as declared', () => {
  const server = useStarted(() => warm(40));

  test('decides like a new server whose policy declares that length', () => decidesAsDeclared(server, 40));

  test('decides with its measurements for policy explain --url; without --url, only the policy decides', async () => {
    const { box } = server;
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
    expect(withoutWriter(json)).toEqual(withoutWriter(await server.explain('auto')));
  });

  test('records the length with its source, and repeating the decision gives the same result', async () => {
    const { box } = server;
    const { platform } = await server.chat('auto');
    const decision = (await (await box.get(`/v1/decisions/${platform.decision_id}`)).json()) as Explanation & {
      replay: object;
    };
    const tokens = decision.expected_output_tokens;
    expect(tokens).toBeLessThan(100);
    expect(decision).toMatchObject({ replay: { matches: true }, expected_output_source: 'measured' });
    expect(decision.explanation).toContain(`Expected answer: ${tokens} tokens, measured from answers to coding tasks.`);
    // A key with only the scope report sees the record, but the decision is not repeated for it.
    const reader = await box.makeKey('--scope', 'report');
    const read = await fetch(`${box.url}/v1/decisions/${platform.decision_id}`, {
      headers: { authorization: `Bearer ${reader}` },
    });
    expect(await read.json()).toMatchObject({
      candidates: null,
      expected_output_tokens: tokens,
      expected_output_source: 'measured',
    });
  });
});

const lengthOf = async ({ explain }: Server) => (await explain('auto')).expected_output_tokens;

/** Gets more answers of `words` words with this output limit. */
async function answer({ chat }: Server, words: number, max_tokens: number): Promise<void> {
  upstream.behave(({ body }) => {
    const cap = Number(body.max_tokens);
    return words > cap ? { text: 'word '.repeat(cap), finish: 'length' } : { text: 'word '.repeat(words) };
  });
  for (let i = 0; i < 40; i++) await chat('traffic', { max_tokens });
}

async function staysAfter(server: Server, words: number, limit: number): Promise<void> {
  const before = await lengthOf(server);
  await answer(server, words, limit);
  await quietFor(PUBLISHED_MS, 'another length', async () => (await lengthOf(server)) !== before);
}

describe('a server whose answers are three times as long as declared', () => {
  const server = useStarted(() => warm(3_600));
  test('decides like a new server whose policy declares that length', () => decidesAsDeclared(server, 3_600));

  test('does not refuse a named model with a shorter output in the middle of a session', async () => {
    const { box } = server;
    upstream.behave({ text: 'word '.repeat(40) });
    const asked = { model: 'short', messages, max_tokens: 32_000 };
    const { platform } = await answerOf(await box.post('/v1/chat/completions', asked));
    expect(platform).toMatchObject({ routed_model: 'short', output_capped_by: 'model' });
    const refusal = await box.post('/v1/chat/completions', { ...asked, model: 'only-short' });
    expect(refusal.status).toBe(422);
  });

  test('keeps its measured length after answers whose output limits are below the declared length', () =>
    staysAfter(server, 40, 1_000));

  test('measures shorter answers whose output limits are above the declared length', async () => {
    await answer(server, 40, 2_000);
    await waitFor(async () => (await lengthOf(server)) < 100);
  });
});

test('a server keeps a long measured length after answers that their output limits cut', async () => {
  const server = await warm(3_600);
  await staysAfter(server, 3_600, 2_000);
  await server.stop();
});
