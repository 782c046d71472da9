import type { Capability, HttpCall, Members, ModelRequest, ModelTraits, ProviderCall } from 'signalbox/plugin';
import { writeJson } from 'signalbox/plugin';
import { isObject } from '../json.ts';
import { unnamedMembers } from '../notes.ts';
import { chatBodyOf, OPENAI_CHAT } from './body.ts';
import { effortsOf, nearestEffort } from './efforts.ts';
import { messagesFor, toolsFor } from './messages.ts';
import type { DialectSettings } from './settings.ts';

const NO_HEADERS: HttpCall['headers'] = Object.freeze({});

type BodyFields = Record<string, unknown>;

/**
 * Fields that the adapter sends unchanged: all fields except Signalbox's own, `metadata` (for the operator's rules) and the fields that
 * `buildRequest` sets.
 */
const PASSED = [
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'n',
  'stop',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'response_format',
  'user',
] as const;

/** Fields that the adapter drops for models without sampling controls. */
const SAMPLING: ReadonlySet<string> = new Set(['temperature', 'top_p']);

/** Default values, which the adapter omits because servers that lack the field reject even its default. */
const NEUTRAL: Readonly<Record<string, unknown>> = {
  frequency_penalty: 0,
  presence_penalty: 0,
  n: 1,
  logprobs: false,
};

/** Returns the capabilities that a model of this server lacks. */
export function lacksOf(settings: DialectSettings, model: ModelTraits): readonly Capability[] {
  const lacks: Capability[] = [...settings.lacks, ...model.lacks];
  // Models that reject a temperature also reject the other sampling controls.
  if (!model.acceptsTemperature) lacks.push('penalties');
  if (model.capabilities.includes('reasoning')) lacks.push(...settings.reasoning_lacks);
  return lacks;
}

/** Builds `POST /chat/completions`. @param request the call's request in OpenAI's dialect */
export function buildRequest(
  call: ProviderCall,
  settings: DialectSettings,
  request: Members = chatBodyOf(call.request, settings.cache_hints === 'sent'),
): HttpCall {
  const { model } = call;
  const reasons = model.capabilities.includes('reasoning');
  const dropped: string[] = [];
  const { isCompletion } = call.request.conversation;
  const body: BodyFields = { ...call.extras, model: call.upstream };
  if (isCompletion) Object.assign(body, promptOf(call.request));
  else body.messages = messagesFor(request.messages, { settings, reasons, dropped });
  for (const field of PASSED) {
    const value = request[field];
    if (value === undefined || isNeutral(field, value)) continue;
    const refused = SAMPLING.has(field)
      ? !model.acceptsTemperature
      : field === 'user' && settings.leave_out.includes('user');
    if (refused) dropped.push(field);
    else body[field] = value;
  }
  // Some servers accept only a list as `stop`.
  if (typeof body.stop === 'string') body.stop = [body.stop];
  if (request.seed != null) body[settings.seed_field] = request.seed;
  if (request.tools != null) Object.assign(body, toolFields(request, model, settings, dropped));
  const { reasoning_effort: effort } = request;
  if (typeof effort === 'string') body.reasoning_effort = effortOf(effort, call, settings, dropped);
  if (call.serviceTier !== undefined) body.service_tier = tierName(call.serviceTier);
  body[isCompletion ? 'max_tokens' : settings.max_tokens_field] = call.outputCap;
  if (call.stream) addStream(body, request, settings);
  return {
    ...writeJson(body, call.request.original.body),
    path: isCompletion ? settings.completions_path : '/chat/completions',
    headers: NO_HEADERS,
    dropped: call.request.original.dialect === OPENAI_CHAT ? dropped : namedFor(call.request, dropped, settings),
  };
}

/** Returns OpenAI's name of a service tier. Not every server knows its newer name `fast`. */
export const tierName = (tier: string): string => (tier === 'fast' ? 'priority' : tier);

/** Returns the text that the model continues, and the text that follows the answer. */
function promptOf({ conversation: { turns } }: ModelRequest): Members {
  const [prompt = '', suffix] = (turns[0]?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : []));
  return { prompt, ...(suffix !== undefined && { suffix }) };
}

function addStream(body: BodyFields, request: Members, settings: DialectSettings): void {
  body.stream = true;
  if (settings.leave_out.includes('stream_options')) return;
  const requested = settings.unknown_members === 'sent' ? request.stream_options : null;
  body.stream_options = { ...(isObject(requested) && requested), include_usage: true };
}

/** Returns the names of the omitted fields in the dialect of the caller. */
function namedFor(request: ModelRequest, dropped: readonly string[], settings: DialectSettings): readonly string[] {
  const { names } = request;
  const own: Readonly<Record<string, string>> = {
    temperature: names.temperature,
    top_p: names.topP,
    user: names.user,
    reasoning_effort: names.reasoningEffort,
  };
  return [
    ...dropped.map((name) => own[name] ?? name),
    ...unnamedMembers(request, settings.cache_hints === 'sent' ? ['cache_control'] : []),
  ];
}

/** Whether a value means the same as omitting its field: an empty list (`stop: []`), an empty map or a default. */
function isNeutral(field: string, value: unknown): boolean {
  if (value === null || (field in NEUTRAL && value === NEUTRAL[field])) return true;
  if (typeof value !== 'object') return false;
  if ('type' in value) return value.type === 'text';
  // `Object.keys` could create a long list, so only the first key is read.
  for (const _ in value) return false;
  return true;
}

/** Returns the name in the `function` of a tool or a tool choice. */
const nameIn = (owner: Members): unknown => (isObject(owner.function) ? owner.function.name : undefined);

function toolFields(request: Members, model: ModelTraits, settings: DialectSettings, dropped: string[]): Members {
  const { tool_choice: choice, parallel_tool_calls: parallel } = request;
  const tools = toolsFor(request.tools, settings, dropped);
  if (tools.length === 0) return {};
  const lacks = lacksOf(settings, model);
  // Servers that cannot force calls have no `tool_choice`: `auto` is the default, and for `none` the tools are omitted.
  const isChoosable = !lacks.includes('forced_tools');
  if (choice === 'none' && !isChoosable) return {};
  const named = settings.named_tool_choice === 'as_required' && isObject(choice) ? nameIn(choice) : undefined;
  return {
    tools: named === undefined ? tools : tools.filter((tool) => nameIn(tool) === named),
    ...(choice != null && isChoosable && { tool_choice: named === undefined ? choice : 'required' }),
    ...(parallel != null && !lacks.includes('single_tool_calls') && { parallel_tool_calls: parallel }),
  };
}

/** Returns the effort to send; undefined for none. */
function effortOf(requested: string, call: ProviderCall, settings: DialectSettings, dropped: string[]) {
  const { model, upstream } = call;
  const reasons = model.capabilities.includes('reasoning');
  const effort = nearestEffort(requested, effortsOf(upstream, settings.efforts));
  // The adapter reports the effort as dropped if it omits the effort, or if rounding turned reasoning on or off.
  if (!reasons || (effort === 'none') !== (requested === 'none')) dropped.push('reasoning_effort');
  return reasons ? effort : undefined;
}
