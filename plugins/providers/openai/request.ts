import type { HttpCall, ProviderCall, ProviderFailure, WireAdapter } from 'signalbox/plugin';
import { effortFor, reasoningModelLacks, toolsInChat } from './models.ts';
import { beyondResponses, buildResponses } from './responses.ts';
import type { OpenAiSettings } from './settings.ts';

/**
 * Asks by chat completions, but for models that would not reason beside tools there, or not take them: these reason, and
 * take tools, in the Responses API.
 */
export function requestOf(call: ProviderCall, chat: WireAdapter, settings: OpenAiSettings): HttpCall | ProviderFailure {
  const { request, model, upstream } = call;
  if (!model.capabilities.includes('reasoning')) return chat.request(call);
  const asked = request.reasoning_effort ?? undefined;
  const tools = request.tools?.length ? toolsInChat(upstream) : 'with_effort';
  if (tools === 'with_effort') return askedInChat(call, chat, effortFor(upstream, asked, 'chat'));
  const effort = effortFor(upstream, asked, 'responses');
  const unsayable = effort === 'none' ? null : beyondResponses(call);
  if (effort !== 'none' && unsayable === null) {
    return told(buildResponses(call, effort, settings), asked, effort);
  }
  if (tools === 'without_effort') return askedInChat(call, chat, 'none');
  return { kind: 'rejected', message: `${unsayable} cannot be had of this model beside tools` };
}

function askedInChat(call: ProviderCall, chat: WireAdapter, effort: string | undefined): HttpCall | ProviderFailure {
  const { request, upstream } = call;
  const takesParallel = !reasoningModelLacks(upstream).includes('single_tool_calls');
  const made = chat.request({
    ...call,
    request: {
      ...request,
      reasoning_effort: effort,
      parallel_tool_calls: takesParallel ? request.parallel_tool_calls : undefined,
    },
  });
  return told(made, request.reasoning_effort ?? undefined, effort);
}

/** With the effort among what was left out, where a model that was to reason does not, or the other way round. */
function told(
  made: HttpCall | ProviderFailure,
  asked: string | undefined,
  effort: string | undefined,
): HttpCall | ProviderFailure {
  const isLost = asked !== undefined && (effort === 'none') !== (asked === 'none');
  return isLost && 'dropped' in made ? { ...made, dropped: [...made.dropped, 'reasoning_effort'] } : made;
}
