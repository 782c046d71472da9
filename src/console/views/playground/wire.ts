import { type Dialect, listOf, membersOf, numberOf, type RequestBody, textOf } from './body.ts';

/** Cuts a stream of server-sent events into the data of each. */
export class EventCutter {
  #rest = '';

  /** @returns the data of the events that are whole by now */
  push(text: string): readonly string[] {
    const events = (this.#rest + text).replaceAll('\r\n', '\n').split('\n\n');
    this.#rest = events.pop() ?? '';
    return events.flatMap((event) => {
      const lines = event.split('\n').filter((line) => line.startsWith('data:'));
      return lines.length === 0 ? [] : [lines.map((line) => line.slice(line[5] === ' ' ? 6 : 5)).join('\n')];
    });
  }
}

/** What one choice says. All of it is text, and never markup. */
export interface Speech {
  readonly text: string;
  readonly thought: string;
  /** Tool calls, as the model writes them. */
  readonly calls: string;
}

/** What an event or a whole answer adds to what is shown. */
export interface AnswerParts {
  /** By the index of the choice; those that have said nothing are left out. */
  readonly choices: ReadonlyMap<number, Speech>;
  readonly usage: { readonly input: number | null; readonly output: number | null } | null;
  readonly platform: RequestBody | null;
  /** Of a stream that breaks off. */
  readonly error: string | null;
}

const SILENCE: Speech = { text: '', thought: '', calls: '' };
export const NO_PARTS: AnswerParts = { choices: new Map(), usage: null, platform: null, error: null };

const speechesJoined = (before: Speech, next: Speech): Speech => ({
  text: before.text + next.text,
  thought: before.thought + next.thought,
  calls: before.calls + next.calls,
});

/** The parts of speeches by their choices, in the order of these. */
function speaking(speeches: Iterable<readonly [number, Partial<Speech>]>): Pick<AnswerParts, 'choices'> {
  const choices = new Map<number, Speech>();
  for (const [index, speech] of speeches) {
    const whole = speechesJoined(choices.get(index) ?? SILENCE, { ...SILENCE, ...speech });
    if (whole.text + whole.thought + whole.calls !== '') choices.set(index, whole);
  }
  return { choices: new Map([...choices].sort(([one], [other]) => one - other)) };
}

/** Of dialects that have one choice. */
const saying = (...speeches: readonly Partial<Speech>[]) => speaking(speeches.map((speech) => [0, speech] as const));

export function joined(before: AnswerParts, next: AnswerParts): AnswerParts {
  return {
    ...(next.choices.size === 0 ? before : speaking([...before.choices, ...next.choices])),
    usage: next.usage
      ? {
          input: next.usage.input ?? before.usage?.input ?? null,
          output: next.usage.output ?? before.usage?.output ?? null,
        }
      : before.usage,
    platform: next.platform ?? before.platform,
    error: next.error ?? before.error,
  };
}

/** The parts of one event. @param data of the event; the last word of a stream and what is no JSON add nothing */
export function partsOfEvent(dialect: Dialect, data: string): AnswerParts {
  let event: RequestBody | null;
  try {
    event = membersOf(JSON.parse(data));
  } catch {
    return NO_PARTS;
  }
  if (!event) return NO_PARTS;
  const shared = { ...NO_PARTS, platform: membersOf(event.platform), error: errorIn(event) };
  switch (dialect) {
    case 'chat':
      return { ...shared, ...chatParts(event, 'delta') };
    case 'messages':
      return { ...shared, ...messagesParts(event) };
    default:
      return { ...shared, ...responsesParts(event) };
  }
}

/** The parts of an answer that came as one. */
export function partsOfAnswer(dialect: Dialect, body: RequestBody): AnswerParts {
  const shared = { ...NO_PARTS, platform: membersOf(body.platform), usage: usageIn(body.usage) };
  switch (dialect) {
    case 'chat':
      return { ...shared, ...chatParts(body, 'message') };
    case 'messages':
      return { ...shared, ...saying(...listOf(body.content).map((block) => speechOfBlock(membersOf(block)))) };
    case 'responses':
      return { ...shared, ...saying(...listOf(body.output).map((item) => speechOfItem(membersOf(item)))) };
    case 'embeddings':
      return { ...shared, ...saying({ text: vectorsText(listOf(body.data)) }) };
  }
}

const errorIn = (event: RequestBody): string | null => textOf(membersOf(event.error)?.message);

function usageIn(value: unknown): AnswerParts['usage'] {
  const usage = membersOf(value);
  if (!usage) return null;
  return {
    input: numberOf(usage.prompt_tokens) ?? numberOf(usage.input_tokens),
    output: numberOf(usage.completion_tokens) ?? numberOf(usage.output_tokens),
  };
}

/** Of a chunk or a completion. */
function chatParts(body: RequestBody, member: 'delta' | 'message'): Partial<AnswerParts> {
  const usage = usageIn(body.usage);
  const speeches = listOf(body.choices).map((one) => {
    const choice = membersOf(one);
    return [numberOf(choice?.index) ?? 0, speechOfChat(membersOf(choice?.[member]))] as const;
  });
  return { ...speaking(speeches), ...(usage && { usage }) };
}

const speechOfChat = (said: RequestBody | null): Speech => ({
  text: (textOf(said?.content) ?? '') + (textOf(said?.refusal) ?? ''),
  thought: textOf(said?.reasoning_content) ?? '',
  calls: listOf(said?.tool_calls)
    .map((call) => {
      const of = membersOf(membersOf(call)?.function);
      return callText(textOf(of?.name), textOf(of?.arguments));
    })
    .join(''),
});

/** A call begins with its name on a line of its own. */
const callText = (name: string | null, input: string | null): string => (name ? `\n${name} ` : '') + (input ?? '');

function messagesParts(event: RequestBody): Partial<AnswerParts> {
  const delta = membersOf(event.delta);
  switch (event.type) {
    case 'message_start':
      return { usage: usageIn(membersOf(event.message)?.usage) };
    case 'message_delta':
      return { usage: usageIn(event.usage) };
    case 'content_block_start': {
      const block = membersOf(event.content_block);
      return saying(block?.type === 'tool_use' ? { calls: callText(textOf(block.name), null) } : speechOfBlock(block));
    }
    case 'content_block_delta':
      return saying({
        text: textOf(delta?.text) ?? '',
        thought: textOf(delta?.thinking) ?? '',
        calls: textOf(delta?.partial_json) ?? '',
      });
    default:
      return {};
  }
}

const speechOfBlock = (block: RequestBody | null): Speech => ({
  text: textOf(block?.text) ?? '',
  thought: textOf(block?.thinking) ?? '',
  calls: block?.type === 'tool_use' ? callText(textOf(block.name), JSON.stringify(block.input)) : '',
});

function responsesParts(event: RequestBody): Partial<AnswerParts> {
  const delta = textOf(event.delta) ?? '';
  const response = membersOf(event.response);
  switch (event.type) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      return saying({ text: delta });
    case 'response.reasoning_text.delta':
    case 'response.reasoning_summary_text.delta':
      return saying({ thought: delta });
    case 'response.function_call_arguments.delta':
      return saying({ calls: delta });
    case 'response.output_item.added': {
      const item = membersOf(event.item);
      return item?.type === 'function_call' ? saying({ calls: callText(textOf(item.name), null) }) : {};
    }
    case 'error':
      return { error: textOf(event.message) ?? errorIn(event) };
    default:
      return response
        ? { usage: usageIn(response.usage), platform: membersOf(response.platform), error: errorIn(response) }
        : {};
  }
}

function speechOfItem(item: RequestBody | null): Partial<Speech> {
  const texts = (list: unknown) =>
    listOf(list)
      .map((part) => textOf(membersOf(part)?.text) ?? textOf(membersOf(part)?.refusal) ?? '')
      .join('');
  switch (item?.type) {
    case 'message':
      return { text: texts(item.content) };
    case 'reasoning':
      return { thought: texts(item.content) || texts(item.summary) };
    case 'function_call':
      return { calls: callText(textOf(item.name), textOf(item.arguments)) };
    default:
      return {};
  }
}

/** Vectors are counted; their first numbers are shown. */
function vectorsText(vectors: readonly unknown[]): string {
  return vectors
    .map((one, at) => {
      const vector = membersOf(one)?.embedding;
      if (!Array.isArray(vector)) return `Vector ${at + 1}: ${textOf(vector)?.length ?? 0} characters of base64.`;
      const first = vector.slice(0, 4).map((value) => Number(value).toPrecision(3));
      return `Vector ${at + 1}: ${vector.length} numbers, ${first.join(', ')}, …`;
    })
    .join('\n');
}
