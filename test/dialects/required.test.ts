import { expect, test } from 'bun:test';
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import type {
  Response as OpenAIResponse,
  ResponseFunctionToolCall,
  ResponseOutputMessage,
  ResponseOutputText,
  ResponseReasoningItem,
  ResponseUsage,
} from 'openai/resources/responses/responses';
import { objectOf, objectsIn, parseJson } from '../../src/core/json/object.ts';
import type { Members as Json } from '../../src/core/json/original.ts';
import { startBench } from '../support/dialect-bench.ts';
import { useSignalbox } from '../support/use.ts';

/**
 * Members that the official clients' types always have, and never as null. Clients that validate reject an answer without one.
 * `nulls.test.ts` has the members that may be null. `tsc` compares these lists with the types, so a member that a new version requires is
 * missing here.
 */
type Required<T> = { [K in keyof T]-?: undefined extends T[K] ? never : null extends T[K] ? never : K }[keyof T];
type Members<T, Absent extends keyof T = never> = Readonly<Record<Exclude<Required<T>, Absent>, true>>;

const COMPLETION: Members<OpenAI.ChatCompletion> = {
  id: true,
  object: true,
  created: true,
  model: true,
  choices: true,
};
const CHOICE: Members<OpenAI.ChatCompletion.Choice> = { index: true, message: true, finish_reason: true };
const MESSAGE: Members<OpenAI.ChatCompletionMessage> = { role: true };
const CALL: Members<OpenAI.ChatCompletionMessageFunctionToolCall> = { id: true, type: true, function: true };
const COMPLETION_USAGE: Members<OpenAI.CompletionUsage> = {
  completion_tokens: true,
  prompt_tokens: true,
  total_tokens: true,
};
const CHUNK: Members<ChatCompletionChunk> = COMPLETION;
const CHUNK_CHOICE: Members<ChatCompletionChunk.Choice> = { index: true, delta: true };

/** The client computes `output_text`. */
const RESPONSE: Members<OpenAIResponse, 'output_text'> = {
  created_at: true,
  id: true,
  model: true,
  object: true,
  output: true,
  parallel_tool_calls: true,
  tool_choice: true,
  tools: true,
};
const OUTPUT: Members<ResponseOutputMessage> = { id: true, type: true, role: true, status: true, content: true };
const OUTPUT_TEXT: Members<ResponseOutputText> = { type: true, text: true, annotations: true };
const FUNCTION_CALL: Members<ResponseFunctionToolCall> = { type: true, call_id: true, name: true, arguments: true };
const REASONING: Members<ResponseReasoningItem> = { id: true, type: true, summary: true };
const USAGE: Members<ResponseUsage> = {
  input_tokens: true,
  input_tokens_details: true,
  output_tokens: true,
  output_tokens_details: true,
  total_tokens: true,
};
const INPUT_DETAILS: Members<ResponseUsage.InputTokensDetails> = { cache_write_tokens: true, cached_tokens: true };
const OUTPUT_DETAILS: Members<ResponseUsage.OutputTokensDetails> = { reasoning_tokens: true };

const ANSWER: Members<Anthropic.Message> = {
  content: true,
  id: true,
  model: true,
  role: true,
  type: true,
  usage: true,
};
const TEXT: Members<Anthropic.TextBlock> = { type: true, text: true };
const TOOL_USE: Members<Anthropic.ToolUseBlock> = { type: true, id: true, name: true, caller: true };
const THINKING: Members<Anthropic.ThinkingBlock> = { type: true, thinking: true, signature: true };
const ANSWER_USAGE: Members<Anthropic.Usage> = { input_tokens: true, output_tokens: true };
const LAST_DELTA: Members<Anthropic.RawMessageDeltaEvent> = { type: true, delta: true, usage: true };
const COUNT: Members<Anthropic.MessageTokensCount> = { input_tokens: true };
const ERROR: Members<Anthropic.ErrorResponse> = { type: true, error: true };
const MODEL: Members<Anthropic.ModelInfo> & Members<OpenAI.Model> = {
  created: true,
  created_at: true,
  display_name: true,
  id: true,
  lifecycle: true,
  object: true,
  owned_by: true,
  type: true,
};
/** Members of a model that may be null. `nulls.test.ts` does not test lists of models. */
type Nulls<T> = { [K in keyof T]-?: undefined extends T[K] ? never : null extends T[K] ? K : never }[keyof T];
const MODEL_NULLS: Readonly<Record<Nulls<Anthropic.ModelInfo>, true>> = {
  capabilities: true,
  deprecated_at: true,
  line: true,
  max_input_tokens: true,
  max_tokens: true,
  retires_at: true,
};
const EMBEDDINGS: Members<OpenAI.CreateEmbeddingResponse> = { object: true, data: true, model: true, usage: true };
const EMBEDDING: Members<OpenAI.Embedding> = { object: true, index: true, embedding: true };

const bench = startBench('openai');
const simulated = useSignalbox();

