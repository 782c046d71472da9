import type { ChatRequest, HttpCall, ProviderFailure } from 'signalbox/plugin';
import { answerSchema } from '../answer-schema.ts';
import type { ChatCall } from '../chat-call.ts';
import type { Json } from '../json.ts';
import { Notes } from '../notes.ts';
import { conversationOf } from './contents.ts';
import { bareName, hasFixedSampling, thinkingConfig } from './generation.ts';
import { geminiSchema } from './schema.ts';
import { toolsOf } from './tools.ts';

/** Builds `POST /models/…:generateContent`. */
export function buildRequest(call: ChatCall): HttpCall | ProviderFailure {
  const { request, upstream } = call;
  const notes = new Notes();
  const { system, contents } = conversationOf(request.messages, upstream, notes);
  const tools = toolsOf(request, notes);
  if (request.user != null) notes.drop('user');
  const body = {
    ...call.extras,
    contents,
    ...(system.length > 0 && { systemInstruction: { parts: system } }),
    ...tools,
    generationConfig: { ...samplingOf(call, notes), ...formatOf(request, notes), ...thinkingOf(call, notes) },
  };
  if (notes.refusal !== '') return { kind: 'rejected', message: notes.refusal };
  return { path: pathOf(call), headers: {}, body: JSON.stringify(body), dropped: notes.dropped };
}

function pathOf({ upstream, stream }: ChatCall): string {
  const name = bareName(upstream);
  const tuned = name.startsWith('tunedModels/');
  const model = `${tuned ? 'tunedModels' : 'models'}/${encodeURIComponent(tuned ? name.slice(12) : name)}`;
  return stream ? `/${model}:streamGenerateContent?alt=sse` : `/${model}:generateContent`;
}

function samplingOf({ request, model, upstream, outputCap }: ChatCall, notes: Notes): Json {
  const { temperature, top_p: topP, seed, stop, n, logprobs, top_logprobs: top } = request;
  // The cap includes thoughts.
  const config: Record<string, unknown> = { maxOutputTokens: outputCap };
  const samples = model.acceptsTemperature && !hasFixedSampling(upstream);
  if (temperature != null && samples) config.temperature = temperature;
  else if (temperature != null) notes.drop('temperature');
  if (topP != null && samples) config.topP = topP;
  else if (topP != null) notes.drop('top_p');
  // Gemini's seeds have 32 bits.
  if (seed != null) config.seed = seed | 0;
  if (stop?.length) config.stopSequences = typeof stop === 'string' ? [stop] : stop;
  if (n != null && n > 1) config.candidateCount = n;
  if (logprobs) config.responseLogprobs = true;
  if (logprobs && top) config.logprobs = top;
  return config;
}

function formatOf({ response_format: format }: ChatRequest, notes: Notes): Json {
  if (format == null || format.type === 'text') return {};
  const schema = format.type === 'json_schema' ? answerSchema(format.json_schema, notes) : undefined;
  return {
    responseMimeType: 'application/json',
    ...(schema && { responseJsonSchema: geminiSchema(schema) }),
  };
}

function thinkingOf({ request, model, upstream }: ChatCall, notes: Notes): Json {
  const { reasoning_effort: effort } = request;
  const reasons = model.capabilities.includes('reasoning');
  const config = reasons ? (thinkingConfig(upstream, effort) ?? thinkingConfig(upstream, null)) : null;
  if (effort != null && !(reasons && thinkingConfig(upstream, effort))) notes.drop('reasoning_effort');
  return config ? { thinkingConfig: config } : {};
}
