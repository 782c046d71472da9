import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** Two servers get the same bodies: one keeps running conversations, the other parses every body whole. */
let upstreams: FakeUpstream[];
let boxes: Signalbox[];

beforeAll(async () => {
  upstreams = [startFakeUpstream({ key: UPSTREAM_KEY }), startFakeUpstream({ key: UPSTREAM_KEY })];
  boxes = await Promise.all(
    upstreams.map(({ url }, at) => {
      const gateway = `\ngateway: { retries_max: 0${at === 0 ? '' : ', turns_bytes_max: 0'} }\n`;
      return startSignalbox({
        policy: testPolicy({ up: url }, { large: { endpoints: ['up'] } }, gateway),
        env: UPSTREAM_ENV,
      });
    }),
  );
});
afterAll(() => Promise.all([...boxes, ...upstreams].map((one) => one.stop())));

const CODE = 'const a = "b\\\\c";\n'.repeat(80);

/** The items of a conversation in a dialect, from the first to turn `count`. */
type Items = (count: number) => readonly unknown[];
const chat: Items = (count) => [
  { role: 'system', content: CODE.repeat(5) },
  { role: 'user', content: 'Fix it.' },
  ...Array.from({ length: count }, (_, at) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: `c${at}`, type: 'function', function: { name: 'read', arguments: `{"n":${at}}` } }],
    },
    { role: 'tool', tool_call_id: `c${at}`, content: `${at} ${CODE}` },
  ]).flat(),
];
const messages: Items = (count) => [
  { role: 'user', content: CODE.repeat(5) },
  ...Array.from({ length: count }, (_, at) => [
    { role: 'assistant', content: [{ type: 'tool_use', id: `c${at}`, name: 'read', input: { n: at } }] },
    {
      role: 'user',
      content: [
        // Clients move the mark of the cache to the last message in each turn.
        {
          type: 'tool_result',
          tool_use_id: `c${at}`,
          content: CODE,
          ...(at === count - 1 && { cache_control: { type: 'ephemeral' } }),
        },
      ],
    },
  ]).flat(),
];
const responses: Items = (count) => [
  { role: 'user', content: CODE.repeat(5) },
  ...Array.from({ length: count }, (_, at) => [
    { type: 'function_call', call_id: `c${at}`, name: 'read', arguments: `{"n":${at}}` },
    { type: 'function_call_output', call_id: `c${at}`, output: CODE },
  ]).flat(),
];

const schema = { type: 'object', properties: { n: { type: 'integer' } } };
const DIALECTS = [
  {
    path: '/v1/chat/completions',
    list: 'messages',
    items: chat,
    more: { tools: [{ type: 'function', function: { name: 'read', parameters: schema } }] },
  },
  {
    path: '/v1/messages',
    list: 'messages',
    items: messages,
    more: { max_tokens: 500, tools: [{ name: 'read', input_schema: schema }] },
  },
  {
    path: '/v1/responses',
    list: 'input',
    items: responses,
    more: { store: false, tools: [{ type: 'function', name: 'read', parameters: schema, strict: false }] },
  },
];

for (const { path, list, items, more } of DIALECTS) {
  for (const stream of [false, true]) {
    test(`${path}, ${stream ? 'streamed' : 'JSON'}: providers and callers get the same with and without kept conversations`, async () => {
      const rest = { model: 'large', stream, ...more };
      const growing = Array.from({ length: 6 }, (_, at) => ({ ...rest, [list]: items(at + 2) }));
      // A member that the last message must not have: the error names its place.
      const wrong = { ...rest, [list]: [...items(8), { role: 'user', content: 7 }] };
      const edited = { ...rest, [list]: items(8).with(3, items(1)[1]) };
      const bodies = [...growing, wrong, edited, growing[2], growing[5]].map((body) => JSON.stringify(body));
      for (const text of [...bodies, `${bodies[5]}]`]) {
        const answers = await Promise.all(
          boxes.map(async (box, at) => {
            const answer = await box.post(path, text, { body: text });
            const body = await answer.text();
            const error = answer.ok ? null : JSON.parse(body).error;
            return {
              status: answer.status,
              error: error && { ...error, request_id: null },
              sent: upstreams[at]!.requests.splice(0).map((request) => request.text),
            };
          }),
        );
        expect(answers[0]).toEqual(answers[1]!);
        if (bodies.indexOf(text) >= 0 && bodies.indexOf(text) < growing.length) {
          expect(answers[0]).toMatchObject({ status: 200, error: null });
          expect(answers[0]!.sent.length).toBe(1);
        } else if (text === bodies[growing.length]) expect(answers[0]!.status).toBe(400);
      }
    });
  }
}
