import fc from 'fast-check';
import { anthropic } from '../../../plugins/providers/anthropic.ts';
import { isObject, type Json, listOf, objectOf, textOf } from '../../../plugins/providers/json.ts';
import { MessagesRequest } from '../../../src/dialects/anthropic-messages/request.ts';
import { createMessage } from '../../../src/dialects/anthropic-messages/surface.ts';
import { wireAdapter, wireRequest } from '../../support/wire-request.ts';
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

/** Anthropic's Messages. */
const adapter = wireAdapter(anthropic.prepare({ service: 'anthropic', prompt_cache: 'by_caller', threads: false }));

/** This model accepts system instructions within a conversation, and decides itself how much to think. */
const UPSTREAM = 'claude-opus-4-8';
/** This model accepts sampling controls, and the beginning of an answer. */
const OLDER = 'claude-opus-4-5';

/** Rare, because the API accepts only four cache marks in all. */
const cache_control = fc.oneof(
  { weight: 9, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      { type: 'ephemeral' },
      { type: 'ephemeral', ttl: '5m' },
      { type: 'ephemeral', ttl: '1h' },
    ),
  },
);
const text = fc.record({ type: fc.constant('text'), text: words, cache_control });
const image = fc.record({
  type: fc.constant('image'),
  source: fc.oneof(
    fc.record({
      type: fc.constant('base64'),
      media_type: fc.constantFrom('image/png', 'image/jpeg', 'image/gif', 'image/webp'),
      data: base64,
    }),
    fc.record({ type: fc.constant('url'), url: fc.webUrl({ validSchemes: ['https'] }) }),
  ),
  cache_control,
});
const document = fc.record({
  type: fc.constant('document'),
  source: fc.record({ type: fc.constant('base64'), media_type: fc.constant('application/pdf'), data: base64 }),
  title: maybe(words),
  cache_control,
});
const said = fc.oneof(text, image, document);

interface Call {
  /** The index of the called tool. */
  readonly of: number;
  readonly input: Json;
  readonly cache_control?: Json | undefined;
}
const call: fc.Arbitrary<Call> = fc.record({ of: fc.nat(2), input: jsonObject, cache_control });
const thought = fc.oneof(
  fc.record({ type: fc.constant('thinking'), thinking: words, signature: opaque }),
  fc.record({ type: fc.constant('redacted_thinking'), data: opaque }),
);
const result = fc.record({
  content: maybe(fc.oneof(words, fc.array(text, { minLength: 1, maxLength: 2 }))),
  is_error: maybe(fc.constant(true)),
  cache_control,
});

/** A round of a conversation: a question, an answer with its calls, and their results. */
const round = fc.record({
  question: fc.oneof(words, fc.array(said, { minLength: 1, maxLength: 3 })),
  instruction: maybe(fc.oneof(words, fc.array(text, { minLength: 1, maxLength: 2 }))),
  furtherQuestion: maybe(fc.array(said, { minLength: 1, maxLength: 2 })),
  answer: fc.array(fc.oneof(text, thought, call), { minLength: 1, maxLength: 6 }),
  results: fc.array(result, { minLength: 6, maxLength: 6 }),
});
type Round = typeof round extends fc.Arbitrary<infer T> ? T : never;

const isCall = (one: object): one is Call => 'input' in one;
const isThought = (one: object): boolean => 'thinking' in one || 'data' in one;

/** Returns the messages of some rounds. Each call has an ID and a result, and its tool is declared, as the API requires. */
function messagesOf(rounds: readonly Round[], last: unknown, tools: readonly Json[]): readonly Json[] {
  let calls = 0;
  return rounds
    .flatMap(({ question, instruction, furtherQuestion, answer, results }): Json[] => {
      const ids: string[] = [];
      // A reasoning block must be followed by other content.
      const sayable = answer.filter((one) => tools.length > 0 || !isCall(one));
      const whole = sayable.slice(0, sayable.findLastIndex((one) => !isThought(one)) + 1);
      const content = whole.map((one) => {
        if (!isCall(one)) return one;
        ids.push(`toolu_${calls++}`);
        const { of, ...rest } = one;
        return { type: 'tool_use', id: ids.at(-1), name: tools[of % tools.length]!.name, ...rest };
      });
      const answered = ids.map((id, at) => ({ type: 'tool_result', tool_use_id: id, ...results[at] }));
      return [
        { role: 'user', content: question },
        ...(furtherQuestion ? [{ role: 'user', content: furtherQuestion }] : []),
        // The API accepts an instruction only between a user's turn and an answer.
        ...(instruction && content.length > 0 ? [{ role: 'system', content: instruction }] : []),
        ...(content.length > 0 ? [{ role: 'assistant', content }] : []),
        ...(answered.length > 0 ? [{ role: 'user', content: answered }] : []),
      ];
    })
    .concat({ role: 'user', content: last });
}

