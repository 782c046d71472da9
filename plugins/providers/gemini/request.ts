import type { ChatRequest, HttpCall, ProviderCall, ProviderFailure, Tool } from 'signalbox/plugin';
import type { Json } from '../json.ts';
import { conversationOf } from './contents.ts';
import { bareName, isFixed, thinkingConfig } from './generation.ts';
import type { Notes } from './parts.ts';
import { geminiSchema } from './schema.ts';

/** Builds `POST /models/…:generateContent`. */
export function buildRequest(call: ProviderCall): HttpCall | ProviderFailure {
  const { request, upstream } = call;
  const notes: Notes = { dropped: [], refused: [] };
  const { system, contents } = conversationOf(request.messages, upstream, notes);
  const [refused] = notes.refused;
  if (refused !== undefined) return { kind: 'rejected', message: refused };
  if (request.user != null) notes.dropped.push('user');
  const body = {
    ...call.extras,
    contents,
    ...(system.length > 0 && { systemInstruction: { parts: system } }),
    ...toolsOf(request),
    generationConfig: { ...samplingOf(call, notes), ...formatOf(request), ...thinkingOf(call, notes) },
  };
  return { path: pathOf(call), headers: {}, body: JSON.stringify(body), dropped: notes.dropped };
}

function pathOf({ upstream, stream }: ProviderCall): string {
  const name = bareName(upstream);
  const tuned = name.startsWith('tunedModels/');
  const model = `${tuned ? 'tunedModels' : 'models'}/${encodeURIComponent(tuned ? name.slice(12) : name)}`;
  return stream ? `/${model}:streamGenerateContent?alt=sse` : `/${model}:generateContent`;
}

function samplingOf({ request, model, upstream, outputCap }: ProviderCall, notes: Notes): Json {
  const { temperature, top_p: topP, seed, stop, n, logprobs, top_logprobs: top } = request;
  // The cap holds for thoughts too.
  const config: Record<string, unknown> = { maxOutputTokens: outputCap };
  const samples = model.acceptsTemperature && !isFixed(upstream);
  if (temperature != null && samples) config.temperature = temperature;
  else if (temperature != null) notes.dropped.push('temperature');
  if (topP != null && samples) config.topP = topP;
  else if (topP != null) notes.dropped.push('top_p');
  // A seed here has 32 bits; the same one stays the same.
  if (seed != null) config.seed = seed | 0;
  if (stop?.length) config.stopSequences = typeof stop === 'string' ? [stop] : stop;
  if (n != null && n > 1) config.candidateCount = n;
  if (logprobs) config.responseLogprobs = true;
  if (logprobs && top) config.logprobs = top;
  return config;
}

function formatOf({ response_format: format }: ChatRequest): Json {
  if (format == null || format.type === 'text') return {};
  const schema = format.type === 'json_schema' ? format.json_schema.schema : undefined;
  return {
    responseMimeType: 'application/json',
    ...(schema && { responseJsonSchema: geminiSchema(schema) }),
  };
}

function thinkingOf({ request, model, upstream }: ProviderCall, notes: Notes): Json {
  const { reasoning_effort: effort } = request;
  const reasons = model.capabilities.includes('reasoning');
  const config = reasons ? (thinkingConfig(upstream, effort) ?? thinkingConfig(upstream, null)) : null;
  if (effort != null && !(reasons && thinkingConfig(upstream, effort))) notes.dropped.push('reasoning_effort');
  return config ? { thinkingConfig: config } : {};
}

function toolsOf({ tools, tool_choice: choice }: ChatRequest): Json {
  if (!tools?.length) return {};
  return {
    tools: [{ functionDeclarations: tools.map(declarationOf) }],
    toolConfig: { functionCallingConfig: callingOf(tools, choice ?? 'auto') },
  };
}

function declarationOf({ function: { name, description, parameters } }: Tool): Json {
  const hasParameters = parameters != null && Object.keys(parameters).length > 0;
  return { name, description, ...(hasParameters && { parametersJsonSchema: geminiSchema(parameters) }) };
}

function callingOf(tools: readonly Tool[], choice: NonNullable<ChatRequest['tool_choice']>): Json {
  if (typeof choice === 'object') return { mode: 'ANY', allowedFunctionNames: [choice.function.name] };
  if (choice === 'none') return { mode: 'NONE' };
  if (choice === 'required') return { mode: 'ANY' };
  // Holds the arguments to their schema, as `strict` asks for.
  return { mode: tools.some((tool) => tool.function.strict) ? 'VALIDATED' : 'AUTO' };
}
