import type { ChatMessage, ChatRequest, HttpCall, ProviderCall } from 'signalbox/plugin';

export interface RequestSettings {
  readonly max_tokens_field: 'max_tokens' | 'max_completion_tokens';
  readonly developer_role: 'developer' | 'system';
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

/** Builds `POST /chat/completions`. */
export function buildRequest(call: ProviderCall, settings: RequestSettings): HttpCall {
  const { request, model } = call;
  const reasons = model.capabilities.includes('reasoning');
  const dropped: string[] = [];
  const body: Record<string, unknown> = {
    ...call.extras,
    model: call.upstream,
    messages: messagesOf(request.messages, settings),
  };
  for (const field of PASSED) {
    const value = request[field];
    if (value === undefined || value === null) continue;
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

function messagesOf(messages: readonly ChatMessage[], settings: RequestSettings): readonly ChatMessage[] {
  if (settings.developer_role === 'developer') return messages;
  return messages.map((message) => (message.role === 'developer' ? { ...message, role: 'system' } : message));
}
