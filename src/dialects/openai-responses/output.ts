import type { FinishReason, StreamPart } from '../../contract/parts.ts';
import { addMembers } from '../../core/api/extras.ts';
import { idText } from '../../core/id.ts';
import { objectOf, parseJson } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import { type ReasoningState, wrapState } from '../../core/request/wrapped-state.ts';
import { GatheredText } from '../../core/text/gathered-text.ts';
import { NO_ARGUMENTS } from '../no-arguments.ts';
import { type CalledTool, CUSTOM_ARGUMENT } from './tools.ts';

/** Receives one event: its type, and its other members as JSON without braces. */
type Emit = (type: string, members: string) => void;

type ToolCall = Extract<StreamPart, { type: 'tool-call' }>;

interface Item {
  readonly id: string;
  /** The index of the item in the output. */
  readonly index: number;
  /** The item's ID and index, as members of its events. */
  readonly place: string;
}

interface MessageProgress extends Item {
  readonly type: 'message';
  readonly content: ContentProgress[];
}

interface ContentProgress {
  readonly type: 'output_text' | 'refusal';
  /** The position of the part, as a member of its events. */
  readonly place: string;
  readonly text: GatheredText;
  readonly logprobs: unknown[];
}

interface ReasoningProgress extends Item {
  readonly type: 'reasoning';
  readonly text: GatheredText;
}

interface CallProgress extends Item {
  readonly type: 'call';
  readonly callId: string;
  readonly tool: CalledTool;
  readonly arguments: GatheredText;
}

/** An incomplete `ReasoningState`. */
interface StateDraft {
  details?: Members[];
  extra?: Members;
  calls?: Record<string, Members>;
}

/**
 * Converts parts to the output items of a response and their events. A message or reasoning item ends when another item begins. Call items
 * end with the answer, so that no client runs a call of an answer that breaks off.
 */
export class OutputItems {
  readonly #decision: number;
  readonly #readTools: () => ReadonlyMap<string, CalledTool>;
  #tools: ReadonlyMap<string, CalledTool> | null = null;
  readonly #emit: Emit;
  #open: MessageProgress | ReasoningProgress | null = null;
  /** State that does not belong to an item yet. */
  #state: StateDraft | null = null;
  readonly #calls = new Map<number, CallProgress>();
  /** Finished items as JSON, by index. */
  readonly #done: string[] = [];
  #count = 0;
  finish: FinishReason = 'stop';

  /** @param readTools returns the caller's tools by their neutral names; called only for an answer with a tool call */
  constructor(decision: number, readTools: () => ReadonlyMap<string, CalledTool>, emit: Emit) {
    this.#decision = decision;
    this.#readTools = readTools;
    this.#emit = emit;
  }

