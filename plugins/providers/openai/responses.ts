import type { ChatRequest, HttpCall, Members, ProviderFailure } from 'signalbox/plugin';
import type { ChatCall } from '../chat-call.ts';
import { Notes } from '../notes.ts';
import { isNeutral } from '../openai-compatible/request.ts';
import { inputOf } from './input.ts';
import { formatOf } from './reasoning.ts';
import type { OpenAiSettings } from './settings.ts';
import { toolsOf } from './tools.ts';

/** The API's minimum output cap, tokens. */
const OUTPUT_MIN = 16;

/** Fields that the Responses API lacks. */
const UNSUPPORTED = [
  'seed',
  'n',
  'stop',
  'frequency_penalty',
  'presence_penalty',
  'logit_bias',
  'logprobs',
] as const satisfies readonly (keyof ChatRequest)[];

/** The first field of a request that the Responses API does not support, or null. */
export function unsupportedField({ request, outputCap }: ChatCall): string | null {
  const field = UNSUPPORTED.find((name) => request[name] !== undefined && !isNeutral(name, request[name]));
  if (field !== undefined) return field;
  if (outputCap < OUTPUT_MIN) return `max_completion_tokens (below ${OUTPUT_MIN})`;
  for (const [at, { content }] of request.messages.entries()) {
    const part = Array.isArray(content) ? content.findIndex(({ type }) => type === 'input_audio') : -1;
    if (part >= 0) return `messages[${at}].content[${part}].input_audio`;
  }
  return null;
}

/** Builds `POST /responses`. Stores nothing there: reasoning comes back with the messages. */
export function buildResponses(
  call: ChatCall,
  effort: string | undefined,
  settings: OpenAiSettings,
): HttpCall | ProviderFailure {
  const { request, upstream, extras, outputCap } = call;
  const notes = new Notes();
  const { verbosity, ...others } = extras;
  const summary = settings.reasoning_summaries === 'left_out' ? undefined : 'auto';
  const body = {
    ...others,
    model: upstream,
    input: inputOf(request.messages, formatOf(settings), notes),
    ...toolFields(request, notes),
    ...textField(request, verbosity, notes),
    ...samplingOf(call, notes),
    ...(request.user != null && { user: request.user }),
    reasoning: { effort, summary },
    max_output_tokens: outputCap,
    store: false,
    include: ['reasoning.encrypted_content'],
    ...(call.stream && streamFields(request)),
  };
  if (notes.refusal !== '') return { kind: 'rejected', message: notes.refusal };
  return { path: '/responses', headers: {}, body: JSON.stringify(body), dropped: notes.dropped };
}

function toolFields({ tools, tool_choice: choice, parallel_tool_calls: parallel }: ChatRequest, notes: Notes) {
  return {
    tools: toolsOf(tools ?? [], notes),
    ...(choice != null && {
      tool_choice: typeof choice === 'string' ? choice : { type: 'function', name: choice.function.name },
    }),
    ...(parallel != null && { parallel_tool_calls: parallel }),
  };
}

function textField({ response_format: format }: ChatRequest, verbosity: unknown, notes: Notes): Members {
  const requested = format != null && format.type !== 'text';
  if (!requested && verbosity === undefined) return {};
  return { text: { ...(requested && { format: formatField(format, notes) }), verbosity } };
}

function formatField(format: NonNullable<ChatRequest['response_format']>, notes: Notes): Members {
  if (format.type !== 'json_schema') return { type: format.type };
  const { strict, ...schema } = format.json_schema;
  if (!schema.schema) notes.refuse('response_format.json_schema.schema', 'is left out, which the API does not take');
  return { ...schema, type: 'json_schema', strict: strict ?? false };
}

/** Sampling controls, which are dropped for models without them. */
function samplingOf({ request, model }: ChatCall, notes: Notes): Members {
  const values = Object.entries({ temperature: request.temperature, top_p: request.top_p });
  const present = values.filter(([, value]) => value != null);
  if (model.acceptsTemperature) return Object.fromEntries(present);
  for (const [name] of present) notes.drop(name);
  return {};
}

/** Omits `include_usage`: Responses always report usage. */
function streamFields({ stream_options: requested }: ChatRequest): Members {
  const { include_usage: _, ...options } = requested ?? {};
  return { stream: true, ...(Object.keys(options).length > 0 && { stream_options: options }) };
}
