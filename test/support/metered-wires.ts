/** Tokens that a service has billed so far. */
interface BilledTokens {
  readonly prompt: number;
  readonly output: number;
}

/** An answer of a metered service, as texts in its dialect. */
interface MeteredAnswer {
  whole(text: string, isCut: boolean, usage: BilledTokens): object;
  begin(usage: BilledTokens): string;
  /** @param usage the usage so far, if the service reports it with each piece */
  piece(text: string, usage: BilledTokens | null): string;
  end(isCut: boolean, usage: BilledTokens): string;
}

/** A dialect of a metered service. */
export interface MeteredWire {
  /** The request field that limits the output. */
  readonly cap: string;
  answer(model: string): MeteredAnswer;
}

const named = (event: { readonly type: string }): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

const chatUsage = ({ prompt, output }: BilledTokens) => ({
  prompt_tokens: prompt,
  completion_tokens: output,
  total_tokens: prompt + output,
});

/** OpenAI's chat completions. */
export const CHAT_WIRE: MeteredWire = {
  cap: 'max_tokens',
  answer(model) {
    const chunk = (event: object): string => `data: ${JSON.stringify({ id: 'x', model, ...event })}\n\n`;
    const finishOf = (isCut: boolean) => (isCut ? 'length' : 'stop');
    return {
      whole(content, isCut, usage) {
        const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: finishOf(isCut) }];
        return { id: 'x', object: 'chat.completion', model, choices, usage: chatUsage(usage) };
      },
      begin: () => '',
      piece: (content, usage) =>
        chunk({
          choices: [{ index: 0, delta: { content }, finish_reason: null }],
          ...(usage && { usage: chatUsage(usage) }),
        }),
      end: (isCut, usage) =>
        chunk({ choices: [{ index: 0, delta: {}, finish_reason: finishOf(isCut) }] }) +
        chunk({ choices: [], usage: chatUsage(usage) }) +
        'data: [DONE]\n\n',
    };
  },
};

/** The kind of output, which decides where the gateway may cut the answer. */
export type AnswerKind = 'text' | 'thinking' | 'call';

const messageUsage = ({ prompt, output }: BilledTokens) => ({ input_tokens: prompt, output_tokens: output });
const BLOCKS = {
  text: { type: 'text', text: '', citations: null },
  thinking: { type: 'thinking', thinking: '', signature: '' },
  call: { type: 'tool_use', id: 'toolu_1', name: 'look_up', input: {}, caller: { type: 'direct' } },
} as const;
const deltaOf = (kind: AnswerKind, text: string) => {
  if (kind === 'text') return { type: 'text_delta', text };
  return kind === 'thinking'
    ? { type: 'thinking_delta', thinking: text }
    : { type: 'input_json_delta', partial_json: text };
};

/** Anthropic's Messages. The service reports running usage as the API does: in a `message_delta` without a stop reason. */
export const messagesWire = (kind: AnswerKind): MeteredWire => ({
  cap: 'max_tokens',
  answer(model) {
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model, stop_sequence: null };
    const stopOf = (isCut: boolean) => (isCut ? 'max_tokens' : kind === 'call' ? 'tool_use' : 'end_turn');
    const change = (stop_reason: string | null, usage: BilledTokens) =>
      named({ type: 'message_delta', ...{ delta: { stop_reason, stop_sequence: null }, usage: messageUsage(usage) } });
    const block = (event: { readonly type: string; readonly [name: string]: unknown }) =>
      named({ ...event, ...{ index: 0 } });
    let hasBegun = false;
    return {
      whole: (text, isCut, usage) => ({
        ...message,
        content: [{ type: 'text', text }],
        stop_reason: stopOf(isCut),
        usage: messageUsage(usage),
      }),
      begin: (usage) =>
        named({
          type: 'message_start',
          ...{ message: { ...message, content: [], stop_reason: null, usage: messageUsage(usage) } },
        }) + block({ type: 'content_block_start', content_block: BLOCKS[kind] }),
      piece(text, usage) {
        const start = kind === 'call' && !hasBegun ? '{"text":"' : '';
        hasBegun = true;
        const delta = block({ type: 'content_block_delta', delta: deltaOf(kind, start + text) });
        return usage ? delta + change(null, usage) : delta;
      },
      end(isCut, usage) {
        const signature = { type: 'signature_delta', signature: 'c2lnbmVk' };
        const last = kind === 'call' ? deltaOf(kind, '"}') : signature;
        return (
          (kind === 'text' ? '' : block({ type: 'content_block_delta', delta: last })) +
          block({ type: 'content_block_stop' }) +
          change(stopOf(isCut), usage) +
          named({ type: 'message_stop' })
        );
      },
    };
  },
});

