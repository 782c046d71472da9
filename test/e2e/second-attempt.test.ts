import { afterEach, describe, expect, test } from 'bun:test';
import { closedBooks, entriesOf } from '../gateway/money/books.ts';
import { waitFor } from '../support/answers.ts';
import type { Behaviour, FakeUpstream } from '../support/fake-upstream.ts';
import { CITY, DOORS, type Door, type ReadAnswer, SCHEMA } from '../support/forced-calls.ts';
import { PROMPT_TOKENS, startMeteredService } from '../support/metered-service.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { startSignalbox, withKey } from '../support/signalbox.ts';
import { useLivePolicy, useUpstream } from '../support/use.ts';

/** An answer that failed is followed by one attempt at the strong tier, in every dialect, and both are paid. */
const [weak, strong, claude, responds] = [
  useUpstream(),
  useUpstream(),
  useUpstream({ dialect: 'anthropic' }),
  useUpstream(),
];
const UPSTREAMS = { weak, strong, claude, responds };

const CAPABILITIES = ['tools', 'json_schema', 'choices'];
const POLICY = testPolicy(
  {
    weak: weak.url,
    strong: strong.url,
    claude: { url: claude.url, adapter: 'anthropic' },
    responds: { url: responds.url, adapter: 'openai' },
  },
  {
    weak: { endpoints: ['weak'], quality: 0.7, capabilities: CAPABILITIES },
    claude: { endpoints: ['claude'], quality: 0.7, capabilities: CAPABILITIES },
    responds: { endpoints: ['responds'], quality: 0.7, capabilities: CAPABILITIES },
    unforced: {
      endpoints: ['weak'],
      quality: 0.6,
      capabilities: CAPABILITIES,
      more: '    lacks: [forced_tools]\n',
    },
    strong: {
      endpoints: ['strong'],
      quality: 0.9,
      price: { input: 10, output: 40 },
      capabilities: CAPABILITIES,
    },
  },
  `selectors:
  auto: { strategy: auto, tiers: { usual: [weak], strong: [strong] } }
  unforced-first: { strategy: auto, tiers: { usual: [unforced], strong: [strong] } }
  claude-first: { strategy: auto, tiers: { usual: [claude], strong: [strong] } }
  responds-first: { strategy: auto, tiers: { usual: [responds], strong: [strong] } }
  strong-only: { strategy: auto, tiers: { usual: [strong], strong: [strong, weak] } }
  each: { strategy: weighted }
`,
);

const live = useLivePolicy(() => ({ 'policy.yaml': POLICY }));

afterEach(() => {
  for (const upstream of Object.values(UPSTREAMS)) {
    upstream.behave({});
    upstream.requests.length = 0;
  }
});

const USAGE = { prompt_tokens: 10, completion_tokens: 2 };
const answering = (behaviour: Behaviour): Behaviour => ({ usage: USAGE, ...behaviour });
const calling = (text: string, name = 'weather'): Behaviour => answering({ toolCalls: [{ name, arguments: text }] });
/** The cost of the fakes' answers, Credits: 10 tokens of input and 2 of output. */
const CREDITS = { weak: 0.018, strong: 0.18 };

/** The same for services that accept only a subset of JSON Schema. */
const CLOSED = {
  ...SCHEMA,
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  additionalProperties: false,
};

/** The members that request JSON of a schema, or any JSON, in each dialect. */
const FORMATS: Readonly<Record<string, { readonly schema: object; readonly any: object | null }>> = {
  chat: {
    schema: { response_format: { type: 'json_schema', json_schema: { name: 'city', schema: CLOSED } } },
    any: { response_format: { type: 'json_object' } },
  },
  messages: { schema: { output_config: { format: { type: 'json_schema', schema: CLOSED } } }, any: null },
  responses: {
    schema: { text: { format: { type: 'json_schema', name: 'city', schema: CLOSED } } },
    any: { text: { format: { type: 'json_object' } } },
  },
};

async function ask(door: Door, more: object = {}, model = 'auto'): Promise<ReadAnswer> {
  const { tools: _, ...body } = door.body(model, SCHEMA);
  const response = await live.box.post(door.path, { ...body, ...more });
  const answer = (await response.json()) as object;
  if (response.status !== 200) throw new Error(JSON.stringify(answer));
  return door.read(answer);
}

