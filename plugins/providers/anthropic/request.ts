import { type BuiltRequest, type ModelRequest, type ProviderCall, pathText, structuredSchema } from 'signalbox/plugin';
import { isObject } from '../json.ts';
import { answerSchema, Notes, unnamedMembers } from '../notes.ts';
import { addMark, type Block, CacheMarks, markLast } from './cache.ts';
import { type AnthropicPrompt, promptOf } from './conversation.ts';
import { type ModelRules, rulesOf } from './models.ts';
import type { ClaudeService } from './service.ts';
import { isThought } from './state.ts';
import { type ThinkingConfig, thinkingFor } from './thinking.ts';
import { declarationsOf, toolChoiceOf, toolsOf } from './tools.ts';

/** The header of a request with the fast speed, which is a beta for some models (platform.claude.com/docs/en/build-with-claude/fast-mode). */
const FAST_BETA = { 'anthropic-beta': 'fast-mode-2026-02-01' } as const;

/** The service tier that Anthropic calls a speed. */
export const FAST = 'fast';

/** Members of turns and parts that this file reads. */
const READ = ['cache_control', 'is_error'] as const;

/** The lowest top_p that the API accepts together with thinking. */
const THOUGHTFUL_TOP_P = 0.95;

/** Builds a request for a message. @param mayMark whether cache marks may be added to a prompt for which the caller set none */
export function buildRequest(call: ProviderCall, service: ClaudeService, mayMark: boolean): BuiltRequest {
  const { request } = call;
  const rules = rulesOf(call.upstream);
  const notes = new Notes();
  const marks = new CacheMarks(notes);
  const { cache_control: _mark, top_k: _topK, ...extras } = call.extras;
  const whole = marks.keep({}, call.extras, '');
  const tools = toolsOf(request, rules.jsonSchema, notes, marks);
  const { called, ...conversation } = promptOf(request, rules.inlineSystem, { notes, marks });
  const turns = withoutTrailingBlanks(conversation.turns, rules, notes, request.names.turns);
  const choice = toolChoiceOf(request);
  const isForced = choice?.type === 'any' || choice?.type === 'tool';
  const thinking = thinkingFor(call, rules, { isForced, canStart: canStartThinking(turns) });
  if (!thinking.honored) notes.drop(request.names.reasoningEffort);
  if (thinking.config === undefined && isObject(extras.thinking)) notes.drop('thinking');
  const hasTools = tools.length > 0;
  const isFast = call.serviceTier === FAST;
  const output = outputOf(request, thinking, notes);
  const body = {
    ...extras,
    ...whole,
    ...service.model(call.upstream, ''),
    max_tokens: call.outputCap,
    ...promptFields({ tools, system: systemOf(conversation, request), turns }, request, mayMark && !marks.setByCaller),
    ...(hasTools && choice && { tool_choice: choice }),
    // The API requires a declaration of every tool that the history calls.
    ...(!hasTools && called.length > 0 && { tools: declarationsOf(called), tool_choice: { type: 'none' } }),
    ...samplingOf(call, rules, thinking, notes),
    ...(request.settings.stop?.length && { stop_sequences: [request.settings.stop].flat() }),
    thinking: thinking.config,
    speed: isFast ? 'fast' : undefined,
    ...(output && { output_config: output }),
    ...(request.settings.user && { metadata: { user_id: request.settings.user } }),
    ...(call.stream && { stream: true }),
  };
  for (const path of unnamedMembers(request, READ)) notes.drop(path);
  if (notes.refusal !== '') return { kind: 'rejected', message: notes.refusal };
  return {
    path: service.path(call.upstream, call.stream),
    headers: isFast ? { ...service.headers, ...FAST_BETA } : service.headers,
    body: JSON.stringify(body),
    dropped: notes.dropped,
  };
}

interface Prompt extends Pick<AnthropicPrompt, 'system' | 'turns'> {
  readonly tools: readonly Block[];
}

