import type { CallForm, Dialect, Event, Tokens, ToolText } from './dialect.ts';
import { JUNK } from './sample-texts.ts';

/** `chat.completion` and its chunks, after the types of `openai` 7.59.0, resources/chat/completions. */
const frame = { id: `chatcmpl-${JUNK}`, created: 1_760_000_000, model: JUNK, system_fingerprint: JUNK };

const usageOf = ({ prompt, output }: Tokens) => ({
  prompt_tokens: prompt,
  completion_tokens: output,
  total_tokens: prompt + output,
});
const counted = (usage: Tokens | null): Event => (usage ? { usage: usageOf(usage) } : {});

export const chunk = (choices: readonly object[], usage: Tokens | null = null): Event => ({
  ...frame,
  object: 'chat.completion.chunk',
  choices,
  ...counted(usage),
});
export const delta = (fields: object, usage: Tokens | null = null): Event =>
  chunk([{ index: 0, delta: fields, finish_reason: null }], usage);
export const finish = (reason: string): Event => chunk([{ index: 0, delta: {}, finish_reason: reason }]);
/** The data of the last event. */
export const DONE = '[DONE]';
const ROLE = delta({ role: 'assistant', content: '' });

const completion = (choices: readonly object[], usage: Tokens | null): string =>
  JSON.stringify({ ...frame, object: 'chat.completion', choices, ...counted(usage) });
const choice = (message: object, finish_reason: string | null) => ({
  index: 0,
  message: { role: 'assistant', ...message },
  finish_reason,
});

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
};
const error = (status: number, message: string, code: string | number | null = null): Event => {
  const type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error');
  return { error: { message, type, param: null, code } };
};

export const openai: Dialect = {
  name: 'openai',
  adapter: 'openai-compatible',
  base: '/v1',
  path: () => '/chat/completions',
  auth: { header: 'authorization', prefix: 'Bearer ' },

  nameOf: () => '',
  opening: () => [ROLE],
  word: (content, running) => [delta({ content }, running)],
  counts: 'at its end',
  finish: (reason, usage) => [finish(reason), ...(usage ? [chunk([], usage)] : [])],
  report: (usage) => [chunk([], usage)],
  end: `data: ${DONE}\n\n`,

  reply: (content, usage, isEnded = true) => completion([choice({ content }, isEnded ? 'stop' : null)], usage),
  replyEndedTwice: (content, usage) =>
    completion([choice({ content }, 'stop'), choice({ content: JUNK }, 'length')], usage),
  counted,
  callEvents,
  callReply(tool, form, usage) {
    const message = { content: null, tool_calls: [callOf(tool, form)] };
    const { index: _, ...unplaced } = choice(message, 'tool_calls');
    return completion([form === 'untidy' ? unplaced : { index: 0, ...unplaced }], usage);
  },
  emptyEvents: (usage) => [ROLE, chunk([], usage)],
  emptyReply: (usage) => completion([], usage),

  // Some upstreams report the status as the code of the error.
  error: (status, message) => error(status, message, status),
  // The form that vLLM sends.
  oddError: (message) => ({ object: 'error', message, type: 'InternalServerError', code: 500 }),
  tooLong: (message) => error(400, message, 'context_length_exceeded'),
  refusedKey: (message) => ({ status: 401, body: error(401, message, 'invalid_api_key') }),
  pause: (seconds) => ({ headers: { 'retry-after': String(seconds) }, body: error(429, JUNK) }),
};

function callOf({ name, arguments: text }: ToolText, form: CallForm): object {
  const named = form === 'nameless' ? {} : { name };
  const known = form === 'untidy' ? {} : { id: 'call_1', type: 'function' };
  return { ...known, function: { ...named, arguments: text } };
}

/** Sends the arguments letter by letter, except for a call without a name. */
function callEvents(tool: ToolText, form: CallForm, usage: Tokens): readonly Event[] {
  const place = form === 'untidy' ? {} : { index: 0 };
  const calls = (call: object): Event =>
    chunk([{ ...place, delta: { tool_calls: [{ ...place, ...call }] }, finish_reason: null }]);
  const pieces = form === 'nameless' ? [] : [...tool.arguments];
  return [
    ROLE,
    calls(callOf({ ...tool, arguments: form === 'nameless' ? tool.arguments : '' }, form)),
    ...pieces.map((text) => calls({ function: { arguments: text } })),
    chunk([{ ...place, delta: {}, finish_reason: 'tool_calls' }]),
    chunk([], usage),
  ];
}
