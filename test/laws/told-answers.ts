import fc from 'fast-check';

/** A piece of an answer as a dialect sends it, with the text that a guard replaces it with. */
export interface ToldPiece {
  readonly said: string;
  /** Null if the piece is left unchanged. */
  readonly edited: string | null;
}

const KINDS = ['text', 'refusal', 'thought', 'call', 'custom', 'whole-call', 'service'] as const;

export interface ToldItem {
  readonly kind: (typeof KINDS)[number];
  readonly pieces: readonly ToldPiece[];
  /** A word in the output of the service's own tools, which no neutral part contains. */
  readonly word: string;
}

/** Only a few different words, so that words of a service's tool are often also in a text. */
const word = fc.oneof(
  fc.constantFrom('a', 'b', 'ab', 'é"\\', '\u2028\n', '{}'),
  fc.string({ minLength: 1, maxLength: 4, unit: 'binary' }),
);
const piece = fc.record({ said: word, edited: fc.option(word) });
const asObject = (text: string) => JSON.stringify({ a: text });

/** Joins the pieces of an item that arrives whole. The input of a call is then an object. */
function whole({ kind, pieces, word: own }: ToldItem): ToldItem {
  const form = kind === 'call' || kind === 'whole-call' ? asObject : (text: string) => text;
  const told = (textOf: (one: ToldPiece) => string) => form(pieces.map(textOf).join(''));
  const edited = told((one) => one.edited ?? one.said);
  const isEdited = pieces.some((one) => one.edited !== null);
  return { kind, pieces: [{ said: told(({ said }) => said), edited: isEdited ? edited : null }], word: own };
}

const item: fc.Arbitrary<ToldItem> = fc
  .record({ kind: fc.constantFrom(...KINDS), pieces: fc.array(piece, { minLength: 1, maxLength: 3 }), word })
  .map((one) => (one.kind === 'whole-call' ? whole(one) : one));

export const toldAnswers = fc.array(item, { minLength: 1, maxLength: 4 });
export const comesWhole = (items: readonly ToldItem[]): ToldItem[] =>
  items.map((one) => (one.kind === 'whole-call' ? one : whole(one)));

/** Chooses which text of a piece is written: the original or the edited one. */
export type Telling = (piece: ToldPiece) => string;
export const asSaid: Telling = ({ said }) => said;
export const asEdited: Telling = ({ said, edited }) => edited ?? said;

type Event = Readonly<Record<string, unknown>>;
const joined = ({ pieces }: ToldItem, tell: Telling): string => pieces.map(tell).join('');

/** Returns Anthropic's events, except `message_stop`. */
export function messagesEvents(items: readonly ToldItem[], tell: Telling): Event[] {
  const events: Event[] = [];
  let index = -1;
  const block = (content_block: Event, deltas: readonly Event[]) => {
    index++;
    events.push({ type: 'content_block_start', index, content_block });
    for (const delta of deltas) events.push({ type: 'content_block_delta', index, delta });
    events.push({ type: 'content_block_stop', index });
  };
  for (const one of items) {
    const { kind, pieces, word: own } = one;
    const told = (type: string, member: string) => pieces.map((each) => ({ type, [member]: tell(each) }));
    const call = { type: 'tool_use', id: 't', name: 'f' };
    if (kind === 'text' || kind === 'refusal') {
      const cited = { type: 'citations_delta', citation: { cited_text: own } };
      block({ type: 'text', text: '' }, [...told('text_delta', 'text'), cited]);
    } else if (kind === 'thought') {
      const sign = { type: 'signature_delta', signature: own };
      block({ type: 'thinking', thinking: '', signature: '' }, [...told('thinking_delta', 'thinking'), sign]);
    } else if (kind === 'whole-call') block({ ...call, input: JSON.parse(joined(one, tell)) }, []);
    else if (kind !== 'service') block({ ...call, input: {} }, told('input_json_delta', 'partial_json'));
    else {
      block({ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }, [
        { type: 'input_json_delta', partial_json: asObject(own) },
      ]);
      block({ type: 'web_search_tool_result', tool_use_id: 's', content: [{ title: own }] }, []);
    }
  }
  const message = { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 1, output_tokens: 1 } };
  return [
    { type: 'message_start', message },
    ...events,
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  ];
}

export function messagesBody(items: readonly ToldItem[], tell: Telling): object {
  const content = items.map((one) => {
    const text = joined(one, tell);
    if (one.kind === 'thought') return { type: 'thinking', thinking: text, signature: one.word };
    if (one.kind === 'call' || one.kind === 'whole-call')
      return { type: 'tool_use', id: 't', name: 'f', input: JSON.parse(text) };
    if (one.kind === 'service') return { type: 'web_search_tool_result', tool_use_id: 's', content: one.word };
    return { type: 'text', text, citations: [{ cited_text: one.word }] };
  });
  const usage = { input_tokens: 1, output_tokens: 2 };
  return { id: 'm', type: 'message', role: 'assistant', content, stop_reason: 'end_turn', usage };
}