/**
 * Returns the prompt with its cache breakpoints. A cache write costs a quarter more than plain input, so by default only prompts that are
 * likely to be sent again are cached: the whole prompt for the next turn, and tools and system prompt for other conversations.
 */
function promptFields({ tools, system, turns }: Prompt, request: ModelRequest, mayMark: boolean): Block {
  const returns = tools.length > 0 || request.conversation.turns.some(({ role }) => role === 'assistant');
  const automatic = mayMark && returns;
  const inSystem = system.length > 0;
  return {
    ...(tools.length > 0 && { tools: automatic && !inSystem ? markLast(tools) : tools }),
    ...(inSystem && { system: automatic ? markLast(system) : system }),
    messages: turns.map(({ role, content }) => ({ role, content })),
    ...(automatic && addMark({})),
  };
}

type Turns = AnthropicPrompt['turns'];

/** The Messages API has no mode for any JSON object, so the model is told. */
const JSON_ONLY = 'Answer with one valid JSON object and nothing else: no explanation and no code fence.';

const systemOf = ({ system }: Pick<AnthropicPrompt, 'system'>, { settings }: ModelRequest): readonly Block[] =>
  settings.answerFormat?.type === 'json' ? [...system, { type: 'text', text: JSON_ONLY }] : system;

/** Trims blanks at the end of the last turn, because models that continue an answer reject them. */
function withoutTrailingBlanks(turns: Turns, rules: ModelRules, notes: Notes, field: string): Turns {
  const last = turns.at(-1);
  if (last?.content.length === 0) notes.refuse(field, 'must not all be empty');
  if (last?.role !== 'assistant') return turns;
  // The last turn is an answer: messages after it, if any, were blank.
  if (rules.endsWithUser) notes.refuse(field, 'end with an assistant message, which this model cannot continue');
  const content = last.content.map((block, at) =>
    at === last.content.length - 1 && typeof block.text === 'string' ? { ...block, text: block.text.trimEnd() } : block,
  );
  return [...turns.slice(0, -1), { ...last, content }];
}

/** Returns false if thinking cannot start: after the start of an answer, or between tool calls that were made without thinking. */
function canStartThinking(turns: Turns): boolean {
  const last = turns.at(-1);
  const before = turns.at(-2);
  if (last?.role === 'assistant') return false;
  const isAmid = last?.content.some(({ type }) => type === 'tool_result') ?? false;
  return !isAmid || before?.role !== 'assistant' || before.content.slice(0, 1).some(isThought);
}

/**
 * Returns temperature, top_p and top_k as far as the API accepts them: temperature and top_p not together, and few values with thinking.
 */
function samplingOf(call: ProviderCall, rules: ModelRules, thinking: ThinkingConfig, notes: Notes): Block {
  const { request, extras, model } = call;
  const isFixed = !model.acceptsTemperature || rules.fixedSampling;
  const { settings, names } = request;
  const { temperature, topP } = settings;
  const isFree = !isFixed && !thinking.on;
  const takesTopP = !isFixed && (thinking.on ? (topP ?? 0) >= THOUGHTFUL_TOP_P : temperature === undefined);
  return {
    temperature: notes.sent(names.temperature, temperature, isFree),
    top_p: notes.sent(names.topP, topP, takesTopP),
    top_k: notes.sent('top_k', extras.top_k ?? undefined, isFree),
  };
}

function outputOf({ settings }: ModelRequest, { effort }: ThinkingConfig, notes: Notes): Block | undefined {
  const { answerFormat: format } = settings;
  if (format?.type !== 'json-schema') return effort === undefined ? undefined : { effort };
  const schema = answerSchema(format, notes);
  const result = schema === undefined ? { why: 'is left out' } : structuredSchema(schema);
  if ('schema' in result) return { effort, format: { type: 'json_schema', schema: result.schema } };
  notes.refuse(`${pathText(format.valueAt)}.schema`, `${result.why}, which this provider does not accept`);
  return undefined;
}
