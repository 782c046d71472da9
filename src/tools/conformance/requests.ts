import fc from 'fast-check';
import type { ChatRequest } from '../../core/api/chat-request.ts';

type RequestFields = Readonly<Record<string, unknown>>;

/** Generators of provider state in earlier answers. Only the model that produced such state can read it. */
export interface StateGenerators {
  readonly ofMessage: fc.Arbitrary<RequestFields>;
  ofCall(name: string, args: string): RequestFields;
}

/** Requests that the gateway's schema accepts. Most are ordinary, and some have the oddities of real clients. */
export function anyRequest(state: StateGenerators): fc.Arbitrary<ChatRequest> {
  return fc
    .record({
      names: toolNames,
      start: opening(state),
      episodes: fc.array(episode(state), { maxLength: 5 }),
      end: ending(state),
    })
    .chain(({ names, start, episodes, end }) => {
      const messages = [start, ...episodes, end].flatMap((each, turn) => each({ turn, names }));
      return fc.record({ messages: fc.constant(messages), fields: fields(names), marks: fc.nat({ max: 255 }) });
    })
    .map(({ messages, fields, marks }) => {
      const request: RequestFields = {
        ...fields,
        model: 'any',
        messages: messages.map((message, at) => ((marks >> at) & 1 && marks % 5 === 0 ? marked(message) : message)),
      };
      // A request must be checked against the schema before it is converted here.
      return request as ChatRequest;
    });
}

/** Mostly `common`, occasionally `odd`. */
function mostly<T>(common: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, times: number): fc.Arbitrary<T> {
  return fc.oneof({ weight: times, arbitrary: common }, { weight: 1, arbitrary: odd });
}

/** Occasionally some of these members. */
const maybe = (members: Record<string, fc.Arbitrary<unknown>>, times = 3): fc.Arbitrary<RequestFields> =>
  mostly(fc.constant({}), fc.record(members, { requiredKeys: [] }), times);

const marked = (owner: RequestFields): RequestFields => ({ ...owner, cache_control: { type: 'ephemeral' } });

const words = fc.constantFrom('Hello!', 'How is the weather in Bern?', 'It is 20 °C.', 'One\n\ntwo ', 'Grüezi 💡');
const text = mostly(words, fc.oneof(fc.constantFrom('', ' ', '\n\t', '{', '<b>'), fc.string({ unit: 'grapheme' })), 9);

const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const textPart = text.map((value): RequestFields => ({ type: 'text', text: value }));
const image = (urls: fc.Arbitrary<string>): fc.Arbitrary<RequestFields> =>
  fc.record({ url: urls, more: maybe({ detail: fc.constantFrom('auto', 'low', 'high') }) }).map(({ url, more }) => ({
    type: 'image_url',
    image_url: { url, ...more },
  }));
