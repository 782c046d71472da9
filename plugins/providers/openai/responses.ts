import type { ChatRequest, HttpCall, Members, ProviderCall, ProviderFailure } from 'signalbox/plugin';
import { Notes } from '../notes.ts';
import { saysNothing } from '../openai-compatible/request.ts';
import { inputOf } from './input.ts';
import { formatOf } from './reasoning.ts';
import type { OpenAiSettings } from './settings.ts';
import { toolsOf } from './tools.ts';

/** The least cap that the API takes, tokens. */
const OUTPUT_MIN = 16;

/** What it has no words for. */
const UNSAYABLE = [
  'seed',
  'n',
  'stop',
  'frequency_penalty',
  'presence_penalty',
  'logit_bias',
  'logprobs',
] as const satisfies readonly (keyof ChatRequest)[];

/** The field of a request that the Responses API cannot be asked for; null if it can be asked for all. */
export function beyondResponses({ request, outputCap }: ProviderCall): string | null {
  const field = UNSAYABLE.find((name) => request[name] !== undefined && !saysNothing(name, request[name]));
  if (field !== undefined) return field;
  if (outputCap < OUTPUT_MIN) return `max_completion_tokens (below ${OUTPUT_MIN})`;
  for (const [at, { content }] of request.messages.entries()) {
    const part = Array.isArray(content) ? content.findIndex(({ type }) => type === 'input_audio') : -1;
    if (part >= 0) return `messages[${at}].content[${part}].input_audio`;
  }
  return null;
}

/** Builds `POST /responses`. Nothing is stored there: what a model needs of its reasoning comes back with the messages. */
export function buildResponses(
  call: ProviderCall,
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
  if (notes.refused !== '') return { kind: 'rejected', message: notes.refused };
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
  const asked = format != null && format.type !== 'text';
  if (!asked && verbosity === undefined) return {};
  return { text: { ...(asked && { format: formatField(format, notes) }), verbosity } };
}

function formatField(format: NonNullable<ChatRequest['response_format']>, notes: Notes): Members {
  if (format.type !== 'json_schema') return { type: format.type };
  const { strict, ...schema } = format.json_schema;
  if (!schema.schema) notes.refuse('response_format.json_schema.schema', 'is left out, which the API does not take');
  return { ...schema, type: 'json_schema', strict: strict ?? false };
}

/** Hints that a model without sampling controls does without. */
function samplingOf({ request, model }: ProviderCall, notes: Notes): Members {
  const asked = Object.entries({ temperature: request.temperature, top_p: request.top_p });
  const given = asked.filter(([, value]) => value != null);
  if (model.acceptsTemperature) return Object.fromEntries(given);
  for (const [name] of given) notes.drop(name);
  return {};
}

/** Its usage it tells unasked. */
function streamFields({ stream_options: asked }: ChatRequest): Members {
  const { include_usage: _, ...options } = asked ?? {};
  return { stream: true, ...(Object.keys(options).length > 0 && { stream_options: options }) };
}
