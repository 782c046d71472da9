import fc from 'fast-check';
import { isObject, type Json, listOf, objectOf, textOf } from '../../../plugins/providers/json.ts';
import { buildResponses } from '../../../plugins/providers/openai/responses.ts';
import { ResponsesRequest } from '../../../src/dialects/openai-responses/request.ts';
import { createResponse } from '../../../src/dialects/openai-responses/surface.ts';
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

/** OpenAI's Responses. */
const text = fc.record({ type: fc.constant('input_text'), text: words });
const image = fc.record({
  type: fc.constant('input_image'),
  image_url: fc.oneof(
    base64.map((data) => `data:image/png;base64,${data}`),
    fc.webUrl({ validSchemes: ['https'] }),
  ),
  detail: maybe(fc.constantFrom('auto', 'low', 'high')),
});
const file = fc.oneof(
  fc.record({
    type: fc.constant('input_file'),
    file_data: base64.map((data) => `data:application/pdf;base64,${data}`),
    filename: maybe(words),
  }),
  fc.record({ type: fc.constant('input_file'), file_id: words }),
);
const contentOf = (part: fc.Arbitrary<Json>) => fc.oneof(words, fc.array(part, { minLength: 1, maxLength: 3 }));

const message = fc.record({
  role: fc.constant('assistant'),
  content: contentOf(
    fc.oneof<fc.Arbitrary<Json>[]>(
      fc.record({ type: fc.constant('output_text'), text: words }),
      fc.record({ type: fc.constant('refusal'), refusal: words }),
    ),
  ),
});
const reasoning = fc.record({
  type: fc.constant('reasoning'),
  id: maybe(opaque),
  summary: fc.array(
    words.map((one) => ({ type: 'summary_text', text: one })),
    { maxLength: 2 },
  ),
  encrypted_content: opaque,
});
const call = fc.record({
  type: fc.constant('function_call'),
  name: toolName,
  arguments: fc.oneof(
    jsonObject.map((input) => JSON.stringify(input)),
    words,
  ),
});

/** A question, an answer with its calls, and their results. */
const round = fc.record({
  question: fc.record({
    role: fc.constantFrom('user', 'system', 'developer'),
    content: contentOf(fc.oneof<fc.Arbitrary<Json>[]>(text, image, file)),
  }),
  answer: fc.array(fc.oneof<fc.Arbitrary<Json>[]>(message, reasoning, call), { maxLength: 6 }),
  results: fc.array(contentOf(fc.oneof<fc.Arbitrary<Json>[]>(text, image, file)), { minLength: 6, maxLength: 6 }),
  isTyped: fc.boolean(),
});
type Round = typeof round extends fc.Arbitrary<infer T> ? T : never;

/** Returns the items of some rounds. Each call has an ID and a result, as the API requires. */
function itemsOf(rounds: readonly Round[]): readonly Json[] {
  let calls = 0;
  return rounds.flatMap(({ question, answer, results, isTyped }) => {
    const ids: string[] = [];
    // Reasoning must be followed by another item.
    const whole = answer.slice(0, answer.findLastIndex(({ type }) => type !== 'reasoning') + 1);
    const items = whole.map((item) => {
      if (item.type !== 'function_call') return item;
      ids.push(`call_${calls++}`);
      return { ...item, call_id: ids.at(-1) };
    });
    const outputs = ids.map((call_id, at) => ({ type: 'function_call_output', call_id, output: results[at] }));
    return [isTyped ? { type: 'message', ...question } : question, ...items, ...outputs];
  });
}

const tool = fc.record({
  type: fc.constant('function'),
  name: toolName,
  description: maybe(words),
  parameters: toolSchema,
  strict: fc.boolean(),
});
const format = fc.oneof<fc.Arbitrary<Json>[]>(
  fc.constantFrom({ type: 'text' }, { type: 'json_object' }),
  fc.record({
    type: fc.constant('json_schema'),
    name: toolName,
    description: maybe(words),
    schema: toolSchema,
    strict: maybe(fc.boolean()),
  }),
);
const share = fc.double({ min: 0, max: 1, noNaN: true });