const file = (members: RequestFields): RequestFields => ({ type: 'file', file: members });
const pdf = fc.constant(file({ filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' }));
const audio = fc
  .constantFrom('wav', 'mp3', 'MP3')
  .map((format): RequestFields => ({ type: 'input_audio', input_audio: { data: 'UklGRg==', format } }));
const oddPart: fc.Arbitrary<RequestFields> = fc.oneof(
  image(
    fc.constantFrom(
      'data:image/bmp;base64,AAAA',
      'data:image/svg+xml,<svg/>',
      'data:image/png;base64,',
      'data:image/png;base64,not base64!',
      'data:;base64,AAAA',
      'http://example.com/a.jpg',
    ),
  ),
  fc.constantFrom(
    file({ filename: 'a.txt', file_data: 'data:text/plain;charset=utf-8;base64,SGk=' }),
    file({ file_data: 'data:text/plain;base64,' }),
    file({ file_data: 'SGk=' }),
    file({ file_id: 'file-1' }),
    file({}),
    { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'amr' } },
    { type: 'input_audio', input_audio: { data: '', format: 'wav' } },
    { type: 'refusal', refusal: 'No.' },
  ),
);
const media = fc.oneof(
  { weight: 4, arbitrary: image(fc.constant(PNG)) },
  { weight: 3, arbitrary: image(fc.constantFrom('https://example.com/a.jpg', 'https://example.com/a?b=.png')) },
  { weight: 2, arbitrary: pdf },
  { weight: 1, arbitrary: audio },
  { weight: 1, arbitrary: oddPart },
);
const parts = (of: fc.Arbitrary<RequestFields>): fc.Arbitrary<readonly RequestFields[]> =>
  fc
    .tuple(fc.array(of, { minLength: 1, maxLength: 3 }), fc.nat({ max: 40 }))
    .map(([list, at]) => list.map((part, index) => (index === at ? marked(part) : part)));

/** Makes messages for a turn, and uses the names of its tools. */
type Episode = (where: { readonly turn: number; readonly names: readonly string[] }) => RequestFields[];

const always = (arbitrary: fc.Arbitrary<RequestFields>): fc.Arbitrary<Episode> =>
  arbitrary.map((message) => () => [message]);

const userContent = mostly<unknown>(text, parts(mostly(textPart, media, 1)), 3);
/** Text content only. */
const written: fc.Arbitrary<unknown> = fc.oneof(text, parts(textPart));
const user = fc
  .record({ content: userContent, more: maybe({ name: fc.constant('bob') }, 20) })
  .map(({ content, more }): RequestFields => ({ role: 'user', content, ...more }));
const system = fc
  .record({ role: fc.constantFrom('system', 'developer'), content: written })
  .map((message): RequestFields => message);
const shown = maybe({ reasoning_content: text, refusal: fc.constant(null), annotations: fc.constant([]) });

const answer = (state: StateGenerators): fc.Arbitrary<RequestFields> =>
  fc
    .record({ content: written, shown, more: mostly(fc.constant({}), state.ofMessage, 2) })
    .map(({ content, shown, more }) => ({ role: 'assistant', content, ...shown, ...more }));

const refused = text.map((refusal): RequestFields => ({ role: 'assistant', content: null, refusal }));

const args = mostly(
  fc.constantFrom('{"city":"Bern"}', '{}', '{"a":[1,2,{"b":null}]}', ' {"n":1e400} '),
  fc.constantFrom('', ' ', '{"city":', '[1]', 'null', '"Bern"', '{"__proto__":1}'),
  9,
);
const IDS: Readonly<Record<string, (turn: number, at: number) => string>> = {
  own: (turn, at) => `call_${turn}_${at}`,
  repeated: (_, at) => `call_${at}`,
  dotted: (turn, at) => `functions.weather:${turn}.${at}`,
  long: (turn, at) => `${'x'.repeat(90)}${turn}${at}`,
  foreign: (turn, at) => `é ${turn}/${at}`,
  bare: (turn, at) => (at === 0 ? String(turn) : `${turn}_${at + 1}`),
};
const ids = fc.oneof({ weight: 6, arbitrary: fc.constant('own') }, fc.constantFrom(...Object.keys(IDS)));

/** Names of tools that were called earlier but that the request does not offer. */
const CALLED = ['weather', 'get_time', 'of-old'];
const call = fc.record({ tool: fc.nat({ max: 4 }), args, bears: fc.boolean() });

/** Faults in tool results. Most tool results have no fault. */
const trouble = mostly(
  fc.constant('none'),
  fc.constantFrom('missing', 'twice', 'user before', 'system before', 'none at all', 'twins'),
  25,
);

/** Generates tool calls and their results, in any order. */
const toolStep = (state: StateGenerators): fc.Arbitrary<Episode> =>
  fc
    .record({
      calls: fc.array(call, { minLength: 1, maxLength: 3 }),
      said: mostly(fc.constant<unknown>(null), written, 2),
      shown,
      more: mostly(fc.constant({}), state.ofMessage, 1),
      ids,
      results: fc.array(fc.oneof(written, written, parts(mostly(textPart, media, 20))), { minLength: 3, maxLength: 3 }),
      isReversed: fc.boolean(),
      trouble,
    })
    .map(({ calls, said, shown, more, ids, results, isReversed, trouble }) => ({ turn, names }) => {
      const made = calls.map(({ tool, args, bears }, at) => {
        const name = names[tool] ?? CALLED[tool % CALLED.length]!;
        const id = IDS[ids]!(turn, trouble === 'twins' ? 0 : at);
        return { id, type: 'function', function: { name, arguments: args }, ...(bears && state.ofCall(name, args)) };
      });
      const message = { role: 'assistant', content: said, ...shown, ...more, tool_calls: made };
      const answers = made.map(
        ({ id }, at): RequestFields => ({ role: 'tool', tool_call_id: id, content: results[at] }),
      );
      if (isReversed) answers.reverse();
      if (trouble === 'missing') answers.pop();
      if (trouble === 'twice') answers.push({ ...answers[0] });
      if (trouble === 'user before') answers.unshift({ role: 'user', content: 'And?' });
      if (trouble === 'system before') answers.unshift({ role: 'system', content: 'Be brief.' });
      return trouble === 'none at all' ? [message] : [message, ...answers];
    });

/** A call of the deprecated function API. */
const functionStep = fc.record({ args, result: text }).map(
  ({ args, result }): Episode =>
    () => [
      { role: 'assistant', content: null, function_call: { name: 'weather', arguments: args } },
      { role: 'function', name: 'weather', content: result },
    ],
);

const stray = fc.constantFrom<RequestFields>(
  { role: 'tool', tool_call_id: 'nobody', content: '20 °C' },
  { role: 'function', name: 'nobody', content: '20 °C' },
  { role: 'assistant', content: null, tool_calls: [], refusal: 'No.' },
);

const episode = (state: StateGenerators): fc.Arbitrary<Episode> =>
  fc.oneof(
    { weight: 8, arbitrary: always(user) },
    { weight: 3, arbitrary: always(system) },
    { weight: 5, arbitrary: always(answer(state)) },
    { weight: 6, arbitrary: toolStep(state) },
    { weight: 1, arbitrary: functionStep },
    { weight: 1, arbitrary: always(mostly(refused, stray, 4)) },
  );

const instructed: fc.Arbitrary<Episode> = fc.tuple(system, user).map((both) => () => both);

const opening = (state: StateGenerators): fc.Arbitrary<Episode> =>
  fc.oneof(
    { weight: 12, arbitrary: always(user) },
    { weight: 8, arbitrary: instructed },
    { weight: 1, arbitrary: always(system) },
    { weight: 1, arbitrary: episode(state) },
  );

/** Mostly ends with a message that expects an answer. */
const ending = (state: StateGenerators): fc.Arbitrary<Episode> =>
  fc.oneof(
    { weight: 12, arbitrary: always(user) },
    { weight: 6, arbitrary: toolStep(state) },
    { weight: 1, arbitrary: always(answer(state)) },
    { weight: 2, arbitrary: always(system) },
  );

const toolNames = mostly(
  fc.uniqueArray(fc.constantFrom('weather', 'get_time', 'search-web', 'a'.repeat(64)), { maxLength: 3 }),
  fc.array(fc.constantFrom('weather', 'a.b', '9lives', 'wie wär’s', '_'), { minLength: 1, maxLength: 3 }),
  20,
);

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
/** Mostly ordinary schemas, and some odd ones. */
const schema = mostly<unknown>(
  fc.constantFrom<unknown>(
    city,
    { ...city, additionalProperties: false },
    { type: 'object', properties: {} },
    { type: 'object', properties: { of: { $ref: '#/$defs/of', description: 'x' } }, $defs: { of: { type: 'string' } } },
    { type: 'object', properties: { n: { type: ['integer', 'null'], minimum: 1 }, all: { type: 'array', items: {} } } },
    { type: 'object', properties: { one: { anyOf: [{ const: 'a' }, { enum: [1, null] }] } }, required: ['one'] },
  ),
  fc.constantFrom<unknown>(
    {},
    { properties: { city: { type: 'string' } } },
    { type: 'object', properties: { any: true, no: false } },
    { type: 'object', properties: { next: { $ref: '#' } } },
    { type: 'object', properties: { of: { $ref: 'https://example.com/of.json' } } },
    { type: 'object', anyOf: [{ required: ['a'] }], properties: { a: {} } },
    { type: 'object', oneOf: [city], $schema: 'https://json-schema.org/draft/2020-12/schema' },
    {
      type: 'object',
      patternProperties: { '^x': { type: 'string' } },
      properties: { cache_control: { type: 'null' } },
    },
    { type: 'string' },
    { type: ['object', 'null'], properties: {} },
    undefined,
  ),
  10,
);

const tool = (name: string): fc.Arbitrary<RequestFields> =>
  fc
    .record({
      more: maybe({ description: text, strict: fc.constantFrom(true, false, null) }, 1),
      parameters: mostly<RequestFields>(
        schema.map((parameters) => ({ parameters })),
        fc.constantFrom({}, { parameters: null }),
        6,
      ),
      isMarked: mostly(fc.constant(false), fc.constant(true), 12),
    })
    .map(({ more, parameters, isMarked }) => {
      const made = { type: 'function', function: { name, ...more, ...parameters } };
      return isMarked ? marked(made) : made;
    });

/** Optional fields, with a few odd values. */
const CHOICES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  stream: fc.boolean(),
  temperature: mostly(fc.constantFrom(0, 0.5, 1, null), fc.constantFrom(1.5, 2), 9),
  top_p: fc.constantFrom(0, 0.5, 0.95, 1, null),
  frequency_penalty: mostly(fc.constantFrom(0, null), fc.constant(0.5), 9),
  presence_penalty: mostly(fc.constantFrom(0, null), fc.constant(-1), 9),
  n: mostly(fc.constantFrom(1, null), fc.constant(3), 9),
  stop: mostly<unknown>(fc.constantFrom('END', ['a', 'b'], []), fc.constantFrom('', '\n', [' ', 'x'], null), 4),
  seed: mostly(fc.constant(null), fc.constantFrom(0, 7, -(2 ** 40)), 3),
  logit_bias: mostly(fc.constant({}), fc.constant({ 50256: -100 }), 9),
  reasoning_effort: mostly(
    fc.constantFrom('none', 'minimal', 'low', 'medium', 'high'),
    fc.constantFrom('xhigh', 'max', 'often', '', null),
    3,
  ),
  user: fc.constantFrom('u-1', '', null),
  metadata: fc.constant({ team: 'a' }),
  parallel_tool_calls: mostly(fc.constantFrom(true, null), fc.constant(false), 4),
};

/** Fields that restrictions of models often concern. */
const OFTEN: ReadonlySet<string> = new Set(['temperature', 'reasoning_effort', 'stream']);

/** Each field is present only sometimes. */
const sparse = fc
  .record(
    Object.fromEntries(
      Object.entries(CHOICES).map(([name, value]) => [
        name,
        mostly(fc.constant(undefined), value, OFTEN.has(name) ? 2 : 5),
      ]),
    ),
  )
  .map((fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)));

