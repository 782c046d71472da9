import type { Capability, ChatRequest, HttpCall, ModelTraits, ProviderCall } from 'signalbox/plugin';
import { effortsOf, rounded } from './efforts.ts';
import { messagesFor, toolsFor } from './messages.ts';
import type { DialectSettings } from './settings.ts';

type Fields = Record<string, unknown>;

/** Sent as they came. Left out are Signalbox's own fields, `metadata` (the operator's rules read it) and those set below. */
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

/** Hints that a model without sampling controls does without. */
const SAMPLING: ReadonlySet<string> = new Set(['temperature', 'top_p']);

/** Values that say what leaving the field out says: servers that lack the field refuse even these. */
const NEUTRAL: Readonly<Record<string, unknown>> = {
  frequency_penalty: 0,
  presence_penalty: 0,
  n: 1,
  logprobs: false,
};

/** What cannot be asked of a model of this server. */
export function lacksOf(settings: DialectSettings, model: ModelTraits): readonly Capability[] {
  const lacks: Capability[] = [...settings.lacks, ...model.lacks];
  // Models that refuse a temperature refuse the other sampling controls with it.
  if (!model.acceptsTemperature) lacks.push('penalties');
  if (model.capabilities.includes('reasoning')) lacks.push(...settings.reasoning_lacks);
  return lacks;
}

/** Builds `POST /chat/completions`. */
export function buildRequest(call: ProviderCall, settings: DialectSettings): HttpCall {
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
    if (value === undefined || saysNothing(field, value)) continue;
    const refused = SAMPLING.has(field) ? !model.acceptsTemperature : field === 'user' && leavesUser(settings);
    if (refused) dropped.push(field);
    else body[field] = value;
  }
  // Some servers take a list alone.
  if (typeof body.stop === 'string') body.stop = [body.stop];
  if (request.seed != null) body[settings.seed_field] = request.seed;
  Object.assign(body, toolFields(call, settings, dropped));
  Object.assign(body, effortField(call, settings, dropped));
  body[settings.max_tokens_field] = call.outputCap;
  if (call.stream) {
    body.stream = true;
    if (!settings.leave_out.includes('stream_options')) {
      const asked = settings.unknown_members === 'sent' ? request.stream_options : {};
      body.stream_options = { ...asked, include_usage: true };
    }
  }
  return { path: '/chat/completions', headers: {}, body: JSON.stringify(body), dropped };
}

const leavesUser = ({ leave_out }: DialectSettings): boolean => leave_out.includes('user');

/** An empty list (`stop: []`), map or default says what leaving it out says, and is refused by some servers. */
export function saysNothing(field: string, value: unknown): boolean {
  if (value === null || (field in NEUTRAL && value === NEUTRAL[field])) return true;
  if (typeof value !== 'object') return false;
  return 'type' in value ? value.type === 'text' : Object.keys(value).length === 0;
}

/** What is said of tools, which is nothing where there are none. */
function toolFields({ request, model }: ProviderCall, settings: DialectSettings, dropped: string[]): Fields {
  const { tool_choice: choice, parallel_tool_calls: parallel } = request;
  if (!request.tools?.length) return {};
  const lacks = lacksOf(settings, model);
  // Who cannot be made to call has no `tool_choice`: `auto` needs no saying, and for `none` the tools stay away.
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

function effortField(
  { request, model, upstream }: ProviderCall,
  { efforts }: DialectSettings,
  dropped: string[],
): Fields {
  const asked = request.reasoning_effort ?? undefined;
  if (asked === undefined) return {};
  const reasons = model.capabilities.includes('reasoning');
  const effort = rounded(asked, effortsOf(upstream, efforts));
  // Told where it is left out, and where a model reasons that was not to, or the other way round.
  if (!reasons || (effort === 'none') !== (asked === 'none')) dropped.push('reasoning_effort');
  return reasons ? { reasoning_effort: effort } : {};
}
