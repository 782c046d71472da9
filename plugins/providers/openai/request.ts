import type { BuiltRequest, ModelRequest, ProviderCall } from 'signalbox/plugin';
import { chatBodyOf } from '../openai-compatible/body.ts';
import { buildRequest } from '../openai-compatible/request.ts';
import type { DialectSettings } from '../openai-compatible/settings.ts';
import { effortFor, reasoningModelLacks, toolsInChat } from './models.ts';
import { passedRequest, RESPONSES } from './passthrough.ts';
import { buildResponses, OUTPUT_MIN, unsupportedField } from './responses.ts';
import type { OpenAiSettings } from './settings.ts';

/**
 * Passes Responses requests on to the Responses API. A request in another dialect uses chat completions, except for models that do not
 * reason with tools there: these models need the Responses API.
 */
export function requestOf(call: ProviderCall, dialect: DialectSettings, settings: OpenAiSettings): BuiltRequest {
  if (passes(call)) return passedRequest(call);
  const { original, conversation, extras, routing, names } = call.request;
  if (original.dialect !== RESPONSES) return translatedRequest(call, dialect, settings);
  if (isNative(conversation)) {
    return {
      kind: 'rejected',
      message: `${names.outputTokensMax} must be at least ${OUTPUT_MIN} for a request with such tools and items`,
    };
  }
  const result = translatedRequest(call, dialect, settings);
  const lost = [...Object.keys(extras), ...(routing.unnamed ?? [])];
  return 'dropped' in result ? { ...result, dropped: [...result.dropped, ...lost] } : result;
}

/** Whether a conversation contains something that only its own dialect can express. */
const isNative = ({ nativeTools, turns }: ModelRequest['conversation']): boolean =>
  nativeTools !== undefined || turns.some(({ parts }) => parts.some(({ type }) => type === 'native'));

function translatedRequest(call: ProviderCall, dialect: DialectSettings, settings: OpenAiSettings): BuiltRequest {
  const { request, model, upstream } = call;
  if (!model.capabilities.includes('reasoning')) return buildRequest(call, dialect);
  const { reasoningEffort: requested } = request.settings;
  const tools = request.conversation.tools.length > 0 ? toolsInChat(upstream) : 'with_effort';
  if (tools === 'with_effort') return chatRequest(call, dialect, effortFor(upstream, requested, 'chat'));
  const effort = effortFor(upstream, requested, 'responses');
  const unsupported = effort === 'none' ? null : unsupportedField(call);
  if (effort !== 'none' && unsupported === null) {
    return withDroppedEffort(buildResponses(call, effort, settings), call, effort);
  }
  if (tools === 'without_effort') return chatRequest(call, dialect, 'none');
  return { kind: 'rejected', message: `${unsupported} is not supported by this model together with tools` };
}

/** An output cap below the API's minimum is only possible with chat completions, if they can express the request. */
const passes = ({ request: { original }, outputCap }: ProviderCall): boolean =>
  original.dialect === RESPONSES && outputCap >= OUTPUT_MIN;

function chatRequest(call: ProviderCall, dialect: DialectSettings, effort: string | undefined): BuiltRequest {
  const body = chatBodyOf(call.request, dialect.cache_hints === 'sent');
  const takesParallel = !reasoningModelLacks(call.upstream).includes('single_tool_calls');
  const parallel = takesParallel ? body.parallel_tool_calls : undefined;
  const own = { ...body, reasoning_effort: effort, parallel_tool_calls: parallel };
  return withDroppedEffort(buildRequest(call, dialect, own), call, effort);
}

/** Reports the effort as dropped if it turned reasoning on or off against the request. */
function withDroppedEffort(result: BuiltRequest, { request }: ProviderCall, effort: string | undefined): BuiltRequest {
  const { settings, names } = request;
  const { reasoningEffort: requested } = settings;
  const isLost = requested !== undefined && (effort === 'none') !== (requested === 'none');
  return isLost && 'dropped' in result ? { ...result, dropped: [...result.dropped, names.reasoningEffort] } : result;
}
