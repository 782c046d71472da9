import type { ChatRequest, HttpCall, ProviderCall, ProviderFailure } from 'signalbox/plugin';
import { answerSchema } from '../answer-schema.ts';
import { Notes } from '../notes.ts';
import { type Block, CacheMarks, lastMarked, marked } from './cache.ts';
import { type Conversation, conversationOf } from './conversation.ts';
import { type Rules, rulesOf } from './models.ts';
import { structured } from './schema.ts';
import { isThought } from './state.ts';
import { type Thinking, thinkingFor } from './thinking.ts';
import { declared, toolChoiceOf, toolsOf } from './tools.ts';
import type { Turn } from './turns.ts';

export interface RequestSettings {
  readonly prompt_cache: 'auto' | 'by_caller';
}

const HEADERS = { 'anthropic-version': '2023-06-01' } as const;

/** The least top_p that the API takes from who lets a model think. */
const THOUGHTFUL_TOP_P = 0.95;

/** Builds `POST /messages`. */
export function buildRequest(call: ProviderCall, settings: RequestSettings): HttpCall | ProviderFailure {
  const { request } = call;
  const rules = rulesOf(call.upstream);
  const notes = new Notes();
  const marks = new CacheMarks(notes);
  const { cache_control: _mark, top_k: _topK, ...extras } = call.extras;
  const whole = marks.keep({}, call.extras, '');
  const tools = toolsOf(request, rules.jsonSchema, notes, marks);
  const conversation = conversationOf(request.messages, rules.inlineSystem, { notes, marks });
  const turns = ending(conversation.turns, rules, notes);
  const choice = toolChoiceOf(request);
  const isForced = choice?.type === 'any' || choice?.type === 'tool';
  const thinking = thinkingFor(call, rules, !isForced && beginsOrGoesOn(turns));
  if (!thinking.heeded) notes.drop('reasoning_effort');
  const hasTools = tools.length > 0;
  const output = outputOf(request, thinking, notes);
  const body = {
    ...extras,
    ...whole,
    model: call.upstream,
    max_tokens: call.outputCap,
    ...cached(settings, marks.byCaller, { tools, system: conversation.system, turns }, request),
    ...(hasTools ? choice && { tool_choice: choice } : undeclared(conversation)),
    ...samplingOf(call, rules, thinking, notes),
    ...stopOf(request.stop, notes),
    thinking: thinking.config,
    ...(output && { output_config: output }),
    ...(request.user && { metadata: { user_id: request.user } }),
    ...(call.stream && { stream: true }),
  };
  if (notes.refused !== '') return { kind: 'rejected', message: notes.refused };
  return { path: '/messages', headers: HEADERS, body: JSON.stringify(body), dropped: notes.dropped };
}

interface Prompt {
  readonly tools: readonly Block[];
  readonly system: readonly Block[];
  readonly turns: readonly Turn[];
}

/**
 * The prompt with the breakpoints of its cache. What is written there costs a quarter more than plain input, so unasked
 * only what is likely to come back is written: the whole, which the next turn reads, and what comes before the turns,
 * which other conversations read.
 */
function cached({ prompt_cache }: RequestSettings, byCaller: boolean, prompt: Prompt, request: ChatRequest): Block {
  const { tools, system, turns } = prompt;
  const returns = tools.length > 0 || request.messages.some(({ role }) => role === 'assistant');
  const unasked = prompt_cache === 'auto' && !byCaller && returns;
  const inSystem = system.length > 0;
  return {
    ...(tools.length > 0 && { tools: unasked && !inSystem ? lastMarked(tools) : tools }),
    ...(inSystem && { system: unasked ? lastMarked(system) : system }),
    messages: turns.map(({ role, content }) => ({ role, content })),
    ...(unasked && marked({})),
  };
}

/** Tools that the conversation calls although the request has none. */
function undeclared({ called }: Conversation): Block {
  return called.length > 0 ? { tools: declared(called), tool_choice: { type: 'none' } } : {};
}

/** The turns, fit for an answer to follow: the models that go on from a beginning of theirs want no blanks behind it. */
function ending(turns: readonly Turn[], rules: Rules, notes: Notes): readonly Turn[] {
  const last = turns.at(-1);
  if (last?.content.length === 0) notes.refuse('messages', 'say nothing');
  if (last?.role !== 'assistant') return turns;
  // What came behind it was blank.
  if (rules.endsWithUser) notes.refuse('messages', 'end with an answer, which this model does not go on from');
  const content = last.content.map((block, at) =>
    at === last.content.length - 1 && typeof block.text === 'string' ? { ...block, text: block.text.trimEnd() } : block,
  );
  return [...turns.slice(0, -1), { ...last, content }];
}

/** False where thoughts cannot begin: behind a beginning of the answer, or amid calls of tools made without them. */
function beginsOrGoesOn(turns: readonly Turn[]): boolean {
  const last = turns.at(-1);
  const before = turns.at(-2);
  if (last?.role === 'assistant') return false;
  const isAmid = last?.content.some(({ type }) => type === 'tool_result') ?? false;
  return !isAmid || before?.role !== 'assistant' || before.content.slice(0, 1).some(isThought);
}

/** Temperature, top_p and top_k where they are taken: the first two not together, and hardly by a model that thinks. */
function samplingOf({ request, extras, model }: ProviderCall, rules: Rules, thinking: Thinking, notes: Notes): Block {
  const isFixed = !model.acceptsTemperature || rules.fixedSampling;
  const { temperature, top_p: topP } = request;
  const { top_k: topK } = extras;
  const takesTopP = !isFixed && (thinking.on ? (topP ?? 0) >= THOUGHTFUL_TOP_P : temperature == null);
  const asked: readonly (readonly [string, unknown, boolean])[] = [
    ['temperature', temperature, !isFixed && !thinking.on],
    ['top_p', topP, takesTopP],
    ['top_k', topK, !isFixed && !thinking.on],
  ];
  const sent: Record<string, unknown> = {};
  for (const [name, value, isTaken] of asked) {
    if (value == null) continue;
    if (isTaken) sent[name] = value;
    else notes.drop(name);
  }
  return sent;
}

function stopOf(stop: ChatRequest['stop'], notes: Notes): Block {
  const sequences = typeof stop === 'string' ? [stop] : (stop ?? []);
  const blank = sequences.findIndex((sequence) => sequence.trim() === '');
  if (blank >= 0) notes.refuse(typeof stop === 'string' ? 'stop' : `stop[${blank}]`, 'is blank, which the API refuses');
  return sequences.length > 0 ? { stop_sequences: sequences } : {};
}

function outputOf({ response_format: format }: ChatRequest, { effort }: Thinking, notes: Notes): Block | undefined {
  if (format?.type !== 'json_schema') return effort === undefined ? undefined : { effort };
  const schema = answerSchema(format.json_schema, notes);
  const result = schema === undefined ? { why: 'is left out' } : structured(schema);
  if ('schema' in result) return { effort, format: { type: 'json_schema', schema: result.schema } };
  notes.refuse('response_format.json_schema.schema', `${result.why}, which the API cannot hold an answer to`);
  return undefined;
}