const bodies: fc.Arbitrary<Json> = fc
  .record({
    model: fc.constant('m'),
    input: fc.oneof(words, fc.array(round, { minLength: 1, maxLength: 3 })),
    instructions: maybe(words),
    streaming: fc.oneof<fc.Arbitrary<Json>[]>(
      fc.record({ stream: maybe(fc.boolean()) }),
      fc.record({ stream: fc.constant(true), stream_options: fc.record({ include_obfuscation: fc.boolean() }) }),
    ),
    max_output_tokens: fc.integer({ min: 16, max: 10_000 }),
    temperature: maybe(share),
    top_p: maybe(share),
    tools: maybe(fc.uniqueArray(tool, { minLength: 1, maxLength: 3, selector: ({ name }) => name })),
    choice: maybe(fc.constantFrom('none', 'auto', 'required', 'named')),
    parallel_tool_calls: maybe(fc.boolean()),
    text: maybe(fc.record({ format: maybe(format), verbosity: maybe(fc.constantFrom('low', 'high')) })),
    reasoning: maybe(fc.record({ effort: fc.constantFrom('low', 'high', 'none') })),
    truncation: maybe(fc.constantFrom('disabled', 'auto')),
    prompt_cache_key: maybe(words),
    safety_identifier: maybe(words),
    user: maybe(words),
    service_tier: maybe(fc.constantFrom('auto', 'default', 'flex', 'priority', 'ultrafast')),
  })
  .map(({ input, streaming, choice, ...body }) => {
    const [first] = body.tools ?? [];
    const named = choice === 'named' ? { type: 'function', name: first?.name } : choice;
    return stated({
      ...body,
      ...streaming,
      input: typeof input === 'string' ? input : itemsOf(input),
      ...(first && { tool_choice: named }),
    });
  });

/** Writes a text as a list of one part. */
function plainContent(content: unknown, role: unknown): readonly Json[] {
  if (typeof content === 'string')
    return [{ type: role === 'assistant' ? 'output_text' : 'input_text', text: content }];
  return listOf(content)
    .map(objectOf)
    .map((part) => (part.type === 'input_image' ? { detail: 'auto', ...part } : part));
}

function plainItem(item: Json): Json {
  const { type = 'message', phase: _, ...rest } = item;
  if (type === 'message') return { ...rest, content: plainContent(rest.content, rest.role) };
  if (type !== 'function_call_output') return item;
  return { type, ...rest, output: plainContent(rest.output, 'tool') };
}

function plain(body: Json): unknown {
  const { input, instructions, tools, text: form, stream, stream_options, truncation, model: _, ...rest } = body;
  const { store: __, include: ___, reasoning: thinking, ...fields } = rest;
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : listOf(input).map(objectOf);
  const { format: asked, verbosity } = objectOf(form);
  return stated({
    ...fields,
    // Instructions are equal to a message before all others.
    input: [...(typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : []), ...items].map(
      plainItem,
    ),
    tools: listOf(tools),
    format: isObject(asked) && asked.type !== 'text' ? plainFormat(asked) : undefined,
    verbosity,
    effort: objectOf(thinking).effort,
    truncation: truncation === 'disabled' ? undefined : truncation,
    stream: stream === true,
    stream_options: stream === true ? stream_options : undefined,
  });
}

const plainFormat = (format: Json): Json =>
  textOf(format.type) === 'json_schema' ? { strict: false, ...format } : format;

/** The mistake of a mutant: it joins messages. */
function joined(items: readonly Json[]): readonly Json[] {
  const all: Json[] = [];
  for (const item of items) {
    const last = all.at(-1);
    if (item.role === 'assistant' && last?.role === 'assistant') {
      all[all.length - 1] = { ...last, content: [...listOf(last.content), ...listOf(item.content)] };
    } else all.push(item);
  }
  return all;
}

