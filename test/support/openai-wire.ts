import type { Behaviour } from './fake-upstream.ts';

/** The request fields that the fake reads. */
export interface OpenAiRequest {
  readonly model?: unknown;
  readonly messages?: unknown;
  readonly stream?: unknown;
  readonly stream_options?: { readonly include_usage?: unknown } | null;
  readonly n?: unknown;
  readonly [field: string]: unknown;
}

let count = 0;

/** OpenAI's error body. */
export function errorBody(message: string, type: string, code: string | null) {
  return { error: { message, type, param: null, code } };
}

/** Returns a `chat.completion` as OpenAI sends it. */
export function replyOf(request: OpenAiRequest, behaviour: Behaviour) {
  const usage = usageOf(request, behaviour);
  const calls = toolCallsOf(behaviour);
  const choice = (index: number) => ({
    index,
    message: {
      role: 'assistant',
      content: calls.length > 0 ? null : textOf(behaviour).join(''),
      refusal: behaviour.refusal ?? null,
      ...(behaviour.reasoning ? { reasoning_content: behaviour.reasoning } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
      annotations: [],
    },
    logprobs: null,
    finish_reason: finishOf(behaviour),
  });
  const frame = frameOf(request, 'chat.completion');
  return {
    ...frame,
    choices: Array.from({ length: choicesOf(request) }, (_, at) => choice(at)),
    ...(usage && { usage }),
  };
}

/** Returns the `chat.completion.chunk`s as OpenAI streams them; the usage chunk comes last if the request asks for it. */
export function chunksOf(request: OpenAiRequest, behaviour: Behaviour): object[] {
  const asked = request.stream_options?.include_usage === true;
  const frame = frameOf(request, 'chat.completion.chunk');
  const withUsage = asked ? { usage: null } : {};
  const chunk = (index: number, delta: object, finish_reason: string | null = null) => ({
    ...frame,
    choices: [{ index, delta, logprobs: null, finish_reason }],
    ...withUsage,
  });
  const chunks: object[] = [];
  const all = Array.from({ length: choicesOf(request) }, (_, at) => at);
  for (const at of all) chunks.push(chunk(at, { role: 'assistant', content: '', refusal: null }));
  for (const delta of deltasOf(behaviour)) for (const at of all) chunks.push(chunk(at, delta));
  for (const at of all) chunks.push(chunk(at, {}, finishOf(behaviour)));
  const usage = usageOf(request, behaviour);
  if (asked && usage) chunks.push({ ...frame, choices: [], usage });
  return chunks;
}

function frameOf(request: OpenAiRequest, object: string) {
  const model = String(request.model);
  const id = `chatcmpl-fake${++count}`;
  return { id, object, created: 1_760_000_000, model, service_tier: 'default', system_fingerprint: 'fp_fake' };
}

function deltasOf(behaviour: Behaviour): object[] {
  const deltas: object[] = [];
  if (behaviour.reasoning) for (const piece of pieces(behaviour.reasoning)) deltas.push({ reasoning_content: piece });
  if (behaviour.refusal) for (const piece of pieces(behaviour.refusal)) deltas.push({ refusal: piece });
  const calls = toolCallsOf(behaviour);
  for (const [index, { id, type, function: fn }] of calls.entries()) {
    deltas.push({ tool_calls: [{ index, id, type, function: { name: fn.name, arguments: '' } }] });
    for (const piece of pieces(fn.arguments)) {
      deltas.push({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  if (calls.length === 0 && !behaviour.refusal) for (const content of textOf(behaviour)) deltas.push({ content });
  return deltas;
}

function toolCallsOf({ toolCalls = [] }: Behaviour) {
  return toolCalls.map(({ id, name, arguments: text }, at) => ({
    id: id ?? `call_fake${at}`,
    type: 'function',
    function: { name, arguments: text },
  }));
}

/** Returns the text of an answer in the pieces of its stream. */
export function textOf({ text = 'Hello from the fake upstream.' }: Behaviour): readonly string[] {
  return typeof text === 'string' ? pieces(text) : text;
}

export const pieces = (text: string): string[] => text.match(/[\s\S]{1,6}/gu) ?? [];

function choicesOf({ n }: OpenAiRequest): number {
  return typeof n === 'number' ? n : 1;
}

export function finishOf({ finish, toolCalls }: Behaviour): string {
  return finish ?? (toolCalls && toolCalls.length > 0 ? 'tool_calls' : 'stop');
}

function usageOf(request: OpenAiRequest, behaviour: Behaviour) {
  if (behaviour.usage === 'missing') return null;
  const prompt = Math.ceil(JSON.stringify(request.messages).length / 4);
  const completion = Math.max(1, deltasOf(behaviour).length) * choicesOf(request);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
    ...behaviour.usage,
  };
}
