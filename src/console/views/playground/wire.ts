import { jsonOf, listOf, membersOf, numberOf, textOf } from '../../api/json.ts';
import { DIALECTS, type Dialect, type RequestBody } from './body.ts';

/** Splits a stream of server-sent events into the data of each event. */
export class EventCutter {
  #rest = '';

  /** @returns the data of the events that are complete now */
  push(text: string): readonly string[] {
    const events = (this.#rest + text).replaceAll('\r\n', '\n').split('\n\n');
    this.#rest = events.pop() ?? '';
    return events.flatMap((event) => {
      const lines = event.split('\n').filter((line) => line.startsWith('data:'));
      return lines.length === 0 ? [] : [lines.map((line) => line.slice(line[5] === ' ' ? 6 : 5)).join('\n')];
    });
  }
}

/** The output of a choice. The output is always shown as text and never as markup. */
export interface Speech {
  readonly text: string;
  readonly thought: string;
  /** Tool calls as the model wrote them. */
  readonly calls: string;
}

/** The data that an event or a complete answer adds to the page. */
export interface AnswerParts {
  /** The choices of the answer, by index. A choice without output is left out. */
  readonly choices: ReadonlyMap<number, Speech>;
  readonly usage: { readonly input: number | null; readonly output: number | null } | null;
  readonly platform: RequestBody | null;
  /** The error of a stream that ended early. */
  readonly error: string | null;
}

const SILENCE: Speech = { text: '', thought: '', calls: '' };
export const NO_PARTS: AnswerParts = { choices: new Map(), usage: null, platform: null, error: null };

/** Puts the output of each choice in the order of the choices. */
function speaking(speeches: Iterable<readonly [number, Partial<Speech>]>): Pick<AnswerParts, 'choices'> {
  const choices = new Map<number, Speech>();
  for (const [index, { text = '', thought = '', calls = '' }] of speeches) {
    const before = choices.get(index) ?? SILENCE;
    if (text + thought + calls === '') continue;
    choices.set(index, { text: before.text + text, thought: before.thought + thought, calls: before.calls + calls });
  }
  return { choices: new Map([...choices].sort(([one], [other]) => one - other)) };
}

/** Puts the output of a dialect with a single choice at index 0. */
const saying = (...speeches: readonly Partial<Speech>[]) => speaking(speeches.map((speech) => [0, speech] as const));

export const joined = (before: AnswerParts, next: AnswerParts): AnswerParts => ({
  ...(next.choices.size === 0 ? before : speaking([...before.choices, ...next.choices])),
  usage: (next.usage ?? before.usage) && {
    input: next.usage?.input ?? before.usage?.input ?? null,
    output: next.usage?.output ?? before.usage?.output ?? null,
  },
  platform: next.platform ?? before.platform,
  error: next.error ?? before.error,
});

/** Readers of events. The events of other dialects have a text at the expression of the dialect. */
const EVENTS: Partial<Record<Dialect, (event: RequestBody) => Partial<AnswerParts>>> = {
  chat: (event) => chatParts(event, 'delta'),
  messages: messagesParts,
  responses: responsesParts,
};

/**
 * Reads one event.
 * @param data of the event; the end marker of a stream and data that are not JSON add nothing
 */
export function partsOfEvent(dialect: Dialect, data: string): AnswerParts {
  const event = membersOf(jsonOf(data));
  if (!event) return NO_PARTS;
  const parts = EVENTS[dialect] ?? ((other) => saying({ text: textIn(other, DIALECTS[dialect].delta) }));
  return { ...NO_PARTS, platform: membersOf(event.platform), error: errorIn(event), ...parts(event) };
}

/** Readers of answers, as `EVENTS`. */
const ANSWERS: Partial<Record<Dialect, (body: RequestBody) => Partial<AnswerParts>>> = {
  chat: (body) => chatParts(body, 'message'),
  messages: ({ content }) => saying(...listOf(content).map((block) => speechOfBlock(membersOf(block)))),
  responses: ({ output }) => saying(...listOf(output).map((item) => speechOfItem(membersOf(item)))),
  embeddings: ({ data }) => saying({ text: vectorsText(listOf(data)) }),
};

/** Reads an answer that was not streamed. */
export function partsOfAnswer(dialect: Dialect, body: RequestBody): AnswerParts {
  const parts = ANSWERS[dialect] ?? ((other) => saying({ text: textIn(other, DIALECTS[dialect].text) }));
  return { ...NO_PARTS, platform: membersOf(body.platform), usage: usageIn(body.usage), ...parts(body) };
}

/**
 * Reads the text at an expression of members, such as `answer.choices[0].message.content` or `event.delta?.text ?? ''`; empty if there is
 * none.
 */
export function textIn(body: RequestBody, expression: string | null): string {
  const [, ...names] = expression?.split(' ')[0]?.match(/\w+/g) ?? [];
  const read = (value: unknown, name: string) =>
    Array.isArray(value) ? value[Number(name)] : membersOf(value)?.[name];
  return said(names.reduce<unknown>(read, body));
}

const said = (value: unknown): string => textOf(value) ?? '';

const errorIn = (event: RequestBody): string | null => textOf(membersOf(event.error)?.message);

function usageIn(value: unknown): AnswerParts['usage'] {
  const usage = membersOf(value);
  return (
    usage && {
      input: numberOf(usage.prompt_tokens) ?? numberOf(usage.input_tokens),
      output: numberOf(usage.completion_tokens) ?? numberOf(usage.output_tokens),
    }
  );
}

/** Reads a chunk of a stream (`delta`) or a whole completion (`message`). */
function chatParts(body: RequestBody, member: 'delta' | 'message'): Partial<AnswerParts> {
  const usage = usageIn(body.usage);
  const speeches = listOf(body.choices).map((one) => {
    const choice = membersOf(one);
    const part = membersOf(choice?.[member]);
    const calls = listOf(part?.tool_calls).map((call) => callText(membersOf(membersOf(call)?.function)));
    const text = said(part?.content) + said(part?.refusal);
    return [
      numberOf(choice?.index) ?? 0,
      { text, thought: said(part?.reasoning_content), calls: calls.join('') },
    ] as const;
  });
  return { ...speaking(speeches), ...(usage && { usage }) };
}

/** A tool call starts with its name on a line of its own. */
const callText = (call: RequestBody | null): string =>
  (call?.name ? `\n${said(call.name)} ` : '') + said(call?.arguments);

function messagesParts(event: RequestBody): Partial<AnswerParts> {
  const delta = membersOf(event.delta);
  switch (event.type) {
    case 'message_start':
      return { usage: usageIn(membersOf(event.message)?.usage) };
    case 'message_delta':
      return { usage: usageIn(event.usage) };
    case 'content_block_start':
      return saying(speechOfBlock(membersOf(event.content_block), false));
    case 'content_block_delta':
      return saying({ text: said(delta?.text), thought: said(delta?.thinking), calls: said(delta?.partial_json) });
    default:
      return {};
  }
}

/** @param isWhole whether the block contains the input of the tool; in a stream the input arrives in pieces */
function speechOfBlock(block: RequestBody | null, isWhole = true): Speech {
  const call = block?.type === 'tool_use' && {
    name: block.name,
    ...(isWhole && { arguments: JSON.stringify(block.input) }),
  };
  return { text: said(block?.text), thought: said(block?.thinking), calls: call ? callText(call) : '' };
}

function responsesParts(event: RequestBody): Partial<AnswerParts> {
  const delta = said(event.delta);
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
      return item?.type === 'function_call' ? saying({ calls: callText({ name: item.name }) }) : {};
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
      .map(membersOf)
      .map((part) => textOf(part?.text) ?? said(part?.refusal))
      .join('');
  if (item?.type === 'message') return { text: texts(item.content) };
  if (item?.type === 'reasoning') return { thought: texts(item.content) || texts(item.summary) };
  return item?.type === 'function_call' ? { calls: callText(item) } : {};
}

/** Describes vectors: their length, and the first numbers of each. */
const vectorsText = (vectors: readonly unknown[]): string =>
  vectors
    .map((one, at) => {
      const vector = membersOf(one)?.embedding;
      if (!Array.isArray(vector)) return `Vector ${at + 1}: ${said(vector).length} characters of base64.`;
      const first = vector.slice(0, 4).map((value) => Number(value).toPrecision(3));
      return `Vector ${at + 1}: ${vector.length} numbers, ${first.join(', ')}, …`;
    })
    .join('\n');