const disable_parallel_tool_use = maybe(fc.boolean());
const tool = fc.record({
  name: toolName,
  description: maybe(words),
  input_schema: toolSchema,
  strict: maybe(fc.boolean()),
  cache_control,
});

const bodies: fc.Arbitrary<Json> = fc
  .record({
    model: fc.constant('m'),
    max_tokens: fc.integer({ min: 1, max: 10_000 }),
    rounds: fc.array(round, { maxLength: 3 }),
    last: fc.oneof(words, fc.array(said, { minLength: 1, maxLength: 3 })),
    system: maybe(fc.oneof(words, fc.array(text, { minLength: 1, maxLength: 2 }))),
    tools: maybe(fc.uniqueArray(tool, { minLength: 1, maxLength: 3, selector: ({ name }) => name })),
    choice: maybe(
      fc.oneof(
        fc.record({ type: fc.constantFrom('auto', 'any', 'tool'), disable_parallel_tool_use }),
        fc.constant({ type: 'none' }),
      ),
    ),
    sampling: maybe(
      fc.oneof(
        fc.record({ temperature: fc.double({ min: 0, max: 1, noNaN: true }) }),
        fc.record({ top_p: fc.double({ min: 0, max: 1, noNaN: true }) }),
      ),
    ),
    top_k: maybe(fc.nat(500)),
    stream: maybe(fc.boolean()),
    stop_sequences: maybe(fc.array(words, { maxLength: 3 })),
    metadata: maybe(fc.record({ user_id: words })),
    speed: maybe(fc.constant('fast')),
    effort: maybe(fc.constantFrom('low', 'medium', 'high', 'xhigh', 'max')),
    format: maybe(toolSchema.map((schema) => ({ type: 'json_schema', schema }))),
    isOlderFormat: fc.boolean(),
    cache_control,
  })
  .map(({ rounds, last, choice, sampling, effort, format, isOlderFormat, ...body }) => {
    const [first] = body.tools ?? [];
    const named = choice?.type === 'tool' ? { ...choice, name: first?.name } : choice;
    const output = { ...(effort && { effort }), ...(format && !isOlderFormat && { format }) };
    return limitMarks(
      stated({
        ...body,
        messages: messagesOf(rounds, last, body.tools ?? []),
        ...(first && { tool_choice: named }),
        // Models that accept an effort, or instructions within a conversation, accept no sampling controls.
        ...(effort || rounds.some(({ instruction }) => instruction) ? { top_k: undefined } : sampling),
        ...(Object.keys(output).length > 0 && { output_config: output }),
        ...(format && isOlderFormat && { output_format: format }),
      }),
    );
  });

/** Removes all cache marks except four, the most that the API accepts. */
function limitMarks(body: Json): Json {
  let marks = 0;
  return JSON.parse(
    JSON.stringify(body, (name, value) => (name === 'cache_control' && ++marks > 4 ? undefined : value)),
  );
}

/** Writes a cache mark with its default lifetime. */
const plainMark = (mark: unknown): Json => ({ type: 'ephemeral', ttl: '5m', ...objectOf(mark) });

function plainBlock(block: unknown): Json {
  const { cache_control: mark, content, ...rest } = objectOf(block);
  return {
    ...rest,
    ...(content != null && { content: plainContent(content) }),
    ...(isObject(mark) && { cache_control: plainMark(mark) }),
  };
}

/** Writes a text as a list of one block. */
const plainContent = (content: unknown): readonly Json[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).map(plainBlock);

/** Joins neighbouring messages of one role, because the API reads them as one message. */
function plainMessages(messages: unknown): readonly Json[] {
  const merged: { role: string; content: readonly Json[] }[] = [];
  for (const message of listOf(messages).map(objectOf)) {
    const content = plainContent(message.content);
    const last = merged.at(-1);
    if (last && last.role === message.role) last.content = [...last.content, ...content];
    else merged.push({ role: textOf(message.role), content });
  }
  return merged;
}

