import {
  type BuiltRequest,
  type Members,
  type ModelRequest,
  type ProviderCall,
  pathText,
  type ToolDefinition,
} from 'signalbox/plugin';
import type { Json } from '../json.ts';
import { answerSchema, hintsOfTool, Notes, unnamedMembers } from '../notes.ts';
import { promptOf } from './contents.ts';
import { bareName, hasFixedSampling, thinkingConfig } from './generation.ts';
import { geminiSchema } from './schema.ts';

/** Builds `POST /models/…:generateContent`. */
export function buildRequest(call: ProviderCall): BuiltRequest {
  const { request, upstream } = call;
  const notes = new Notes();
  const { system, contents } = promptOf(request, upstream, notes);
  const tools = toolsOf(request, notes);
  if (request.settings.user !== undefined) notes.drop(request.names.user);
  for (const path of unnamedMembers(request)) notes.drop(path);
  const body = {
    ...call.extras,
    contents,
    ...(system.length > 0 && { systemInstruction: { parts: system } }),
    ...tools,
    serviceTier: call.serviceTier,
    generationConfig: { ...samplingOf(call, notes), ...formatOf(request, notes), ...thinkingOf(call, notes) },
  };
  if (notes.refusal !== '') return { kind: 'rejected', message: notes.refusal };
  return { path: pathOf(call), headers: {}, body: JSON.stringify(body), dropped: notes.dropped };
}

/** Returns the name of a model as a resource, such as `models/gemini-3-flash`. */
export function resourceName(upstream: string): string {
  const name = bareName(upstream);
  return name.startsWith('tunedModels/') ? name : `models/${name}`;
}

/** Returns the name of a model as a path, in which the model's own name is one segment. */
export function modelPath(upstream: string): string {
  const name = resourceName(upstream);
  const at = name.indexOf('/') + 1;
  return name.slice(0, at) + encodeURIComponent(name.slice(at));
}

function pathOf({ upstream, stream }: ProviderCall): string {
  const model = modelPath(upstream);
  return stream ? `/${model}:streamGenerateContent?alt=sse` : `/${model}:generateContent`;
}

function samplingOf({ request, model, upstream, outputCap }: ProviderCall, notes: Notes): Json {
  const { temperature, topP, seed, stop, choices, logprobs, topLogprobs: top } = request.settings;
  const samples = model.acceptsTemperature && !hasFixedSampling(upstream);
  return {
    // The output cap includes thinking.
    maxOutputTokens: outputCap,
    temperature: notes.sent(request.names.temperature, temperature, samples),
    topP: notes.sent(request.names.topP, topP, samples),
    // Gemini's seeds have 32 bits.
    ...(seed !== undefined && { seed: seed | 0 }),
    ...(stop?.length && { stopSequences: [stop].flat() }),
    ...(choices !== undefined && choices > 1 && { candidateCount: choices }),
    ...(logprobs && { responseLogprobs: true }),
    ...(logprobs && top && { logprobs: top }),
  };
}

function formatOf({ settings: { answerFormat: format } }: ModelRequest, notes: Notes): Json {
  if (format === undefined || format.type === 'text') return {};
  const schema = format.type === 'json-schema' ? answerSchema(format, notes) : undefined;
  return {
    responseMimeType: 'application/json',
    ...(schema && { responseJsonSchema: geminiSchema(schema) }),
  };
}

function thinkingOf({ request, model, upstream }: ProviderCall, notes: Notes): Json {
  const { reasoningEffort: effort } = request.settings;
  const reasons = model.capabilities.includes('reasoning');
  const config = reasons ? (thinkingConfig(upstream, effort) ?? thinkingConfig(upstream, null)) : null;
  if (effort !== undefined && !(reasons && thinkingConfig(upstream, effort))) notes.drop(request.names.reasoningEffort);
  return config ? { thinkingConfig: config } : {};
}

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/;

/** Returns the request's tools and tool choice. */
function toolsOf(request: ModelRequest, notes: Notes): Json {
  const { tools } = request.conversation;
  if (tools.length === 0) return {};
  const names = new Set<string>();
  const functionDeclarations = tools.map((tool) => {
    const { name, description, parameters } = tool;
    const path = pathText(tool.valueAt);
    if (!NAME.test(name)) {
      notes.refuse(
        `${path}.name`,
        'must begin with a letter or underscore and contain only letters, digits and _ . : -',
      );
    }
    if (names.has(name)) notes.refuse(`${path}.name`, 'is also the name of another tool');
    names.add(name);
    for (const hint of hintsOfTool(request, tool)) notes.drop(`${hint.path}.cache_control`);
    return { name, description, parametersJsonSchema: schemaOf(parameters, `${path}.parameters`, notes) };
  });
  return {
    tools: [{ functionDeclarations }],
    toolConfig: { functionCallingConfig: callingOf(request, tools) },
  };
}

/** Returns the schema of the parameters, restricted to an object; undefined without parameters. */
function schemaOf(parameters: Members | undefined, path: string, notes: Notes): unknown {
  if (parameters === undefined || Object.keys(parameters).length === 0) return undefined;
  const { type = 'object' } = parameters;
  const isOneOf = Array.isArray(type) && type.includes('object');
  if (type !== 'object' && !isOneOf) notes.refuse(path, 'must describe an object');
  return geminiSchema(isOneOf ? { ...parameters, type: 'object' } : parameters);
}

function callingOf({ conversation }: ModelRequest, tools: readonly ToolDefinition[]): Json {
  const choice = conversation.toolChoice ?? 'auto';
  if (typeof choice === 'object') return { mode: 'ANY', allowedFunctionNames: [choice.name] };
  if (choice === 'none') return { mode: 'NONE' };
  if (choice === 'required') return { mode: 'ANY' };
  // `VALIDATED` enforces the schema, as `strict` requires.
  return { mode: tools.some(({ strict }) => strict) ? 'VALIDATED' : 'AUTO' };
}