/** Writes an item as Responses do: the whole item, its text in it, and the events that contain and repeat the text. */
function itemOf(one: ToldItem, tell: Telling, id: string): Event {
  const { kind, word: own } = one;
  const text = joined(one, tell);
  switch (kind) {
    case 'text':
      return { type: 'message', id, content: [{ type: 'output_text', text, annotations: [{ title: own }] }] };
    case 'refusal':
      return { type: 'message', id, content: [{ type: 'refusal', refusal: text }] };
    case 'thought':
      return { type: 'reasoning', id, summary: [{ type: 'summary_text', text }], encrypted_content: own };
    case 'custom':
      return { type: 'custom_tool_call', id, call_id: 'c', name: own, input: text };
    case 'service':
      return { type: 'code_interpreter_call', id, code: own, outputs: [{ logs: own }] };
    default:
      return { type: 'function_call', id, call_id: 'c', name: own, arguments: text };
  }
}

const NAMES: Readonly<Partial<Record<ToldItem['kind'], readonly [string, string, string?]>>> = {
  text: ['output_text', 'text', 'content_part'],
  refusal: ['refusal', 'refusal', 'content_part'],
  thought: ['reasoning_summary_text', 'text', 'reasoning_summary_part'],
  call: ['function_call_arguments', 'arguments'],
  custom: ['custom_tool_call_input', 'input'],
};

function itemEvents(one: ToldItem, tell: Telling, output_index: number): Event[] {
  const id = `i${output_index}`;
  const item = itemOf(one, tell, id);
  const { content, summary, arguments: _, input: __, ...head } = item;
  const bare = {
    ...head,
    ...(content !== undefined && { content: [] }),
    ...(summary !== undefined && { summary: [] }),
  };
  const added = { type: 'response.output_item.added', output_index, item: bare };
  const done = { type: 'response.output_item.done', output_index, item };
  const names = NAMES[one.kind];
  if (one.kind === 'service')
    return [
      added,
      { type: 'response.code_interpreter_call_code.delta', output_index, item_id: id, delta: one.word },
      { type: 'response.code_interpreter_call_code.done', output_index, item_id: id, code: one.word },
      done,
    ];
  if (!names) return [added, done];
  const [kind, member, part] = names;
  const place = { item_id: id, output_index, [one.kind === 'thought' ? 'summary_index' : 'content_index']: 0 };
  const [told] = Array.isArray(content) ? content : Array.isArray(summary) ? summary : [];
  const partly = (step: string, value: object) =>
    part === undefined ? [] : [{ type: `response.${part}.${step}`, ...place, part: value }];
  return [
    added,
    ...partly('added', { ...told, [member]: '' }),
    ...one.pieces.map((each) => ({ type: `response.${kind}.delta`, ...place, delta: tell(each) })),
    { type: 'response.output_text.annotation.added', ...place, annotation: { title: one.word } },
    { type: `response.${kind}.done`, ...place, [member]: joined(one, tell) },
    ...partly('done', told),
    done,
  ];
}

export function responsesBody(items: readonly ToldItem[], tell: Telling): object {
  const output = items.map((one, at) => itemOf(one, tell, `i${at}`));
  return { id: 'r', object: 'response', status: 'completed', output, usage: { input_tokens: 1, output_tokens: 2 } };
}

export const responsesEvents = (items: readonly ToldItem[], tell: Telling): Event[] => [
  { type: 'response.created', response: { id: 'r', object: 'response', output: [] } },
  ...items.flatMap((one, at) => itemEvents(one, tell, at)),
  { type: 'response.completed', response: responsesBody(items, tell) },
];

/** Returns chunks of chat completions, which contain nothing about a service's own tools. */
export function chatChunks(items: readonly ToldItem[], tell: Telling): Event[] {
  const deltas: Event[] = [];
  let calls = 0;
  for (const { kind, pieces } of items) {
    const index = calls;
    if (kind === 'call' || kind === 'custom' || kind === 'whole-call') {
      calls++;
      deltas.push({ tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: '' } }] });
    }
    for (const each of pieces) {
      const text = tell(each);
      if (kind === 'thought') deltas.push({ reasoning_content: text });
      else if (kind === 'refusal') deltas.push({ refusal: text });
      else if (kind === 'text') deltas.push({ content: text });
      else if (kind !== 'service') deltas.push({ tool_calls: [{ index, function: { arguments: text } }] });
    }
  }
  const ends = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  return [...deltas.map((delta) => ({ choices: [{ index: 0, delta }] })), ends];
}
