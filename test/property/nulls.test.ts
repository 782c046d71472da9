import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { OptionalKind, type TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import { isObject } from '../../plugins/providers/json.ts';
import { ChatRequest } from '../../src/core/api/chat-request.ts';
import { RouteChat, RouteQuery } from '../../src/core/api/route-query.ts';
import { toRead } from '../../src/core/schema/nullable.ts';
import { readChat, readRoute } from '../../src/dialects/openai-chat/read-body.ts';
import { anyRequest } from '../../src/tools/conformance/requests.ts';
import { tries } from '../deep/effort.ts';
import { type Answer, adviceOf } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

type Body = Readonly<Record<string, unknown>>;

/** A member for which null differs from absent: some servers require it, so it goes upstream unchanged. */
const KEPT = /^\/messages\/\d+\/content$/;

/** Returns the locations of optional members that a value leaves out, according to the schema alone: `/tools/0/function/description`. */
function absentIn(value: unknown, schema: TSchema, at = ''): string[] {
  const variants: TSchema[] = schema.anyOf ?? [];
  const fitting = variants.find((one) => Value.Check(one, value));
  if (variants.length > 0) return fitting ? absentIn(value, fitting, at) : [];
  if (Array.isArray(value)) {
    return schema.items ? value.flatMap((item, index) => absentIn(item, schema.items, `${at}/${index}`)) : [];
  }
  if (!isObject(value)) return [];
  // In a map every member is optional and no name is fixed, so the test adds a new name.
  if (schema.patternProperties) return 'absent' in value ? [] : [`${at}/absent`];
  return Object.entries<TSchema>(schema.properties ?? {}).flatMap(([name, property]) => {
    const place = `${at}/${name}`;
    if (value[name] === undefined) return OptionalKind in property && !KEPT.test(place) ? [place] : [];
    return absentIn(value[name], property, place);
  });
}

/** Returns a copy with null at these locations. */
function withNulls(body: Body, places: readonly string[]): Body {
  const copy = structuredClone(body);
  for (const place of places) {
    const steps = place.split('/').slice(1);
    const last = steps.pop()!;
    const owner = steps.reduce<unknown>((inner, step) => Reflect.get(Object(inner), step), copy);
    Reflect.set(Object(owner), last, null);
  }
  return copy;
}

const clean = toRead(ChatRequest);
/** Random requests without any null or undefined. */
const requests = anyRequest({ ofMessage: fc.constant({}), ofCall: () => ({}) })
  .filter((request) => Value.Check(ChatRequest, request))
  .map((request): Body => structuredClone(clean(JSON.parse(JSON.stringify(request)))));
const steering: fc.Arbitrary<Body> = fc.record(
  {
    constraints: fc.constantFrom({}, { max_cost_credits: 5 }, { required_languages: ['python'] }),
    route_strategy: fc.constantFrom({}, { cost_weight: 1 }),
    stream_options: fc.constant({}),
    metadata: fc.constantFrom({}, { team: 'a' }),
    logit_bias: fc.constantFrom({}, { 50256: -100 }),
    stream: fc.constant(true),
    task_type: fc.constant('coding'),
  },
  { requiredKeys: [] },
);
const chat = fc.tuple(requests, steering).map(([request, more]): Body => ({ ...request, ...more, model: 'auto' }));
const query: fc.Arbitrary<Body> = steering.map(({ stream: _, stream_options: __, logit_bias: ___, ...rest }) => rest);

/** A body, and the same body with null for some of its absent members, at any depth. */
const nulled = (bodies: fc.Arbitrary<Body>, schema: TSchema): fc.Arbitrary<readonly [Body, Body]> =>
  bodies.chain((body) => fc.subarray(absentIn(body, schema)).map((places) => [body, withNulls(body, places)] as const));

describe('null in any optional field of a body', () => {
  const same =
    (read: (body: unknown) => unknown) =>
    ([body, nulls]: readonly [Body, Body]) => {
      expect(outcomeOf(read, nulls)).toEqual(outcomeOf(read, body));
    };
  /** Returns the body as it is read, or the text of its refusal. */
  function outcomeOf(read: (body: unknown) => unknown, body: unknown): unknown {
    try {
      return read(body);
    } catch (error) {
      return String(error);
    }
  }

  test('null in any optional field of a body is read as if it were absent, in chats, in chats sent to /v1/route, and in route queries', () => {
    const often = tries('null in any optional field is read as if the field were absent', 60, 5_000);
    fc.assert(fc.property(nulled(chat, ChatRequest), same(readChat)), often);
    fc.assert(fc.property(nulled(chat, RouteChat), same(readRoute)), often);
    fc.assert(fc.property(nulled(query, RouteQuery), same(readRoute)), often);
  });

  test('null in nested fields would be kept if only the top level were checked', () => {
    const shallow = (body: unknown) => {
      const deep = readChat(body);
      const own = Object.entries(Object(body)).filter(([, value]) => value !== null);
      return { ...deep, ...Object.fromEntries(own) };
    };
    expect(
      fc.check(fc.property(nulled(chat, ChatRequest), same(shallow)), { numRuns: 500 }).counterexample,
    ).not.toBeNull();
  });

  test('null in a map counts as an absent member, and an object with only nulls counts as absent options', () => {
    const messages = [{ role: 'user', content: 'x' }];
    const nulls = { metadata: { k: null, team: 'a' }, logit_bias: { 1: null } };
    const read = { metadata: { team: 'a' }, logit_bias: {} };
    expect<unknown>(readChat({ model: 'auto', messages, ...nulls })).toEqual({ model: 'auto', messages, ...read });
    expect<unknown>(readRoute({ messages, ...nulls })).toEqual({ messages, ...read });
    expect<unknown>(readRoute({ metadata: { k: null } })).toEqual({ metadata: {} });
  });

  test('null stays in fields that are not Signalbox’s own, and in the content of a message', () => {
    const body = {
      model: 'auto',
      messages: [{ role: 'assistant', content: null, refusal: 'No.', own: null }],
      tools: [{ type: 'function', function: { name: 'f', parameters: { default: null } }, own: null }],
      own: null,
    };
    expect<unknown>(readChat(body)).toEqual(body);
  });

  test.each([
    [{ model: null, messages: [] }, 'model'],
    [{ model: 'auto', messages: null }, 'messages'],
    [{ model: 'auto', messages: [{ role: null, content: 'x' }] }, 'messages[0].role'],
    [
      { model: 'auto', messages: [{ role: 'user', content: 'x' }], tools: [{ type: 'function', function: null }] },
      'tools[0].function',
    ],
    [
      { model: 'auto', messages: [{ role: 'user', content: [{ type: 'text', text: null }] }] },
      'messages[0].content[0].text',
    ],
    [{ model: 'auto', messages: [{ role: 'user', content: 'x' }], metadata: { a: 5 } }, 'metadata.a'],
  ])('null in a required field is refused with the field’s path: %p', (body, param) => {
    let error: unknown;
    try {
      readChat(body);
    } catch (cause) {
      error = cause;
    }
    expect(error).toMatchObject({ code: expect.stringMatching(/^invalid_(type|value)$/), info: { param } });
  });
});

describe('a request with nulls', () => {
  let upstream: FakeUpstream;
  let box: Signalbox;
  beforeAll(async () => {
    upstream = startFakeUpstream({ key: UPSTREAM_KEY, behaviour: { text: ['well'], finish: 'length' } });
    const policy = testPolicy(
      { up: upstream.url },
      { a: { endpoints: ['up'] }, b: { endpoints: ['up'], quality: 0.9 } },
    );
    box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  });
  afterAll(async () => {
    await box.stop();
    await upstream.stop();
  });

  /** Returns what the upstream receives, and the recommendation or refusal that the caller gets. */
  async function outcome(body: Body): Promise<unknown> {
    const before = upstream.requests.length;
    const answer = await box.post('/v1/chat/completions', body);
    const text = await answer.text();
    const error = answer.status === 200 ? null : (JSON.parse(text) as Answer).error;
    const advice = await adviceOf(await box.post('/v1/route', body));
    const { recommended_model, route_reason, estimated_cost_credits, error: refused } = advice;
    const sent = upstream.requests.slice(before).map((request) => request.body);
    return { status: answer.status, error, sent, recommended_model, route_reason, estimated_cost_credits, refused };
  }

  test('a request with nulls is served even if a map or the stream options contain only nulls', async () => {
    const body = { model: 'auto', messages: [{ role: 'user', content: 'x' }] };
    const nulls = { ...body, metadata: { k: null }, stream_options: { include_usage: null } };
    expect(await outcome(nulls)).toMatchObject({ status: 200, recommended_model: 'b', refused: undefined });
    expect(await outcome({ ...body, stream_options: { include_usage: true } })).toMatchObject({ status: 400 });
  });

  test('a request with nulls gets the same decision and makes the same upstream request as a request without the nulls', async () => {
    const plain = chat.map(({ task_type: _, ...body }): Body => body);
    await fc.assert(
      fc.asyncProperty(nulled(plain, ChatRequest), async ([body, nulls]) => {
        expect(await outcome(nulls)).toEqual(await outcome(body));
      }),
      tries('a request with nulls gets the same decision and upstream request', 8, 300),
    );
    expect(upstream.requests.length).toBeGreaterThan(5);
  });
});
