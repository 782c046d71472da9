import {
  type AnswerFormat,
  type BuiltRequest,
  type Members,
  type ModelRequest,
  type ModelSettings,
  type ProviderCall,
  pathText,
} from 'signalbox/plugin';
import { hintsOfTool, Notes, unnamedMembers } from '../notes.ts';
import { tierName } from '../openai-compatible/request.ts';
import { isToolName } from './calls.ts';
import { inputOf } from './input.ts';
import { streamFields } from './passthrough.ts';
import { formatOf } from './reasoning.ts';
import type { OpenAiSettings } from './settings.ts';

/** The API's minimum output cap in tokens. */
export const OUTPUT_MIN = 16;

/** The settings that the Responses API lacks, and whether the request uses each. */
const unsupportedIn = (settings: ModelSettings): readonly (readonly [keyof ModelSettings, boolean])[] => [
  ['seed', settings.seed !== undefined],
  ['choices', (settings.choices ?? 1) > 1],
  ['stop', (settings.stop ?? '').length > 0],
  ['frequencyPenalty', (settings.frequencyPenalty ?? 0) !== 0],
  ['presencePenalty', (settings.presencePenalty ?? 0) !== 0],
  ['logitBias', Object.keys(settings.logitBias ?? {}).length > 0],
  ['logprobs', settings.logprobs ?? false],
];

/** Returns the caller's name of the first field that the Responses API does not support, or null. */
export function unsupportedField({ request, outputCap }: ProviderCall): string | null {
  const { settings, names } = request;
  const [field] = unsupportedIn(settings).find(([, isAsked]) => isAsked) ?? [];
  if (field !== undefined) return names[field];
  if (outputCap < OUTPUT_MIN) return `${names.outputTokensMax} (below ${OUTPUT_MIN})`;
  for (const { parts } of request.conversation.turns) {
    const audio = parts.find(({ type }) => type === 'audio');
    if (audio) return pathText(audio.valueAt.slice(0, -1));
  }
  return null;
}

/** Builds `POST /responses`. OpenAI stores no answers, so the messages contain the reasoning of earlier answers. */
export function buildResponses(call: ProviderCall, effort: string | undefined, settings: OpenAiSettings): BuiltRequest {
  const { request, upstream, extras, outputCap } = call;
  const notes = new Notes();
  const { verbosity, ...others } = extras;
  const summary = settings.reasoning_summaries === 'left_out' ? undefined : 'auto';
  const body = {
    ...others,
    model: upstream,
    input: inputOf(request.conversation.turns, formatOf(settings), notes),
    ...toolFields(request, notes),
    ...textField(request, verbosity, notes),
    ...samplingOf(call, notes),
    ...(request.settings.user !== undefined && { user: request.settings.user }),
    reasoning: { effort, summary },
    max_output_tokens: outputCap,
    store: false,
    service_tier: call.serviceTier && tierName(call.serviceTier),
    include: ['reasoning.encrypted_content'],
    ...(call.stream && streamFields(request.original.body)),
  };
  for (const path of unnamedMembers(request)) notes.drop(path);
  if (notes.refusal !== '') return { kind: 'rejected', message: notes.refusal };
  return { path: '/responses', headers: {}, body: JSON.stringify(body), dropped: notes.dropped };
}

function toolFields(request: ModelRequest, notes: Notes): Members {
  const { toolChoice: choice } = request.conversation;
  const { parallelToolCalls: parallel } = request.settings;
  return {
    tools: toolsOf(request, notes),
    ...(choice !== undefined && {
      tool_choice: typeof choice === 'string' ? choice : { type: 'function', name: choice.name },
    }),
    ...(parallel !== undefined && { parallel_tool_calls: parallel }),
  };
}

function textField(request: ModelRequest, verbosity: unknown, notes: Notes): Members {
  const { answerFormat: format } = request.settings;
  const requested = format !== undefined && format.type !== 'text';
  if (!requested && verbosity === undefined) return {};
  return { text: { ...(requested && { format: formatField(format, notes) }), verbosity } };
}

function formatField(format: AnswerFormat, notes: Notes): Members {
  if (format.type !== 'json-schema') return { type: 'json_object' };
  const { name, description, schema, strict = false } = format;
  if (!schema) notes.refuse(`${pathText(format.valueAt)}.schema`, 'is missing, and this provider requires it');
  return { name, description, schema, type: 'json_schema', strict };
}

/** Returns the sampling controls, which the adapter drops for models without sampling controls. */
function samplingOf({ request, model }: ProviderCall, notes: Notes): Members {
  const { settings, names } = request;
  return {
    temperature: notes.sent(names.temperature, settings.temperature, model.acceptsTemperature),
    top_p: notes.sent(names.topP, settings.topP, model.acceptsTemperature),
  };
}

/** Returns the request's tools for Responses. */
function toolsOf(request: ModelRequest, notes: Notes): readonly Members[] {
  return request.conversation.tools.map((tool) => {
    const { name, description, parameters, strict, extras } = tool;
    const path = pathText(tool.valueAt);
    for (const hint of hintsOfTool(request, tool)) notes.drop(`${hint.path}.cache_control`);
    if (!isToolName(name)) {
      notes.refuse(`${path}.name`, 'must contain only letters, digits, underscores and hyphens');
    }
    // Unlike in chat completions, the default of `strict` is true.
    const isStrict = strict ?? false;
    const { cache_control: _, ...more } = extras;
    const schema = schemaOf(parameters, isStrict, path, notes);
    return { ...more, name, description, type: 'function', parameters: schema, strict: isStrict };
  });
}

/** Returns the schema of the parameters, restricted to an object. */
function schemaOf(parameters: Members | undefined, isStrict: boolean, path: string, notes: Notes): Members {
  const schema: Members = parameters ?? {};
  if (Object.keys(schema).length === 0) {
    return { type: 'object', properties: {}, ...(isStrict && { additionalProperties: false }) };
  }
  const { type = 'object' } = schema;
  if (type !== 'object' && !(Array.isArray(type) && type.includes('object'))) {
    notes.refuse(`${path}.parameters`, 'must describe an object');
  }
  if (isStrict && schema.additionalProperties !== false) {
    notes.refuse(`${path}.parameters`, 'must have `additionalProperties: false`, because the tool is strict');
  }
  return { ...schema, type: 'object' };
}