const triedIn = ({ platform }: ReadAnswer): string[] =>
  platform.attempts.map(({ model, failure, after }) => `${model} ${failure ?? 'ok'}${after ? ` after ${after}` : ''}`);

const decisionOf = async ({ platform }: ReadAnswer) =>
  (await (await live.box.get(`/v1/decisions/${platform.decision_id}`)).json()) as {
    replay: { matches: boolean };
    choice: string;
    outcome: { status: string; attempts: { model: string; after: string | null; credits_consumed: number | null }[] };
  };

/** Checks that an answer comes from the second attempt, and that both attempts are paid and recorded. */
async function expectSecond(answer: ReadAnswer, signal: string, first = 'weak'): Promise<void> {
  expect(triedIn(answer)).toEqual([`${first} ${signal}`, `strong ok after ${signal}`]);
  expect(answer.platform.route_reason).toMatch(/:usual:second_attempt$/);
  expect(answer.platform.routed_model).toBe('strong');
  expect(answer.platform.credits_consumed).toBeCloseTo(CREDITS.weak + CREDITS.strong, 6);
  expect(answer.platform.attempts.map(({ credits_consumed: credits }) => credits)).toEqual([
    CREDITS.weak,
    CREDITS.strong,
  ]);
  const { choice, replay, outcome } = await decisionOf(answer);
  expect({ choice, replay }).toMatchObject({ choice: first, replay: { matches: true } });
  expect(outcome.attempts.map(({ credits_consumed: credits }) => credits)).toEqual([CREDITS.weak, CREDITS.strong]);
}

describe.each(DOORS)('%s', (name, door) => {
  const { schema, any } = FORMATS[name]!;
  const tools = { tools: door.body('auto', SCHEMA).tools };

  test('a text that does not fit the schema of the request', async () => {
    weak.next(answering({ text: '{"days":"three"}' }));
    strong.next(answering({ text: CITY }));
    const answer = await ask(door, schema);
    expect(answer.text).toBe(CITY);
    await expectSecond(answer, 'broken_schema');
  });

  test('a text that is not JSON', async () => {
    weak.next(answering({ text: 'Here is it: {"city":"Bern"}' }));
    strong.next(answering({ text: CITY }));
    await expectSecond(await ask(door, any ?? schema), 'broken_schema');
  });

  test.each(['{"city":', '{"days":3}', '{"city":"B"}'])('a call with the arguments %s', async (text) => {
    weak.next(calling(text));
    strong.next(calling(CITY));
    const answer = await ask(door, tools);
    expect(answer.calls).toMatchObject([{ name: 'weather', arguments: CITY }]);
    await expectSecond(answer, 'malformed_call');
  });

  test('a call of a function that the request does not have', async () => {
    weak.next(calling(CITY, 'climate'));
    strong.next(calling(CITY));
    const answer = await ask(door, tools);
    expect(answer.calls).toMatchObject([{ name: 'weather', arguments: CITY }]);
    await expectSecond(answer, 'malformed_call');
  });

  test('an empty answer', async () => {
    weak.next(answering({ text: ' ' }));
    strong.next(answering({ text: 'Rain.' }));
    const answer = await ask(door);
    expect(answer.text).toBe('Rain.');
    await expectSecond(answer, 'empty_answer');
  });

  test('a good answer is the only one', async () => {
    weak.next(answering({ text: CITY }), calling(CITY), answering({ text: 'Rain.' }));
    for (const more of [schema, tools, {}]) expect(triedIn(await ask(door, more))).toEqual(['weak ok']);
    expect(strong.requests).toHaveLength(0);
  });

  test('an answer that was cut off or refused has no second attempt', async () => {
    weak.next(answering({ text: '{"ci', finish: 'length' }), answering({ text: '', finish: 'content_filter' }));
    for (const more of [schema, schema]) expect(triedIn(await ask(door, more))).toEqual(['weak ok']);
    expect(strong.requests).toHaveLength(0);
  });

  test('if the second attempt fails, the caller gets the first answer as it was', async () => {
    const first = answering({ text: '{"days":3}' });
    weak.behave(first);
    const alone = await ask(door, schema, 'weak');
    for (const [failing, tried, credits] of FAILING) {
      strong.next(failing);
      const answer = await ask(door, schema);
      expect(answer.text).toBe('{"days":3}');
      expect(answer.finish).toBe(alone.finish);
      expect(triedIn(answer)).toEqual([tried, 'weak ok']);
      expect(answer.platform).toMatchObject({ routed_model: 'weak', route_reason: 'auto:usual' });
      expect(answer.platform.credits_consumed).toBeCloseTo(CREDITS.weak + credits, 6);
      expect((await decisionOf(answer)).replay.matches).toBe(true);
    }
  });

  test('a stream keeps its first answer', async () => {
    weak.next(answering({ text: '{"days":3}' }));
    const { tools: _, ...body } = door.body('auto', SCHEMA);
    const response = await live.box.post(door.path, { ...body, ...schema, stream: true });
    expect(response.status).toBe(200);
    await response.text();
    expect(strong.requests).toHaveLength(0);
  });
});

