import type { ChatMessage, ChatRequest, HttpCall, ProviderCall } from 'signalbox/plugin';

export interface RequestSettings {
  readonly max_tokens_field: 'max_tokens' | 'max_completion_tokens';
  readonly developer_role: 'developer' | 'system';
  readonly reasoning_history: 'left_out' | 'sent';
}

/** Sent as they came. Left out are Signalbox's own fields, `metadata` (the operator's rules read it) and those set below. */
const PASSED = [
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'temperature',
  'n',
  'stop',
  'seed',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'reasoning_effort',
  'user',
] as const satisfies readonly (keyof ChatRequest)[];

/** Models that refuse a temperature refuse the other sampling controls with it. */
const SAMPLING: ReadonlySet<string> = new Set(['temperature', 'top_p', 'frequency_penalty', 'presence_penalty']);

/** Where an answer has its thoughts, by the server that gave it. */
const REASONING: ReadonlySet<string> = new Set(['reasoning_content', 'reasoning', 'reasoning_details']);

const OF_TOOLS: ReadonlySet<string> = new Set(['tool_choice', 'parallel_tool_calls']);

/** An empty list (`tools: []`) says what leaving it out says, and is refused by some servers. */
const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Builds `POST /chat/completions`. */
export function buildRequest(call: ProviderCall, settings: RequestSettings): HttpCall {
  const { request, model } = call;
  const reasons = model.capabilities.includes('reasoning');
  const dropped: string[] = [];
  const body: Record<string, unknown> = {
    ...call.extras,
    model: call.upstream,
    messages: request.messages.map((message) => messageFor(message, settings)),
  };
  for (const field of PASSED) {
    const value = request[field];
    if (value === undefined || value === null || isEmpty(value)) continue;
    // Some servers refuse these where there are no tools, and others do not: they say nothing then.
    if (OF_TOOLS.has(field) && !request.tools?.length) continue;
    const refused = (!model.acceptsTemperature && SAMPLING.has(field)) || (field === 'reasoning_effort' && !reasons);
    if (refused) dropped.push(field);
    else body[field] = value;
  }
  body[settings.max_tokens_field] = call.outputCap;
  if (call.stream) {
    body.stream = true;
    body.stream_options = { ...request.stream_options, include_usage: true };
  }
  return { path: '/chat/completions', headers: {}, body: JSON.stringify(body), dropped };
}

/**
 * A message as this server takes it. Callers give answers back as they got them: strict servers refuse their
 * reasoning, and members that say nothing (`refusal: null`).
 */
function messageFor(message: ChatMessage, settings: RequestSettings): ChatMessage {
  const members = Object.entries(message).filter(
    ([name, value]) =>
      name === 'content' || (value !== null && !(settings.reasoning_history === 'left_out' && REASONING.has(name))),
  );
  const role = message.role === 'developer' ? settings.developer_role : message.role;
  return { ...(Object.fromEntries(members) as ChatMessage), role };
}
