import type { CallForm, Dialect, Event, Tokens, ToolText } from './dialect.ts';
import { JUNK } from './sample-texts.ts';

/** Anthropic's messages and their events, after the types of `@anthropic-ai/sdk` 1.11.0, resources/messages and resources/shared. */
const message = { id: `msg_${JUNK}`, type: 'message', role: 'assistant', model: JUNK, stop_sequence: null };

const usageOf = ({ prompt, output }: Tokens) => ({
  input_tokens: prompt,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: output,
});
const counted = (usage: Tokens | null): Event => (usage ? { usage: usageOf(usage) } : {});

/** The output tokens that are reported before any output are a placeholder. */
const begun = (usage: Tokens | null): Tokens | null => usage && { ...usage, output: Math.min(usage.output, 1) };

export const start = (usage: Tokens | null): Event => ({
  type: 'message_start',
  message: { ...message, content: [], stop_reason: null, ...counted(begun(usage)) },
});
export const blockStart = (index: number, content_block: object): Event => ({
  type: 'content_block_start',
  index,
  content_block,
});
export const blockDelta = (index: number, delta: object): Event => ({ type: 'content_block_delta', index, delta });
export const blockStop = (index: number): Event => ({ type: 'content_block_stop', index });
export const change = (stop_reason: string | null, usage: Tokens | null): Event => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null },
  ...counted(usage),
});
export const STOP: Event = { type: 'message_stop' };
export const PING: Event = { type: 'ping' };

const nameOf = ({ type }: Event): string => (typeof type === 'string' ? type : '');

const whole = (content: readonly object[], stop_reason: string | null, usage: Tokens | null): string =>
  JSON.stringify({ ...message, content, stop_reason, ...counted(usage) });
const text = (words: string) => ({ type: 'text', text: words, citations: null });

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};
const error = (status: number, words: string): Event => {
  const type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  return { type: 'error', error: { type, message: words }, request_id: `req_${JUNK}` };
};

export const anthropic: Dialect = {
  name: 'anthropic',
  adapter: 'anthropic',
  base: '/v1',
  path: () => '/messages',
  auth: { header: 'x-api-key', prefix: '' },

  nameOf,
  opening: (usage) => [start(usage), blockStart(0, text('')), PING],
  word: (words, running) => [
    blockDelta(0, { type: 'text_delta', text: words }),
    ...(running ? [change(null, running)] : []),
  ],
  counts: 'from its start',
  finish: (reason, usage) => [blockStop(0), change(reason === 'stop' ? 'end_turn' : 'max_tokens', usage)],
  report: (usage) => [change('end_turn', usage)],
  end: `event: message_stop\ndata: ${JSON.stringify(STOP)}\n\n`,

  reply: (words, usage, isEnded = true) => whole([text(words)], isEnded ? 'end_turn' : null, usage),
  // The dialect has only one end, so the test can only repeat a member.
  replyEndedTwice: (words, usage) =>
    whole([text(words)], 'end_turn', usage).replace('{', '{"stop_reason":"max_tokens",'),
  counted,
  callEvents,
  callReply: (tool, form, usage) => whole([callOf(tool, form, JSON.parse(tool.arguments))], 'tool_use', usage),
  emptyEvents: (usage) => [start(usage), change(null, usage)],
  emptyReply: (usage) => whole([], null, usage),

  error,
  // The form that some intermediaries send.
  oddError: (words) => ({ error: { type: 'api_error', message: words } }),
  tooLong: (words) => error(400, `prompt is too long: 210000 tokens > 200000 maximum ${words}`),
  refusedKey: (words) => ({ status: 401, body: error(401, words) }),
  pause: (seconds) => ({ headers: { 'retry-after': String(seconds) }, body: error(429, JUNK) }),
};

function callOf({ name }: ToolText, form: CallForm, input: unknown): object {
  const known = form === 'untidy' ? {} : { id: 'toolu_1' };
  return { type: 'tool_use', ...known, ...(form === 'nameless' ? {} : { name }), input };
}

/** Sends the arguments letter by letter. */
function callEvents(tool: ToolText, form: CallForm, usage: Tokens): readonly Event[] {
  const events = [
    blockStart(0, callOf(tool, form, {})),
    ...[...tool.arguments].map((letter) => blockDelta(0, { type: 'input_json_delta', partial_json: letter })),
    blockStop(0),
  ];
  const unplaced = events.map(({ index: _, ...others }) => others);
  return [start(usage), ...(form === 'untidy' ? unplaced : events), change('tool_use', usage)];
}