/** Failures of the second attempt, how they are listed, and what they cost. */
const FAILING: readonly (readonly [Behaviour, string, number])[] = [
  [{ status: 500 }, 'strong server after broken_schema', 0],
  [{ status: 400, error: { message: 'no' } }, 'strong rejected after broken_schema', 0],
  [answering({ text: '{"days":4}' }), 'strong broken_schema after broken_schema', CREDITS.strong],
  [answering({ text: 'No.', finish: 'content_filter' }), 'strong refused after broken_schema', CREDITS.strong],
];

describe('answers that are passed through', () => {
  const passed: readonly (readonly [string, FakeUpstream, string])[] = [
    ['messages', claude, 'claude'],
    ['responses', responds, 'responds'],
  ];
  test.each(passed)('%s', async (name, upstream, model) => {
    const door = DOORS.find(([one]) => one === name)![1];
    upstream.next(answering({ text: '{"days":3}' }), answering({ text: '' }));
    strong.next(answering({ text: CITY }), answering({ text: 'Rain.' }));
    const answer = await ask(door, FORMATS[name]!.schema, `${model}-first`);
    expect(answer.text).toBe(CITY);
    await expectSecond(answer, 'broken_schema', model);
    const empty = await ask(door, {}, `${model}-first`);
    expect(empty.text).toBe('Rain.');
    await expectSecond(empty, 'empty_answer', model);
  });
});