  get #called(): ReadonlyMap<string, CalledTool> {
    this.#tools ??= this.#readTools();
    return this.#tools;
  }

  /** The finished items as JSON, joined by commas. */
  get text(): string {
    return this.#done.filter((item) => item !== undefined).join(',');
  }

  take(parts: readonly StreamPart[]): void {
    for (let at = 0; at < parts.length; at++) {
      const part = parts[at]!;
      switch (part.type) {
        case 'text': {
          // Token probabilities go with their tokens if the upstream sent both at the same time.
          const next = parts[at + 1];
          const its = next?.type === 'logprobs' ? next.content : [];
          if (next?.type === 'logprobs') at++;
          this.#say('output_text', part.text, its);
          break;
        }
        case 'refusal':
          this.#say('refusal', part.text, []);
          break;
        case 'logprobs':
          this.#say('output_text', '', part.content);
          break;
        case 'reasoning':
          this.#think(part.text);
          break;
        case 'state':
          this.#keep(part);
          break;
        case 'tool-call':
          this.#call(part);
          break;
        case 'finish':
          this.finish = part.reason;
      }
    }
  }

  /** Ends all items of the response. */
  end(): void {
    const isCut = this.finish === 'length';
    if (this.#count === 0 && !isCut) this.#openMessage();
    this.#close(isCut ? 'incomplete' : 'completed');
    for (const call of this.#calls.values()) this.#closeCall(call, isCut);
  }

  #say(type: ContentProgress['type'], text: string, logprobs: readonly unknown[]): void {
    const message = this.#open?.type === 'message' ? this.#open : this.#openMessage();
    const last = message.content.at(-1);
    const content = last?.type === type ? last : this.#openContent(message, type);
    content.text.add(text);
    // The writer adds the entries one by one, because a function call cannot have a million arguments.
    for (const one of logprobs) content.logprobs.push(one);
    this.#emit(
      `response.${type}.delta`,
      `${content.place},"delta":${JSON.stringify(text)}${logprobsText(type, logprobs)}`,
    );
  }

  #think(text: string): void {
    const item = this.#open?.type === 'reasoning' ? this.#open : this.#openReasoning();
    const place = summaryPlace(item);
    if (item.text.isEmpty) this.#emit('response.reasoning_summary_part.added', `${place},"part":${summaryText('')}`);
    item.text.add(text);
    this.#emit('response.reasoning_summary_text.delta', `${place},"delta":${JSON.stringify(text)}`);
  }

  /** Keeps state in the reasoning item that it arrived with, or in an item of its own after the open item has ended. */
  #keep({ details, extra, calls }: ReasoningState): void {
    this.#state ??= {};
    const state = this.#state;
    if (details) {
      state.details ??= [];
      for (const detail of details) state.details.push(detail);
    }
    if (extra) state.extra = extra;
    if (calls) {
      state.calls ??= {};
      addMembers(state.calls, calls);
    }
  }

  #call(part: ToolCall): void {
    const known = this.#calls.get(part.index);
    const id = part.id ?? known?.callId ?? '';
    if (part.extra) this.#keep({ calls: { [id]: part.extra } });
    const call = known ?? this.#openCall(part);
    if (part.arguments === '') return;
    call.arguments.add(part.arguments);
    // The input of a custom tool is part of the arguments, so it is only available when the arguments are complete.
    if (call.tool.type === 'function') {
      const delta = JSON.stringify(part.arguments);
      this.#emit('response.function_call_arguments.delta', `${call.place},"delta":${delta}`);
    }
  }

  #openMessage(): MessageProgress {
    const item: MessageProgress = { type: 'message', ...this.#next('msg_'), content: [] };
    this.#begin(item, messageText(item, 'in_progress'));
    this.#open = item;
    return item;
  }

  #openContent(message: MessageProgress, type: ContentProgress['type']): ContentProgress {
    this.#closeContent(message);
    const place = `${message.place},"content_index":${message.content.length}`;
    const content: ContentProgress = { type, place, text: new GatheredText(), logprobs: [] };
    message.content.push(content);
    this.#emit('response.content_part.added', `${place},"part":${contentText(content)}`);
    return content;
  }

  #openReasoning(): ReasoningProgress {
    const item: ReasoningProgress = { type: 'reasoning', ...this.#next('rs_'), text: new GatheredText() };
    this.#begin(item, reasoningText(item, null));
    this.#open = item;
    return item;
  }

  #openCall({ index, id, name = '' }: ToolCall): CallProgress {
    const tool = this.#called.get(name) ?? { type: 'function', name, namespace: null };
    const own = this.#next(tool.type === 'custom' ? 'ctc_' : 'fc_');
    const callId = id ?? `call_${own.id}`;
    const call: CallProgress = { type: 'call', ...own, callId, tool, arguments: new GatheredText() };
    this.#begin(call, callText(call, 'in_progress'));
    this.#calls.set(index, call);
    return call;
  }

  /** Ends the open item and creates the ID and index of the next item. */
  #next(prefix: string): Item {
    this.#close('completed');
    return this.#named(prefix);
  }

  #named(prefix: string): Item {
    const index = this.#count++;
    const id = `${idText(prefix, this.#decision)}_${index}`;
    return { id, index, place: `"item_id":"${id}","output_index":${index}` };
  }

  #begin({ index }: Item, text: string): void {
    this.#emit('response.output_item.added', `"output_index":${index},"item":${text}`);
  }

  #finish({ index }: Item, text: string): void {
    this.#done[index] = text;
    this.#emit('response.output_item.done', `"output_index":${index},"item":${text}`);
  }

  #close(status: 'completed' | 'incomplete'): void {
    const item = this.#open;
    this.#open = null;
    if (item?.type === 'message') {
      if (item.content.length === 0) this.#openContent(item, 'output_text');
      this.#closeContent(item);
      this.#finish(item, messageText(item, status));
    } else if (item) this.#closeReasoning(item);
    if (!this.#state) return;
    const own: ReasoningProgress = { type: 'reasoning', ...this.#named('rs_'), text: new GatheredText() };
    this.#begin(own, reasoningText(own, null));
    this.#closeReasoning(own);
  }

  #closeContent(message: MessageProgress): void {
    const content = message.content.at(-1);
    if (!content) return;
    const { type, place, text, logprobs } = content;
    const member = type === 'refusal' ? 'refusal' : 'text';
    this.#emit(
      `response.${type}.done`,
      `${place},"${member}":${JSON.stringify(text.value)}${logprobsText(type, logprobs)}`,
    );
    this.#emit('response.content_part.done', `${place},"part":${contentText(content)}`);
  }

  #closeReasoning(item: ReasoningProgress): void {
    if (!item.text.isEmpty) {
      const place = summaryPlace(item);
      this.#emit('response.reasoning_summary_text.done', `${place},"text":${JSON.stringify(item.text.value)}`);
      this.#emit('response.reasoning_summary_part.done', `${place},"part":${summaryText(item.text.value)}`);
    }
    this.#finish(item, reasoningText(item, this.#state));
    this.#state = null;
  }

  #closeCall(call: CallProgress, isCut: boolean): void {
    // An empty text instead of `{}` is invalid JSON. A call that was cut off keeps its incomplete arguments.
    const isBare = call.arguments.isEmpty && !isCut;
    if (call.tool.type === 'custom') {
      const input = JSON.stringify(inputIn(call.arguments.value));
      this.#emit('response.custom_tool_call_input.delta', `${call.place},"delta":${input}`);
      this.#emit('response.custom_tool_call_input.done', `${call.place},"input":${input}`);
    } else {
      if (isBare) {
        call.arguments.add(NO_ARGUMENTS);
        this.#emit('response.function_call_arguments.delta', `${call.place},"delta":"${NO_ARGUMENTS}"`);
      }
      const text = JSON.stringify(call.arguments.value);
      const name = JSON.stringify(call.tool.name);
      this.#emit('response.function_call_arguments.done', `${call.place},"name":${name},"arguments":${text}`);
    }
    this.#finish(call, callText(call, isCut ? 'incomplete' : 'completed'));
  }
}