/** `auto` and parallel calls are the defaults. A single tool that must be called is called once. */
function plainChoice(choice: unknown, tools: unknown): Json | undefined {
  if (!isObject(choice)) return undefined;
  const { disable_parallel_tool_use: single, ...rest } = choice;
  const isOne = rest.type === 'tool' || (rest.type === 'any' && listOf(tools).length === 1);
  return rest.type === 'auto' && single !== true
    ? undefined
    : { ...rest, ...(single === true && !isOne && { single }) };
}

function plain(body: Json): unknown {
  const { system, messages, tools, tool_choice, stream, stop_sequences, cache_control: mark, ...rest } = body;
  const { output_config, output_format, thinking: _, model: __, ...fields } = rest;
  const { effort, format = output_format } = objectOf(output_config);
  return stated({
    ...fields,
    system: system == null ? [] : plainContent(system),
    messages: plainMessages(messages),
    tools: listOf(tools).map((one) => {
      const { strict, ...own } = plainBlock(one);
      return strict === true ? { ...own, strict } : own;
    }),
    tool_choice: plainChoice(tool_choice, tools),
    stream: stream === true,
    stop_sequences: listOf(stop_sequences),
    effort,
    format,
    cache_control: isObject(mark) ? plainMark(mark) : undefined,
  });
}

export const MESSAGES: RoundTrip = {
  route: createMessage,
  schema: MessagesRequest,
  bodies,
  translate(request) {
    const { reasoningEffort: effort } = request.settings;
    const upstream =
      effort === undefined && !request.conversation.turns.slice(1).some(isInstruction) ? OLDER : UPSTREAM;
    const model = callFor(request, {}).model;
    return wireRequest(
      adapter,
      callFor(request, {
        upstream,
        model: { ...model, capabilities: effort === undefined ? [] : ['reasoning'] },
      }),
    ).body;
  },
  plain,
  exempt: {
    ...EXEMPT_FIELDS,
    thinking: 'becomes an effort, and the effort becomes the form of thinking that the chosen model accepts',
    'messages[].content[]{image}.source{file}': 'native: passed only',
    'messages[].content[]{document}.source{url}': 'native: passed only',
    'messages[].content[]{document}.source{file}': 'native: passed only',
    'messages[].content[]{document}.source{text}': 'read as its text, which every model accepts',
    'messages[].content[]{document}.source{content}': 'read as the texts and images in it',
    'messages[].content[]{document}.context': 'has no neutral name; named in `platform.dropped`',
    'messages[].content[]{tool_result}.content[]{image}':
      'placed after the results, because few services accept it within a result',
    'messages[].content[]{tool_result}.content[]{document}': 'placed after the results, like an image',
    'tools[].type': '`custom` is the default, and other types are native tools',
    service_tier: 'names capacity of the caller’s account at Anthropic: test/dialects/service-tiers.test.ts',
    thread: 'only passed through: other services store no history for it',
  },
  mutants: {
    'the lifetime of a cache mark is lost': (body) => withEach(body, ({ ttl: _, ...rest }) => rest),
    'cache marks on calls are lost': (body) =>
      withEach(body, ({ cache_control: mark, ...rest }) =>
        mark === undefined || rest.type === 'tool_use' ? rest : { ...rest, cache_control: mark },
      ),
    'results lose the mark that they are errors': (body) => withEach(body, ({ is_error: _, ...rest }) => rest),
    'thoughts come first': (body) =>
      withEach(body, (one) =>
        one.role === 'assistant' ? { ...one, content: listOf(one.content).toSorted(thoughtsFirst) } : one,
      ),
    'texts come before calls': (body) =>
      withEach(body, (one) =>
        one.role === 'assistant' ? { ...one, content: listOf(one.content).toSorted(textsFirst) } : one,
      ),
    'instructions move to the beginning': (body) => ({
      ...body,
      messages: listOf(body.messages).filter((message) => objectOf(message).role !== 'system'),
    }),
    'signatures are converted to well-formed text': (body) =>
      withEach(body, (one) =>
        typeof one.signature === 'string' ? { ...one, signature: one.signature.toWellFormed() } : one,
      ),
    'a long signature is cut': (body) =>
      withEach(body, (one) => (typeof one.data === 'string' ? { ...one, data: one.data.slice(0, 4_096) } : one)),
  },
};

const byRank = (rank: (block: Json) => number) => (a: unknown, b: unknown) => rank(objectOf(a)) - rank(objectOf(b));
const thoughtsFirst = byRank(({ type }) => Number(type === 'text' || type === 'tool_use'));
const textsFirst = byRank(({ type }) => Number(type === 'tool_use'));

const isInstruction = ({ role }: { readonly role: string }): boolean => role === 'system';