describe('other requests with a second attempt', () => {
  const [, chat] = DOORS[0];
  const { schema, any } = FORMATS.chat!;
  const bodyWith = (more: object) => {
    const { tools: _, ...body } = chat.body('auto', SCHEMA);
    return { ...body, ...more };
  };

  test('one good choice is enough', async () => {
    const wire = (...texts: readonly string[]): Behaviour => ({
      raw: [
        JSON.stringify({
          choices: texts.map((content, index) => ({ index, message: { content }, finish_reason: 'stop' })),
          usage: USAGE,
        }),
      ],
    });
    weak.next(wire(CITY, '{"days":3}'), wire('{}', '{"days":3}'));
    strong.next(wire(CITY, CITY));
    expect(triedIn(await ask(chat, { ...schema, n: 2 }))).toEqual(['weak ok']);
    await expectSecond(await ask(chat, { ...schema, n: 2 }), 'broken_schema');
  });

  test('a forced call that the model answers as JSON', async () => {
    weak.next(answering({ text: '{"days":3}' }));
    strong.next(calling(CITY));
    const { tools } = chat.body('auto', SCHEMA);
    const answer = await ask(chat, { tools, ...chat.named }, 'unforced-first');
    expect(answer.calls).toMatchObject([{ name: 'weather', arguments: CITY }]);
    await expectSecond(answer, 'malformed_call', 'unforced');
  });

  test('a repeat with the same Idempotency-Key gets the second answer again, without a call', async () => {
    weak.next(answering({ text: '{"days":3}' }));
    strong.next(answering({ text: CITY }));
    const headers = { headers: { 'idempotency-key': 'second' } };
    const bodies = [];
    for (let nth = 0; nth < 2; nth++) {
      const response = await live.box.post(chat.path, bodyWith(schema), headers);
      bodies.push((await response.json()) as object);
    }
    await expectSecond(chat.read(bodies[0]!), 'broken_schema');
    expect(bodies[1]).toEqual(bodies[0]!);
    expect([weak.requests.length, strong.requests.length]).toEqual([1, 1]);
  });

  test('a caller who leaves during the second attempt pays for the first', async () => {
    const key = await live.box.makeKey();
    weak.next(answering({ text: '{"days":3}' }));
    strong.next({ hang: 'headers' });
    const { aborted } = strong;
    const leaving = new AbortController();
    const { headers } = withKey(key);
    const sent = live.box.post(chat.path, bodyWith(schema), { headers, signal: leaving.signal }).catch(() => null);
    await waitFor(() => strong.requests.length === 1);
    leaving.abort();
    await sent;
    await waitFor(() => strong.aborted > aborted);
    await waitFor(async () => {
      const { days } = (await (await live.box.get('/v1/usage', withKey(key))).json()) as { days: { model: string }[] };
      return days.some(({ model }) => model === 'weak');
    });
  });

  test('an answer that is paid for while it is written is read to its end first', async () => {
    const service = startMeteredService('stops', () => ({ tokens: 60, atOnce: 5, reports: 'each' }));
    const policy = POLICY.replace(weak.url, service.url)
      .replace(
        'passthrough: [verbosity]',
        'passthrough: [verbosity], after_abort: { bills: stops, reports: each, margin_tokens: 20, margin_ms: 20 }',
      )
      .replace('price: { input: 10, output: 40', 'price: { input: 1, output: 4');
    const budget = 'budgets: [{ name: purse, limit_credits: 4, window: total }]\n';
    const box = await startSignalbox({ policy: policy + budget, env: UPSTREAM_ENV });
    try {
      strong.next(answering({ text: CITY }));
      const response = await box.post(chat.path, bodyWith({ ...any, max_tokens: 800 }));
      const answer = chat.read((await response.json()) as object);
      expect(service.bills).toMatchObject([{ isStream: true }]);
      expect(triedIn(answer)).toEqual(['weak broken_schema', 'strong ok after broken_schema']);
      expect(answer.platform.credits_consumed).toBeCloseTo((PROMPT_TOKENS + 4 * 60) / 1_000 + CREDITS.weak, 6);
      expect((await closedBooks(box.data)).faults).toEqual([]);
    } finally {
      await box.stop();
      await service.stop();
    }
  });
});

describe('a request has no second attempt', () => {
  const [, chat] = DOORS[0];
  const { schema } = FORMATS.chat!;
  const bad = answering({ text: '{"days":3}' });

  const without: readonly (readonly [string, object, string?])[] = [
    ['if it names its model', {}, 'weak'],
    ['if a strategy scores each request', {}, 'each'],
    ['if the caller weighs it', { route_strategy: { cost_weight: 0, quality_weight: 1 } }],
    ['if it has stop sequences', { stop: ['END'] }],
    [
      'if the caller wrote the beginning of the answer',
      {
        messages: [
          { role: 'user', content: 'How is the weather?' },
          { role: 'assistant', content: '{' },
        ],
      },
    ],
    ['if its limit covers only one attempt', { budget_limit: 3, max_tokens: 100 }],
    ['if the model of the strong tier answered and the others are worse', {}, 'strong-only'],
  ];
  test.each(without)('%s', async (_, more, model = 'auto') => {
    for (const upstream of Object.values(UPSTREAMS)) upstream.behave(bad);
    const answer = await ask(chat, { ...schema, ...more }, model);
    expect(answer.platform.attempts).toHaveLength(1);
    expect(answer.text).toBe('{"days":3}');
  });

  const settings: readonly (readonly [string, string])[] = [
    ['if the policy turns second attempts off', 'escalate: { second_attempt: false }'],
    ['if the signal does not count', 'escalate: { on: [empty_answer, correction] }'],
  ];
  test.each(settings)('%s', async (_, setting) => {
    const { revision } = await live.status();
    live.replace('policy.yaml', `${POLICY}\n${setting}\n`);
    await live.changedFrom(revision);
    try {
      weak.next(bad);
      expect(triedIn(await ask(chat, schema))).toEqual(['weak ok']);
    } finally {
      const changed = await live.status();
      live.replace('policy.yaml', POLICY);
      await live.changedFrom(changed.revision);
    }
  });
});

