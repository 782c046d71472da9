import type { HttpCall, ProviderCall, ProviderFailure, WireAdapter } from 'signalbox/plugin';
import { chatCall } from '../chat-call.ts';
import { effortFor, reasoningModelLacks, toolsInChat } from './models.ts';
import { buildResponses, unsupportedField } from './responses.ts';
import type { OpenAiSettings } from './settings.ts';

/** Uses chat completions, except for models that do not reason with tools there: these need the Responses API. */
export function requestOf(call: ProviderCall, chat: WireAdapter, settings: OpenAiSettings): HttpCall | ProviderFailure {
  const { request, model, upstream } = chatCall(call);
  if (!model.capabilities.includes('reasoning')) return chat.request(call);
  const requested = request.reasoning_effort ?? undefined;
  const tools = request.tools?.length ? toolsInChat(upstream) : 'with_effort';
  if (tools === 'with_effort') return chatRequest(call, chat, effortFor(upstream, requested, 'chat'));
  const effort = effortFor(upstream, requested, 'responses');
  const unsupported = effort === 'none' ? null : unsupportedField(chatCall(call));
  if (effort !== 'none' && unsupported === null) {
    return withDroppedEffort(buildResponses(chatCall(call), effort, settings), requested, effort);
  }
  if (tools === 'without_effort') return chatRequest(call, chat, 'none');
  return { kind: 'rejected', message: `${unsupported} cannot be had of this model beside tools` };
}

function chatRequest(call: ProviderCall, chat: WireAdapter, effort: string | undefined): HttpCall | ProviderFailure {
  const { request, upstream } = chatCall(call);
  const takesParallel = !reasoningModelLacks(upstream).includes('single_tool_calls');
  const result = chat.request({
    ...call,
    request: call.request.edit([
      { at: ['reasoning_effort'], value: effort },
      { at: ['parallel_tool_calls'], value: takesParallel ? request.parallel_tool_calls : undefined },
    ]),
  });
  return withDroppedEffort(result, request.reasoning_effort ?? undefined, effort);
}

/** Reports the effort as dropped if it turned reasoning on or off against the request. */
function withDroppedEffort(
  result: HttpCall | ProviderFailure,
  requested: string | undefined,
  effort: string | undefined,
): HttpCall | ProviderFailure {
  const isLost = requested !== undefined && (effort === 'none') !== (requested === 'none');
  return isLost && 'dropped' in result ? { ...result, dropped: [...result.dropped, 'reasoning_effort'] } : result;
}