const responseUsage = ({ prompt, output }: BilledTokens) => ({
  input_tokens: prompt,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: prompt + output,
});

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_760_000_000,
  completed_at: null,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  ...{ presence_penalty: 0, frequency_penalty: 0, top_logprobs: 0, temperature: 1, top_p: 1 },
  ...{ background: false, service_tier: 'default', store: false, truncation: 'disabled', user: null },
  ...{ safety_identifier: null, prompt_cache_key: null, metadata: {} },
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
};

const PLACE = { item_id: 'item_1', output_index: 0 };
const outputText = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });

/** The events of an item before, at and after each piece of its text. */
const ITEM_EVENTS = {
  text: {
    item: (text: string | null, status: string) => ({
      ...{ type: 'message', id: 'item_1', role: 'assistant', status },
      content: text === null ? [] : [outputText(text)],
    }),
    before: [{ type: 'response.content_part.added', ...PLACE, content_index: 0, part: outputText('') }],
    piece: (delta: string) => ({
      ...{ type: 'response.output_text.delta', ...PLACE, content_index: 0, delta, logprobs: [] },
    }),
    after: (text: string) => [
      { type: 'response.output_text.done', ...PLACE, content_index: 0, text, logprobs: [] },
      { type: 'response.content_part.done', ...PLACE, content_index: 0, part: outputText(text) },
    ],
  },
  thinking: {
    item: (text: string | null, status: string) => ({
      ...{ type: 'reasoning', id: 'item_1', status, content: [], encrypted_content: 'gAAA' },
      summary: text === null ? [] : [{ type: 'summary_text', text }],
    }),
    before: [
      {
        ...{ type: 'response.reasoning_summary_part.added', ...PLACE, summary_index: 0 },
        part: { type: 'summary_text', text: '' },
      },
    ],
    piece: (delta: string) => ({
      ...{ type: 'response.reasoning_summary_text.delta', ...PLACE, summary_index: 0, delta },
    }),
    after: (text: string) => [
      { type: 'response.reasoning_summary_text.done', ...PLACE, summary_index: 0, text },
      {
        ...{ type: 'response.reasoning_summary_part.done', ...PLACE, summary_index: 0 },
        part: { type: 'summary_text', text },
      },
    ],
  },
  call: {
    item: (text: string | null, status: string) => ({
      ...{ type: 'function_call', id: 'item_1', call_id: 'call_1', name: 'look_up', status, arguments: text ?? '' },
    }),
    before: [],
    piece: (delta: string) => ({ type: 'response.function_call_arguments.delta', ...PLACE, delta }),
    after: (text: string) => [{ type: 'response.function_call_arguments.done', ...PLACE, arguments: text }],
  },
} as const;

/** OpenAI's Responses, which report usage at the end of the answer. */
export const responsesWire = (kind: AnswerKind): MeteredWire => ({
  cap: 'max_output_tokens',
  answer(model) {
    const { item, before, piece, after } = ITEM_EVENTS[kind];
    let sequence_number = 0;
    let text = '';
    const sent = (events: readonly { readonly type: string }[]) =>
      events.map((event) => named({ ...event, ...{ sequence_number: sequence_number++ } })).join('');
    const response = (status: string, more: object) => ({ ...RESPONSE, model, status, ...more });
    const ended = (output: readonly object[], isCut: boolean, usage: BilledTokens) =>
      response(isCut ? 'incomplete' : 'completed', {
        output,
        usage: responseUsage(usage),
        ...(isCut && { incomplete_details: { reason: 'max_output_tokens' } }),
      });
    return {
      whole: (words, isCut, usage) => ended([ITEM_EVENTS.text.item(words, 'completed')], isCut, usage),
      begin() {
        const begun = response('in_progress', { output: [], usage: null });
        const added = { type: 'response.output_item.added', output_index: 0, item: item(null, 'in_progress') };
        return sent([
          ...['created', 'in_progress'].map((step) => ({ type: `response.${step}`, response: begun })),
          added,
          ...before,
        ]);
      },
      piece(words) {
        const delta = kind === 'call' && text === '' ? `{"text":"${words}` : words;
        text += delta;
        return sent([piece(delta)]);
      },
      end(isCut, usage) {
        const rest = kind === 'call' ? '"}' : '';
        text += rest;
        const whole = item(text, isCut ? 'incomplete' : 'completed');
        return sent([
          ...(rest === '' ? [] : [piece(rest)]),
          ...after(text),
          { type: 'response.output_item.done', ...{ output_index: 0, item: whole } },
          { type: `response.${isCut ? 'incomplete' : 'completed'}`, ...{ response: ended([whole], isCut, usage) } },
        ]);
      },
    };
  },
});