describe('the tokens of both attempts', () => {
  const [, chat] = DOORS[0];
  const [first, second] = [2_000, 3_000];
  const endings: readonly (readonly [string, Behaviour])[] = [
    ['if the second answer is good', { text: CITY }],
    ['if the second answer fails, too', { text: '{"days":4}' }],
  ];
  test.each(endings)('count for the rate limits of the key %s', async (_, end) => {
    const tpm = 20_000;
    const key = await live.box.makeKey('--tpm', `${tpm}`);
    const using = (tokens: number) => ({ prompt_tokens: 10, completion_tokens: tokens - 10 });
    weak.next({ text: '{"days":3}', usage: using(first) }, answering({ text: 'Rain.' }));
    strong.next({ ...end, usage: using(second) });
    const { tools: _tools, ...body } = chat.body('auto', SCHEMA);
    const more = { ...FORMATS.chat!.schema, max_tokens: 4_000 };
    const answer = chat.read(
      (await (await live.box.post(chat.path, { ...body, ...more }, withKey(key))).json()) as object,
    );
    expect(answer.platform.attempts).toHaveLength(2);
    const next = await live.box.post(chat.path, { ...body, model: 'weak', max_tokens: 10 }, withKey(key));
    // In 3 seconds, 1,000 tokens become available again.
    expect(Number(next.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(tpm - first - second + 1_000);
  });
});

describe('the money of both attempts', () => {
  const [, chat] = DOORS[0];
  const wanted = { ...FORMATS.chat!.schema, max_tokens: 100 };
  const holdsOf = () => entriesOf(live.box.data).filter(({ kind }) => kind === 'reserve' || kind === 'raise');

  /** Sends a request with a key of its own, whose first answer fails. Returns the answer and what was set aside, in microcredits. */
  async function askWith(budget: number, model = 'auto') {
    const key = await live.box.makeKey('--budget', `${budget}/day`);
    const before = holdsOf().length;
    for (const upstream of Object.values(UPSTREAMS)) upstream.behave(answering({ text: '{"days":3}' }));
    strong.behave(answering({ text: CITY }));
    const { tools: _, ...body } = chat.body(model, SCHEMA);
    const response = await live.box.post(chat.path, { ...body, ...wanted }, withKey(key));
    expect(response.status).toBe(200);
    const answer = chat.read((await response.json()) as object);
    return { answer, key, holds: holdsOf().slice(before) };
  }

  /** The charges of the running day by model, Credits. */
  async function chargesOf(key: string) {
    const report = (await (await live.box.get('/v1/usage', withKey(key))).json()) as {
      days: { model: string; credits: number }[];
    };
    return Object.fromEntries(report.days.map(({ model, credits }) => [model, credits]));
  }

  /** The worst case of a request for one model, microcredits. */
  const boundOf = async (model: string) => (await askWith(1_000, model)).holds[0]!.amount;

  test('a hold covers the worst cases of both attempts from the beginning', async () => {
    const both = (await boundOf('weak')) + (await boundOf('strong'));
    const { answer, holds } = await askWith(1_000);
    expect(holds.map(({ kind, amount }) => [kind, amount])).toEqual([['reserve', both]]);
    await expectSecond(answer, 'broken_schema');
  });

  test('near the end of a budget, the money for the second attempt is set aside when it begins', async () => {
    const [first, second] = [await boundOf('weak'), await boundOf('strong')];
    const { answer, holds } = await askWith((first + second) / 1e6 + 0.000001);
    expect(holds.map(({ kind }) => kind)).toEqual(['reserve', 'raise']);
    expect(holds[0]!.amount).toBe(first);
    await expectSecond(answer, 'broken_schema');
  });

  test('a budget that covers only one attempt pays for one', async () => {
    const [first, second] = [await boundOf('weak'), await boundOf('strong')];
    for (const budget of [first, second]) {
      const { answer, key } = await askWith(budget / 1e6);
      expect(triedIn(answer)).toEqual(['weak ok']);
      expect(await chargesOf(key)).toEqual({ weak: CREDITS.weak });
    }
  });

  test('reports count both attempts, each with its model', async () => {
    const { key } = await askWith(1_000);
    expect(await chargesOf(key)).toEqual({ weak: CREDITS.weak, strong: CREDITS.strong });
  });
});
