import type { ChatFields, ChatTurn } from './workload.ts';

/** The requests of the ladder in other dialects than chat completions. */
type Fields = Readonly<Record<string, unknown>>;

const streamOf = ({ stream }: ChatFields): Fields => (stream ? { stream } : {});
const systemOf = ({ messages }: ChatFields): string =>
  messages.flatMap((turn) => (turn.role === 'system' ? [turn.content] : [])).join('\n');

/** Converts a chat to Anthropic's Messages. */
export function messagesFields(chat: ChatFields): Fields {
  const tools = chat.tools?.map(({ function: { parameters, ...named } }) => ({ ...named, input_schema: parameters }));
  return {
    max_tokens: 400,
    system: systemOf(chat),
    messages: chat.messages.flatMap((turn) => (turn.role === 'system' ? [] : [messageOf(turn)])),
    ...(tools && { tools }),
    ...streamOf(chat),
  };
}

function messageOf(turn: Exclude<ChatTurn, { role: 'system' }>): Fields {
  if (turn.role === 'tool') {
    return {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: turn.tool_call_id, content: turn.content }],
    };
  }
  if (turn.role !== 'assistant') return { role: 'user', content: turn.content };
  const [{ id, function: called }] = turn.tool_calls;
  const input: unknown = JSON.parse(called.arguments);
  return { role: 'assistant', content: [{ type: 'tool_use', id, name: called.name, input }] };
}

/** Converts a chat to OpenAI's Responses. */
export function responsesFields(chat: ChatFields): Fields {
  const tools = chat.tools?.map(({ type, function: named }) => ({ type, ...named, strict: null }));
  return {
    instructions: systemOf(chat),
    input: chat.messages.flatMap((turn) => (turn.role === 'system' ? [] : [itemOf(turn)])),
    store: false,
    ...(tools && { tools }),
    ...streamOf(chat),
  };
}

function itemOf(turn: Exclude<ChatTurn, { role: 'system' }>): Fields {
  if (turn.role === 'tool') return { type: 'function_call_output', call_id: turn.tool_call_id, output: turn.content };
  if (turn.role !== 'assistant') return { role: 'user', content: [{ type: 'input_text', text: turn.content }] };
  const [{ id, function: called }] = turn.tool_calls;
  return { type: 'function_call', call_id: id, ...called };
}
