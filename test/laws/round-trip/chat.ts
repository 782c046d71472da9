import fc from 'fast-check';
import { isObject, type Json, listOf, objectOf, parseJson } from '../../../plugins/providers/json.ts';
import { ChatRequest } from '../../../src/core/api/chat-request.ts';
import { createCompletion } from '../../../src/dialects/openai-chat/surface.ts';
import { openaiAdapter } from '../../support/provider-call.ts';
import { wireRequest } from '../../support/wire-request.ts';
import {
  base64,
  callFor,
  EXEMPT_FIELDS,
  jsonObject,
  maybe,
  opaque,
  type RoundTrip,
  stated,
  toolName,
  toolSchema,
  withEach,
  words,
} from './round-trip.ts';

/** OpenAI's chat completions, with the members for caches and reasoning that several other services add. */
const adapter = openaiAdapter({
  cache_hints: 'sent',
  reasoning_history: 'reasoning_details',
  developer_role: 'developer',
  empty_content: 'null',
});

const cache_control = maybe(fc.constantFrom({ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' }));
const text = fc.record({ type: fc.constant('text'), text: words, cache_control });
const image = fc.record({
  type: fc.constant('image_url'),
  image_url: fc.record({
    url: fc.oneof(
      base64.map((data) => `data:image/png;base64,${data}`),
      fc.webUrl({ validSchemes: ['https'] }),
    ),
    detail: maybe(fc.constantFrom('auto', 'low', 'high')),
  }),
  cache_control,
});
const audio = fc.record({
  type: fc.constant('input_audio'),
  input_audio: fc.record({ data: base64, format: fc.constantFrom('wav', 'mp3') }),
});
const file = fc.record({
  type: fc.constant('file'),
  file: fc.oneof<fc.Arbitrary<Json>[]>(
    fc.record({ file_data: base64.map((data) => `data:application/pdf;base64,${data}`), filename: maybe(words) }),
    fc.record({ file_id: words }),
  ),
});
const refusal = fc.record({ type: fc.constant('refusal'), refusal: words });
const listOfParts = (...parts: fc.Arbitrary<Json>[]) =>
  fc.oneof(words, fc.array(fc.oneof(...parts), { minLength: 1, maxLength: 3 }));

const extra_content = maybe(opaque.map((thought_signature) => ({ google: { thought_signature } })));
const call = fc.record({
  of: toolName,
  args: fc.oneof(
    jsonObject.map((input) => JSON.stringify(input)),
    words,
  ),
  extra_content,
  cache_control,
});
const question = fc.record({
  role: fc.constantFrom('user', 'system', 'developer'),
  content: listOfParts(text, image, audio, file),
  name: maybe(words),
  cache_control,
});
const answer = fc.record({
  content: maybe(listOfParts(text, refusal)),
  refusal: maybe(words),
  calls: fc.array(call, { maxLength: 3 }),
  name: maybe(words),
  extra_content,
  reasoning_details: maybe(
    fc.array(
      opaque.map((signature) => ({ type: 'reasoning.text', signature })),
      { minLength: 1, maxLength: 2 },
    ),
  ),
  results: fc.array(listOfParts(text), { minLength: 3, maxLength: 3 }),
});
const round = fc.record({ question, answer: maybe(answer) });
type Round = typeof round extends fc.Arbitrary<infer T> ? T : never;

function messagesOf(rounds: readonly Round[]): readonly Json[] {
  let calls = 0;
  return rounds.flatMap(({ question: asked, answer: said }): Json[] => {
    if (!said) return [asked];
    const { calls: made, results, content: given, ...rest } = said;
    // Only an answer that consists of calls has no content.
    const content = given ?? (made.length > 0 || rest.refusal ? null : 'Hm.');
    const tool_calls = made.map(({ of: name, args, ...more }) => ({
      id: `call_${calls++}`,
      type: 'function',
      function: { name, arguments: args },
      ...more,
    }));
    const message = { role: 'assistant', content, ...rest, ...(made.length > 0 && { tool_calls }) };
    const outputs = tool_calls.map(({ id }, at) => ({ role: 'tool', tool_call_id: id, content: results[at] }));
    return [asked, message, ...outputs];
  });
}

const tool = fc.record({
  type: fc.constant('function'),
  function: fc.record({
    name: toolName,
    description: maybe(words),
    parameters: maybe(toolSchema),
    strict: maybe(fc.boolean()),
  }),
  cache_control,
});
const response_format = fc.oneof<fc.Arbitrary<Json>[]>(
  fc.constantFrom({ type: 'text' }, { type: 'json_object' }),
  fc.record({
    type: fc.constant('json_schema'),
    json_schema: fc.record({
      name: toolName,
      description: maybe(words),
      schema: maybe(toolSchema),
      strict: maybe(fc.boolean()),
    }),
  }),
);
const double = (min: number, max: number) => maybe(fc.double({ min, max, noNaN: true }));

const bodies: fc.Arbitrary<Json> = fc
  .record({
    model: fc.constant('m'),
    rounds: fc.array(round, { minLength: 1, maxLength: 3 }),
    stream: maybe(fc.boolean()),
    cap: fc
      .record({
        field: fc.constantFrom('max_tokens', 'max_completion_tokens'),
        most: fc.integer({ min: 1, max: 9_999 }),
      })
      .map(({ field, most }) => ({ [field]: most })),
    temperature: double(0, 2),
    top_p: double(0, 1),
    frequency_penalty: double(-2, 2),
    presence_penalty: double(-2, 2),
    n: maybe(fc.integer({ min: 1, max: 4 })),
    stop: maybe(fc.oneof(words, fc.array(words, { maxLength: 4 }))),
    seed: maybe(fc.maxSafeInteger()),
    probabilities: maybe(fc.record({ logprobs: fc.constant(true), top_logprobs: maybe(fc.nat(20)) })),
    logit_bias: maybe(
      fc.dictionary(fc.nat(50_000).map(String), fc.integer({ min: -100, max: 100 }), {
        maxKeys: 2,
        noNullPrototype: true,
      }),
    ),
    tools: maybe(fc.uniqueArray(tool, { minLength: 1, maxLength: 3, selector: (one) => one.function.name })),
    choice: maybe(fc.constantFrom('none', 'auto', 'required', 'named')),
    parallel: maybe(fc.boolean()),
    response_format: maybe(response_format),
    reasoning_effort: maybe(fc.constantFrom('none', 'low', 'high')),
    user: maybe(words),
    service_tier: maybe(fc.constantFrom('auto', 'default', 'flex', 'priority', 'scale')),
  })
  .map(({ rounds, cap, choice, parallel, probabilities, ...body }) => {
    const [first] = body.tools ?? [];
    const named = choice === 'named' ? { type: 'function', function: { name: first?.function.name } } : choice;
    return stated({
      ...body,
      ...cap,
      ...probabilities,
      messages: messagesOf(rounds),
      ...(first && { tool_choice: named, parallel_tool_calls: parallel }),
    });
  });

/** Writes a text as a list of one part, a refusal as a part, and a mark of a message as a mark of its last part. */
function plainMessage(message: Json): Json {
  const { content, refusal: refused, cache_control: mark, ...rest } = message;
  const given = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).map(objectOf);
  const parts = typeof refused === 'string' ? [...given, { type: 'refusal', refusal: refused }] : given;
  const last = parts.at(-1);
  if (mark === undefined || last === undefined) return { ...rest, content: parts };
  return { ...rest, content: parts.with(-1, { cache_control: mark, ...last }) };
}

const isSaid = (value: unknown, neutral: unknown): boolean =>
  value !== neutral && !(isObject(value) && Object.keys(value).length === 0);

function plain(body: Json): unknown {
  const { messages, stop, max_tokens, max_completion_tokens, response_format: format, stream, ...rest } = body;
  const { model: _, stream_options: __, frequency_penalty, presence_penalty, n, logit_bias, ...fields } = rest;
  return stated({
    ...fields,
    messages: listOf(messages).map(objectOf).map(plainMessage),
    stop: typeof stop === 'string' ? [stop] : listOf(stop),
    cap: max_completion_tokens ?? max_tokens,
    format: objectOf(format).type === 'text' ? undefined : format,
    stream: stream === true,
    // A default is the same as no value.
    ...(isSaid(frequency_penalty, 0) && { frequency_penalty }),
    ...(isSaid(presence_penalty, 0) && { presence_penalty }),
    ...(isSaid(n, 1) && { n }),
    ...(isSaid(logit_bias, null) && { logit_bias }),
  });
}

export const CHAT: RoundTrip = {
  route: createCompletion,
  schema: ChatRequest,
  bodies,
  translate(request) {
    const { model } = callFor(request, {});
    const call = callFor(request, { model: { ...model, capabilities: ['reasoning'] } });
    return wireRequest(adapter, call).body;
  },
  plain,
  exempt: {
    ...EXEMPT_FIELDS,
    'tool_choice{allowed_tools}.allowed_tools': 'read as fewer tools and a mode: test/e2e/allowed-tools.test.ts',
    stream_options: 'usage is always requested, and the other options concern only streams of this dialect',
    metadata: 'only rules of the policy read it',
  },
  mutants: {
    'marks are lost': (body) => withEach(body, ({ cache_control: _, ...rest }) => rest),
    'the state of a tool call is lost': (body) =>
      withEach(body, (one) => {
        const { extra_content: _, ...rest } = one;
        return 'function' in one ? rest : one;
      }),
    'details of reasoning are converted to well-formed text': (body) =>
      withEach(body, (one) =>
        typeof one.signature === 'string' ? { ...one, signature: one.signature.toWellFormed() } : one,
      ),
    'arguments are formatted again': (body) =>
      withEach(body, (one) =>
        typeof one.arguments === 'string'
          ? { ...one, arguments: JSON.stringify(parseJson(one.arguments) ?? one.arguments) }
          : one,
      ),
    'names of speakers are lost': (body) =>
      withEach(body, (one) => {
        const { name: _, ...rest } = one;
        return 'role' in one ? rest : one;
      }),
    'developers become systems': (body) =>
      withEach(body, (one) => (one.role === 'developer' ? { ...one, role: 'system' } : one)),
  },
};