const textOf = async (path: string, body: object): Promise<string> => (await bench.box.post(path, body)).text();
const answerTo = async (path: string, body: object): Promise<Json> => objectOf(parseJson(await textOf(path, body)));
const eventsOf = async (path: string, body: object): Promise<readonly Json[]> =>
  objectsIn((await textOf(path, body)).split('\n').map((line) => parseJson(line.replace(/^data: /, ''))));

/** Expects the members in each of at least one object. */
function expectMembers(all: readonly unknown[], members: object): void {
  expect(all.length).toBeGreaterThan(0);
  for (const one of all) expect(Object.keys(objectOf(one))).toEqual(expect.arrayContaining(Object.keys(members)));
}

const ofType = (items: unknown, type: string) => objectsIn(items).filter((item) => item.type === type);
const SAID = { text: 'Hi', reasoning: 'Hm' };
const CALLED = { toolCalls: [{ name: 'look', arguments: '{}' }] };
const QUESTION = { model: 'best', messages: [{ role: 'user', content: 'Hi' }] };
const PARAMETERS = { type: 'object', properties: { at: { type: 'string' } } };
const TOOLS = [{ type: 'function', function: { name: 'look', parameters: PARAMETERS } }];

test('a completion has every member that strict clients require', async () => {
  bench.upstream.next(SAID, CALLED);
  const said = await answerTo('/v1/chat/completions', QUESTION);
  const called = await answerTo('/v1/chat/completions', { ...QUESTION, tools: TOOLS });
  const choices = [said, called].flatMap((answer) => objectsIn(answer.choices));
  expectMembers([said, called], COMPLETION);
  expectMembers(choices, CHOICE);
  expectMembers(
    choices.map(({ message }) => message),
    MESSAGE,
  );
  expectMembers(objectsIn(objectOf(choices[1]!.message).tool_calls), CALL);
  expectMembers([said.usage], COMPLETION_USAGE);
});

test('every chunk has every member that strict clients require', async () => {
  bench.upstream.next(SAID);
  const chunks = await eventsOf('/v1/chat/completions', { ...QUESTION, stream: true });
  const choices = chunks.flatMap((chunk) => objectsIn(chunk.choices));
  expectMembers(chunks, CHUNK);
  expectMembers(choices, CHUNK_CHOICE);
});

test('a translated response has every member that strict clients require', async () => {
  bench.upstream.next(SAID, CALLED);
  const request = { model: 'best', input: 'Hi', store: false };
  const said = await answerTo('/v1/responses', request);
  const called = await answerTo('/v1/responses', {
    ...request,
    tools: [{ type: 'function', name: 'look', parameters: PARAMETERS }],
  });
  expectMembers([said, called], RESPONSE);
  const messages = ofType(said.output, 'message');
  expectMembers(messages, OUTPUT);
  expectMembers(objectsIn(messages[0]!.content), OUTPUT_TEXT);
  expectMembers(ofType(said.output, 'reasoning'), REASONING);
  expectMembers(ofType(called.output, 'function_call'), FUNCTION_CALL);
  const usage = objectOf(said.usage);
  expectMembers([usage], USAGE);
  expectMembers([usage.input_tokens_details], INPUT_DETAILS);
  expectMembers([usage.output_tokens_details], OUTPUT_DETAILS);
  expect(objectOf(usage.input_tokens_details).cache_write_tokens).toBe(0);
});

test('a translated message has every member that strict clients require', async () => {
  bench.upstream.next(SAID, CALLED);
  const request = { ...QUESTION, max_tokens: 100 };
  const tools = [{ name: 'look', input_schema: PARAMETERS }];
  const said = await answerTo('/v1/messages', request);
  const called = await answerTo('/v1/messages', { ...request, tools });
  expectMembers([said, called], ANSWER);
  expectMembers(ofType(said.content, 'text'), TEXT);
  expectMembers(ofType(said.content, 'thinking'), THINKING);
  expectMembers(ofType(called.content, 'tool_use'), TOOL_USE);
  expectMembers([said.usage], ANSWER_USAGE);
  expectMembers([await answerTo('/v1/messages/count_tokens', QUESTION)], COUNT);
  expectMembers([await answerTo('/v1/messages', {})], ERROR);
});

test('the events of a translated message have every member that strict clients require', async () => {
  bench.upstream.next(SAID);
  const events = await eventsOf('/v1/messages', { ...QUESTION, max_tokens: 100, stream: true });
  expectMembers(
    ofType(events, 'message_start').map(({ message }) => message),
    ANSWER,
  );
  expectMembers(ofType(events, 'message_delta'), LAST_DELTA);
});

test('embeddings have every member that strict clients require', async () => {
  const response = await simulated.post('/v1/embeddings', { model: 'sim-embed', input: 'Hi' });
  const answer = objectOf(await response.json());
  expectMembers([answer], EMBEDDINGS);
  expectMembers(objectsIn(answer.data), EMBEDDING);
});

test('every model in the list has every member that strict clients require', async () => {
  const { data } = objectOf(await (await bench.box.get('/v1/models')).json());
  expectMembers(objectsIn(data), { ...MODEL, ...MODEL_NULLS });
  expect(new Set(objectsIn(data).map(({ lifecycle }) => lifecycle))).toEqual(new Set(['active']));
});