/** The mistake of a mutant: it puts each message before the calls that preceded it. */
function callsLast(items: readonly Json[]): readonly Json[] {
  const all = [...items];
  for (let at = 1; at < all.length; at++) {
    if (all[at]!.role === 'assistant' && all[at - 1]!.type === 'function_call') {
      [all[at - 1], all[at]] = [all[at]!, all[at - 1]!];
    }
  }
  return all;
}

const SETTINGS = { service: 'openai', reasoning_summaries: 'auto' } as const;

export const RESPONSES: RoundTrip = {
  route: createResponse,
  schema: ResponsesRequest,
  bodies,
  translate(request) {
    const made = buildResponses(callFor(request, {}), request.settings.reasoningEffort, SETTINGS);
    if (!('body' in made)) throw new Error(made.message);
    return JSON.parse(made.body);
  },
  plain,
  exempt: {
    ...EXEMPT_FIELDS,
    'tool_choice{allowed_tools}.mode': 'read as the choice: test/e2e/allowed-tools.test.ts',
    'tool_choice{allowed_tools}.tools': 'read as fewer tools: test/e2e/allowed-tools.test.ts',
    'input[]{message}.content[]{text}': 'a type of the older dialect; becomes `input_text`',
    'input[]{message}.content[]{input_image}.file_id': 'native: passed only',
    'input[]{message}.content[]{input_file}.file_url': 'native: passed only',
    'input[]{function_call}.namespace':
      'other dialects have no namespaces: the namespace becomes a part of the name if names clash',
    'input[]{custom_tool_call}': 'becomes a call of a function with one text argument',
    'input[]{custom_tool_call_output}': 'becomes the output of a function',
    'input[]{function_call_output}.output[]{output_text}': 'becomes `input_text`',
    'input[]{function_call_output}.output[]{text}': 'becomes `input_text`',
    'input[]{function_call_output}.output[]{refusal}': 'becomes `input_text`',
    'input[]{function_call_output}.output[]{input_image}.file_id': 'native: passed only',
    'input[]{function_call_output}.output[]{input_file}.file_url': 'native: passed only',
    'input[]{reasoning}.content':
      'readable reasoning goes to services that accept it; this service accepts only its own',
    'tools[]{custom}': 'becomes a function with one text argument',
    'tools[]{namespace}': 'its tools become tools of the request',
    'stream_options.include_usage': 'exists only in chat completions; Responses always report usage',
    presence_penalty: 'Responses have none: Signalbox sends such requests as chat completions',
    frequency_penalty: 'Responses have none: Signalbox sends such requests as chat completions',
    top_logprobs: 'Signalbox sends such requests as chat completions',
    max_tool_calls: 'limits only native tools',
    'reasoning.summary': 'a setting of the provider in a translation',
    include: 'encrypted reasoning is always requested, and nothing else is read',
    store: 'nothing is stored',
    metadata: 'only rules of the policy read it',
    background: 'accepted only if it changes nothing',
    previous_response_id: 'accepted only if it changes nothing',
    conversation: 'accepted only if it changes nothing',
    prompt: 'accepted only if it changes nothing',
  },
  mutants: {
    'messages of an answer are joined': (body) => ({ ...body, input: joined(listOf(body.input).map(objectOf)) }),
    'calls come last in an answer': (body) => ({ ...body, input: callsLast(listOf(body.input).map(objectOf)) }),
    'IDs of reasoning are lost': (body) =>
      withEach(body, (one) => {
        const { id: _, ...rest } = one;
        return one.type === 'reasoning' ? rest : one;
      }),
    'encrypted content is converted to well-formed text': (body) =>
      withEach(body, (one) =>
        typeof one.encrypted_content === 'string'
          ? { ...one, encrypted_content: one.encrypted_content.toWellFormed() }
          : one,
      ),
    'refusals become texts': (body) =>
      withEach(body, (one) => (one.type === 'refusal' ? { type: 'output_text', text: one.refusal } : one)),
    'the name of a file is lost': (body) => withEach(body, ({ filename: _, ...rest }) => rest),
  },
};