const format = mostly<RequestFields>(
  fc.constantFrom({}, { response_format: null }, { response_format: { type: 'text' } }),
  fc.oneof(fc.constant({ response_format: { type: 'json_object' } }), {
    weight: 3,
    arbitrary: schema.map((of) => ({
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: of, strict: true } },
    })),
  }),
  6,
);
const logprobs = mostly<RequestFields>(
  fc.constant({}),
  fc.constantFrom({ logprobs: false }, { logprobs: true }, { logprobs: true, top_logprobs: 2 }),
  25,
);

function fields(names: readonly string[]): fc.Arbitrary<RequestFields> {
  const choices = ['auto', 'none', 'required', ...names.map((name) => ({ type: 'function', function: { name } }))];
  const tools: fc.Arbitrary<RequestFields> =
    names.length === 0
      ? fc.constant({})
      : fc
          .record({
            tools: fc.tuple(...names.map(tool)),
            choice: mostly<RequestFields>(
              fc.constant({}),
              fc.constantFrom(...choices).map((tool_choice) => ({ tool_choice })),
              2,
            ),
          })
          .map(({ tools, choice }): RequestFields => ({ tools, ...choice }));
  return fc
    .record({ sparse, format, logprobs, tools })
    .map(({ sparse, format, logprobs, tools }) => ({ ...sparse, ...format, ...logprobs, ...tools }));
}
