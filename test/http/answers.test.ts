import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { TSchema } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { Value } from '@sinclair/typebox/value';
import { operationAnswers } from '../admin/every-operation.ts';
import { ANSWERS } from '../support/answer-schemas.ts';
import { waitFor } from '../support/answers.ts';
import type { Behaviour } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { strict, walk } from '../support/strict-schema.ts';
import { useUpstream } from '../support/use.ts';

type Name = keyof typeof ANSWERS;
const operations = await operationAnswers();

const upstream = useUpstream();
let box: Signalbox;
/** A server with the shipped policy and without any provider key, so its models are simulated. */
let simulated: Signalbox;

beforeAll(async () => {
  const policy = testPolicy(
    { fake: upstream.url },
    { best: { endpoints: ['fake'], quality: 0.9 }, plain: { endpoints: ['fake'], quality: 0.5 } },
    'gateway: { retries_max: 0, failed_streams: end }\n',
  ).replaceAll('[tools, json_schema]', '[tools, json_schema, choices, logprobs]');
  [box, simulated] = await Promise.all([startSignalbox({ policy, env: UPSTREAM_ENV }), startSignalbox()]);
});

afterAll(async () => {
  await Promise.all([box.stop(), simulated.stop()]);
});

const checks = new Map(Object.entries(ANSWERS).map(([name, schema]) => [name, TypeCompiler.Compile(strict(schema))]));

/** The violations of the documented schema in an answer; empty if there are none. */
function faultsOf(name: Name, value: unknown): string[] {
  return [...checks.get(name)!.Errors(value)].map(({ path, message }) => `${name}${path}: ${message}`);
}

/** The events of a stream without `[DONE]`. */
async function eventsOf(response: Response): Promise<unknown[]> {
  const lines = (await response.text())
    .split('\n')
    .filter((line) => line.startsWith('data: ') && !line.includes('[DONE]'));
  return lines.map((line) => JSON.parse(line.slice('data: '.length)));
}

