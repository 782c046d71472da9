import type { ChatRequest, HttpCall, Members, ProviderCall, Tool } from 'signalbox/plugin';
import { saysNothing } from '../openai-compatible/request.ts';
import { inputOf } from './input.ts';
import { formatOf } from './reasoning.ts';
import type { OpenAiSettings } from './settings.ts';

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
export function buildResponses(call: ProviderCall, effort: string | undefined, settings: OpenAiSettings): HttpCall {
  const { request, upstream, extras, outputCap } = call;
  const dropped: string[] = [];
  const { verbosity, ...others } = extras;
  const summary = settings.reasoning_summaries === 'left_out' ? undefined : 'auto';
  const body = {
    ...others,
    model: upstream,
    input: inputOf(request.messages, formatOf(settings), dropped),
    ...toolFields(request, dropped),
    ...textField(request, verbosity),
    ...samplingOf(call, dropped),
    ...(request.user != null && { user: request.user }),
    reasoning: { effort, summary },
    max_output_tokens: outputCap,
    store: false,
    include: ['reasoning.encrypted_content'],
    ...(call.stream && streamFields(request)),
  };
  return { path: '/responses', headers: {}, body: JSON.stringify(body), dropped };
}

function toolFields({ tools, tool_choice: choice, parallel_tool_calls: parallel }: ChatRequest, dropped: string[]) {
  return {
    tools: (tools ?? []).map((tool, at) => functionTool(tool, `tools[${at}]`, dropped)),
    ...(choice != null && {
      tool_choice: typeof choice === 'string' ? choice : { type: 'function', name: choice.function.name },
    }),
    ...(parallel != null && { parallel_tool_calls: parallel }),
  };
}

/** Of what chat completions leave out they make a tool without parameters that is not strict; here it must be said. */
function functionTool(tool: Tool & Members, path: string, dropped: string[]): Members {
  if (tool.cache_control != null) dropped.push(`${path}.cache_control`);
  const { parameters, strict, ...fn } = tool.function;
  return {
    ...fn,
    type: 'function',
    parameters: parameters ?? { type: 'object', properties: {} },
    strict: strict ?? false,
  };
}

function textField({ response_format: format }: ChatRequest, verbosity: unknown): Members {
  const asked = format != null && format.type !== 'text';
  if (!asked && verbosity === undefined) return {};
  return { text: { ...(asked && { format: formatField(format) }), verbosity } };
}

function formatField(format: NonNullable<ChatRequest['response_format']>): Members {
  if (format.type !== 'json_schema') return { type: format.type };
  const { strict, ...schema } = format.json_schema;
  return { ...schema, type: 'json_schema', strict: strict ?? false };
}

/** Hints that a model without sampling controls does without. */
function samplingOf({ request, model }: ProviderCall, dropped: string[]): Members {
  const asked = Object.entries({ temperature: request.temperature, top_p: request.top_p });
  const given = asked.filter(([, value]) => value != null);
  if (model.acceptsTemperature) return Object.fromEntries(given);
  dropped.push(...given.map(([name]) => name));
  return {};
}

/** Its usage it tells unasked. */
function streamFields({ stream_options: asked }: ChatRequest): Members {
  const { include_usage: _, ...options } = asked ?? {};
  return { stream: true, ...(Object.keys(options).length > 0 && { stream_options: options }) };
}
