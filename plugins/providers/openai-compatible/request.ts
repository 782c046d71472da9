import type { Capability, ChatRequest, HttpCall, ModelTraits } from 'signalbox/plugin';
import type { ChatCall } from '../chat-call.ts';
import { effortsOf, nearestEffort } from './efforts.ts';
import { messagesFor, toolsFor } from './messages.ts';
import type { DialectSettings } from './settings.ts';

type Fields = Record<string, unknown>;

/** Fields sent unchanged: not Signalbox's own, `metadata` (for the operator's rules) and those set below. */
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
] as const satisfies readonly (keyof ChatRequest)[];

/** Fields dropped for models without sampling controls. */
const SAMPLING: ReadonlySet<string> = new Set(['temperature', 'top_p']);

/** Default values, which are omitted: servers that lack the field refuse even these. */
const NEUTRAL: Readonly<Record<string, unknown>> = {
  frequency_penalty: 0,
  presence_penalty: 0,
  n: 1,
  logprobs: false,
};

/** The capabilities that a model of this server lacks. */
export function lacksOf(settings: DialectSettings, model: ModelTraits): readonly Capability[] {
  const lacks: Capability[] = [...settings.lacks, ...model.lacks];
  // Models that refuse a temperature also refuse the other sampling controls.
  if (!model.acceptsTemperature) lacks.push('penalties');
  if (model.capabilities.includes('reasoning')) lacks.push(...settings.reasoning_lacks);
  return lacks;
}

/** Builds `POST /chat/completions`. */
export function buildRequest(call: ChatCall, settings: DialectSettings): HttpCall {
  const { request, model } = call;
  const reasons = model.capabilities.includes('reasoning');
  const dropped: string[] = [];
  const body: Fields = {
    ...call.extras,
    model: call.upstream,
    messages: messagesFor(request.messages, settings, reasons, dropped),
  };
  for (const field of PASSED) {
    const value = request[field];
    if (value === undefined || isNeutral(field, value)) continue;
    const refused = SAMPLING.has(field) ? !model.acceptsTemperature : field === 'user' && leavesUser(settings);
    if (refused) dropped.push(field);
    else body[field] = value;
  }
  // Some servers accept only a list.
  if (typeof body.stop === 'string') body.stop = [body.stop];
  if (request.seed != null) body[settings.seed_field] = request.seed;
  Object.assign(body, toolFields(call, settings, dropped));
  Object.assign(body, effortField(call, settings, dropped));
  body[settings.max_tokens_field] = call.outputCap;
  if (call.stream) {
    body.stream = true;
    if (!settings.leave_out.includes('stream_options')) {
      const requested = settings.unknown_members === 'sent' ? request.stream_options : {};
      body.stream_options = { ...requested, include_usage: true };
    }
  }
  return { path: '/chat/completions', headers: {}, body: JSON.stringify(body), dropped };
}

const leavesUser = ({ leave_out }: DialectSettings): boolean => leave_out.includes('user');

/** Whether a value means the same as omitting it: an empty list (`stop: []`), an empty map or a default. */
export function isNeutral(field: string, value: unknown): boolean {
  if (value === null || (field in NEUTRAL && value === NEUTRAL[field])) return true;
  if (typeof value !== 'object') return false;
  return 'type' in value ? value.type === 'text' : Object.keys(value).length === 0;
}

/** The tool fields; empty without tools. */
function toolFields({ request, model }: ChatCall, settings: DialectSettings, dropped: string[]): Fields {
  const { tool_choice: choice, parallel_tool_calls: parallel } = request;
  if (!request.tools?.length) return {};
  const lacks = lacksOf(settings, model);
  // Servers without forced calls have no `tool_choice`: `auto` is the default, and `none` omits the tools.
  const isChoosable = !lacks.includes('forced_tools');
  if (choice === 'none' && !isChoosable) return {};
  const fields: Fields = {};
  const named = settings.named_tool_choice === 'as_required' && typeof choice === 'object' ? choice?.function : null;
  const tools = toolsFor(request.tools, settings, dropped);
  fields.tools = named ? tools.filter((_, at) => request.tools?.[at]?.function.name === named.name) : tools;
  if (choice != null && isChoosable) fields.tool_choice = named ? 'required' : choice;
  if (parallel != null && !lacks.includes('single_tool_calls')) fields.parallel_tool_calls = parallel;
  return fields;
}

function effortField({ request, model, upstream }: ChatCall, { efforts }: DialectSettings, dropped: string[]): Fields {
  const requested = request.reasoning_effort ?? undefined;
  if (requested === undefined) return {};
  const reasons = model.capabilities.includes('reasoning');
  const effort = nearestEffort(requested, effortsOf(upstream, efforts));
  // Reported when omitted, or when rounding turned reasoning on or off.
  if (!reasons || (effort === 'none') !== (requested === 'none')) dropped.push('reasoning_effort');
  return reasons ? { reasoning_effort: effort } : {};
}