const messages = [{ role: 'user', content: 'Say hello.' }];
const tool = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
};
const token = {
  token: 'Hi',
  logprob: -0.1,
  bytes: [72, 105],
  top_logprobs: [{ token: 'Hi', logprob: -0.1, bytes: null }],
};
const withLogprobs: Behaviour = {
  raw: [
    JSON.stringify({
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi' },
          logprobs: { content: [token], refusal: null },
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  ],
  form: 'json',
};

/** Every kind of answer: the request, and how the upstream behaves. */
const CASES: readonly (readonly [string, object, Behaviour])[] = [
  ['text', {}, { text: 'Hello!' }],
  ['nothing', {}, { text: [] }],
  ['a text whose tokens Signalbox counts', {}, { text: 'Hello!', usage: 'missing' }],
  ['text after reasoning', {}, { reasoning: 'Hm. ', text: 'Yes.' }],
  ['a refusal', {}, { refusal: 'I may not.', text: [] }],
  ['an answer that is truncated', {}, { text: 'And then', finish: 'length' }],
  ['an answer that is filtered', {}, { text: 'And', finish: 'content_filter' }],
  ['several choices', { n: 2 }, { text: 'Hello!' }],
  [
    'tool calls',
    { tools: [tool] },
    { toolCalls: [1, 2].map(() => ({ name: 'weather', arguments: '{"city":"Bern"}' })) },
  ],
  ['token probabilities', { logprobs: true, top_logprobs: 1 }, withLogprobs],
  ['an answer to a request with dropped fields', { invented: 1 }, {}],
];

describe('the answer matches its documentation and has no other fields:', () => {
  for (const [what, body, behaviour] of CASES) {
    test(`${what}, in JSON`, async () => {
      upstream.next(behaviour);
      const response = await box.post('/v1/chat/completions', { model: 'best', messages, ...body });
      expect(response.status).toBe(200);
      expect(faultsOf('ChatCompletion', await response.json())).toEqual([]);
    });

    test(`${what}, in a stream`, async () => {
      upstream.next(behaviour);
      const asked = { model: 'best', messages, ...body, stream: true, stream_options: { include_usage: true } };
      const events = await eventsOf(await box.post('/v1/chat/completions', asked));
      expect(events.length).toBeGreaterThan(2);
      for (const event of events) expect(faultsOf('ChatCompletionChunk', event)).toEqual([]);
    });
  }

  for (const [what, body] of [
    ['text', {}],
    ['a tool call', { tools: [tool], tool_choice: 'required' }],
    ['JSON', { response_format: { type: 'json_object' } }],
  ] as const) {
    test(`${what} of a simulated model, in JSON and in a stream`, async () => {
      const asked = { model: 'auto-fast', messages, max_tokens: 20, ...body };
      const json = await simulated.post('/v1/chat/completions', asked);
      expect(json.status).toBe(200);
      expect(faultsOf('ChatCompletion', await json.json())).toEqual([]);
      const events = await eventsOf(await simulated.post('/v1/chat/completions', { ...asked, stream: true }));
      expect(events.length).toBeGreaterThan(2);
      for (const event of events) expect(faultsOf('ChatCompletionChunk', event)).toEqual([]);
    });
  }

  test('the last event of a stream that fails', async () => {
    upstream.next({ text: ['one ', 'two ', 'three'], cutAfter: 3 });
    const events = await eventsOf(await box.post('/v1/chat/completions', { model: 'best', messages, stream: true }));
    expect(faultsOf('StreamError', events.at(-1))).toEqual([]);
  });

  test('recommendations, with and without alternatives', async () => {
    for (const [server, query] of [
      [box, {}],
      [box, { model: 'best', estimated_output_tokens: 10 }],
      [box, { task_type: 'coding', constraints: { required_languages: ['python'] }, messages }],
      [simulated, { task_type: 'unheard of' }],
    ] as const) {
      const response = await server.post('/v1/route', query);
      expect(response.status).toBe(200);
      expect(faultsOf('RouteAdvice', await response.json())).toEqual([]);
    }
  });

  test('models', async () => {
    for (const server of [box, simulated]) {
      const list = (await (await server.get('/v1/models')).json()) as { data: { id: string }[] };
      expect(faultsOf('ModelList', list)).toEqual([]);
      for (const { id } of list.data) {
        const one = await server.get(`/v1/models/${encodeURIComponent(id)}`);
        expect(faultsOf('Model', await one.json())).toEqual([]);
      }
    }
  });

  test('usage, with and without spent money', async () => {
    for (const server of [box, simulated]) {
      const asked = { model: 'auto', messages, max_tokens: 20 };
      expect((await server.post('/v1/chat/completions', asked)).status).toBe(200);
      for (const query of ['', '?from=2026-01-01&to=2026-02-01']) {
        expect(faultsOf('UsageReport', await (await server.get(`/v1/usage${query}`)).json())).toEqual([]);
      }
    }
  });

  test('health and readiness', async () => {
    expect(faultsOf('Health', await (await fetch(`${box.url}/healthz`)).json())).toEqual([]);
    expect(faultsOf('Readiness', await (await fetch(`${box.url}/readyz`)).json())).toEqual([]);
  });
});

describe('the decision matches its documentation and has no other fields:', () => {
  async function decisionOf(response: Response): Promise<unknown> {
    await response.text();
    const id = response.headers.get('x-signalbox-decision-id');
    const found = await waitFor(async () => {
      const answer = await box.get(`/v1/decisions/${id}`);
      return answer.ok ? answer : null;
    });
    return found.json();
  }

  test('of a completion whose request uses every field', async () => {
    const body = {
      model: 'auto',
      messages,
      tools: [tool],
      max_tokens: 50,
      route_strategy: { cost_weight: 1 },
      budget_limit: 5,
      constraints: { max_cost_credits: 10, max_latency_ms: 60_000, required_languages: ['py'] },
    };
    for (const asked of [{ model: 'best', messages }, body]) {
      expect(faultsOf('Decision', await decisionOf(await box.post('/v1/chat/completions', asked)))).toEqual([]);
    }
  });

  test('of a recommendation', async () => {
    expect(faultsOf('Decision', await decisionOf(await box.post('/v1/route', {})))).toEqual([]);
  });

  test('of a completion that was interrupted', async () => {
    upstream.next({ text: ['one ', 'two ', 'three'], cutAfter: 3 });
    const asked = { model: 'best', messages, stream: true };
    const decision = await decisionOf(await box.post('/v1/chat/completions', asked));
    expect(faultsOf('Decision', decision)).toEqual([]);
    expect(decision).toMatchObject({ outcome: { status: 'broken', error: 'upstream_failed' } });
  });
});

describe('the schemas', () => {
  const each = [...new Map<string, TSchema>([...Object.entries(ANSWERS), ...operations])];

  test('describe every property', () => {
    const silent: string[] = [];
    for (const [name, schema] of each) {
      walk(schema, ({ properties = {} }, path) => {
        for (const [property, inner] of Object.entries<TSchema>(properties)) {
          if (!inner.description) silent.push(`${name}${path}.${property}`);
        }
      });
    }
    expect(silent).toEqual([]);
  });

  test('state the unit of every amount and time', () => {
    const unitless: string[] = [];
    for (const [name, schema] of each) {
      walk(schema, ({ properties = {} }, path) => {
        for (const [property, { description }] of Object.entries<TSchema>(properties)) {
          const unit = /credits|budget_limit/.test(property) ? /Credits/ : /_ms$|^ms$/.test(property) ? /\bms\b/ : null;
          if (unit && !unit.test(description ?? '')) unitless.push(`${name}${path}.${property}`);
        }
      });
    }
    expect(unitless).toEqual([]);
  });

  test('contain examples that they accept', () => {
    for (const [, schema] of each) {
      walk(schema, (inner) => {
        for (const example of inner.examples ?? []) expect([...Value.Errors(inner, example)]).toEqual([]);
      });
    }
  });

  test('refuse a field that they do not name, at any depth, when this test checks them', () => {
    expect(faultsOf('Health', { status: 'ok', invented: 1 })).toEqual(['Health/invented: Unexpected property']);
    const error = { message: '', type: 'server_error', param: null, code: 'overloaded' };
    expect(faultsOf('ErrorBody', { error })).toEqual([]);
    expect(faultsOf('ErrorBody', { error: { ...error, details: { invented: 1 } } })).toEqual([
      'ErrorBody/error/details/invented: Unexpected property',
    ]);
  });

  test('have names of their own', () => {
    for (const [name, schema] of each) expect(schema.title).toBe(name);
  });

  test('allow new fields: no schema is closed', () => {
    for (const [, schema] of each) walk(schema, (inner) => expect(inner.additionalProperties).not.toBe(false));
  });
});