const summaryPlace = ({ place }: Item): string => `${place},"summary_index":0`;

/** Returns the token probabilities as members of an event. Refusals have no token probabilities. */
function logprobsText(type: ContentProgress['type'], logprobs: readonly unknown[]): string {
  if (type === 'refusal') return '';
  return logprobs.length === 0 ? ',"logprobs":[]' : `,"logprobs":${JSON.stringify(logprobs)}`;
}

const contentText = ({ type, text, logprobs }: ContentProgress): string =>
  JSON.stringify(
    type === 'refusal' ? { type, refusal: text.value } : { type, text: text.value, annotations: [], logprobs },
  );

const summaryText = (text: string): string => JSON.stringify({ type: 'summary_text', text });

const messageText = ({ id, content }: MessageProgress, status: string): string =>
  `{"type":"message","id":"${id}","status":"${status}","role":"assistant","content":[${content.map(contentText).join(',')}]}`;

function reasoningText({ id, text }: ReasoningProgress, state: ReasoningState | null): string {
  const summary = text.isEmpty ? '' : summaryText(text.value);
  const encrypted = state && `,"encrypted_content":"${wrapState(state)}"`;
  return `{"type":"reasoning","id":"${id}","summary":[${summary}]${encrypted ?? ''}}`;
}

function callText({ id, callId, tool, arguments: text }: CallProgress, status: string): string {
  const { type, name, namespace } = tool;
  const common: Members = { id, call_id: callId, name, ...(namespace !== null && { namespace }) };
  return JSON.stringify(
    type === 'custom'
      ? { type: 'custom_tool_call', ...common, input: status === 'in_progress' ? '' : inputIn(text.value), status }
      : { type: 'function_call', ...common, arguments: text.value, status },
  );
}

/**
 * Returns the input of a custom tool. `inputIn` returns arguments of another form unchanged, such as the arguments of a call that was cut
 * off.
 */
function inputIn(text: string): string {
  const input = objectOf(parseJson(text))[CUSTOM_ARGUMENT];
  return typeof input === 'string' ? input : text;
}
