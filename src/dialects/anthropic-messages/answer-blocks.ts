import { MESSAGE_TYPES, type MessagePart, type StreamPart } from '../../contract/parts.ts';
import { JsonEnd } from '../../core/json/end.ts';
import type { Members } from '../../core/json/original.ts';
import { type ReasoningState, wrapState } from '../../core/request/wrapped-state.ts';

/** The beginning of a content block. */
export type BlockStart =
  | { readonly type: 'text' }
  | { readonly type: 'thinking' }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string };

/** A step of an answer. Content blocks of an answer begin and end one after the other. */
export type BlockStep =
  | { readonly type: 'start'; readonly block: BlockStart }
  /** The next piece of a text, of thinking, or of the JSON text of a call's arguments, depending on the block's type. */
  | { readonly type: 'add'; readonly piece: string }
  /** Ends a thinking block. */
  | { readonly type: 'sign'; readonly signature: string }
  | { readonly type: 'stop' };

type ToolCall = Extract<StreamPart, { type: 'tool-call' }>;

const OF_MESSAGE: ReadonlySet<StreamPart['type']> = new Set(MESSAGE_TYPES);
/** Whether a part becomes content of the message. */
export const isBlockPart = (part: StreamPart): part is MessagePart => OF_MESSAGE.has(part.type);

interface OpenCall {
  readonly type: 'tool_use';
  readonly index: number;
  readonly id: string;
  /** Tracks where the arguments of a call end. */
  readonly end: JsonEnd;
  /** The provider's state that arrived after the start of the call. */
  late: Members | null;
}
type OpenBlock = { readonly type: 'text' } | { readonly type: 'thinking' } | OpenCall;

/**
 * Arranges the parts of an answer into blocks. The dialect of Anthropic's Messages has one open block at a time, and a closed block cannot
 * be reopened. Parts that arrive within the arguments of a call wait until the arguments are complete. Provider state that follows text
 * waits for a further block: an answer that ends in text then ends with a text block, which agents use as its result.
 */
export class AnswerBlocks {
  #open: OpenBlock | null = null;
  /** The waiting parts of the answer, in order. The list of a waiting call also contains the further pieces of the call. */
  #waiting: [MessagePart, ...ToolCall[]][] = [];
  /** The number of waiting parts that have been processed. */
  #resumed = 0;
  /** The waiting calls, by their index. */
  readonly #waitingCalls = new Map<number, [MessagePart, ...ToolCall[]]>();
  readonly #calls = new Set<number>();
  /** State that followed text and waits for a further block. */
  #waitingState: ReasoningState[] = [];
  #hasText = false;
  /** Whether the model refused to answer. */
  isRefusal = false;

  get hasCalls(): boolean {
    return this.#calls.size > 0;
  }

  add(part: MessagePart, steps: BlockStep[]): void {
    // Anthropic's dialect has only one choice per answer.
    if (part.choice !== 0) return;
    const open = this.#open;
    if (open?.type !== 'tool_use') this.#put(part, steps);
    else if (part.type === 'tool-call' && part.index === open.index) {
      this.#feed(open, part, steps);
      this.#resume(steps);
    } else if (this.#waiting.length > 0 || !open.end.isReached) this.#wait(part);
    else this.#put(part, steps);
  }

  /** Ends the last block and the waiting blocks. */
  end(steps: BlockStep[]): void {
    this.#close(steps);
    while (this.#waiting.length > 0) {
      this.#resume(steps);
      this.#close(steps);
    }
  }

  #wait(part: MessagePart): void {
    const call = part.type === 'tool-call' ? this.#waitingCalls.get(part.index) : undefined;
    if (part.type === 'tool-call' && call) {
      call.push(part);
      return;
    }
    const waiting: [MessagePart] = [part];
    this.#waiting.push(waiting);
    if (part.type === 'tool-call') this.#waitingCalls.set(part.index, waiting);
  }

  /** Processes the waiting parts, up to the next call whose arguments are incomplete. */
  #resume(steps: BlockStep[]): void {
    while (this.#resumed < this.#waiting.length) {
      if (this.#open?.type === 'tool_use' && !this.#open.end.isReached) return;
      const [part, ...pieces] = this.#waiting[this.#resumed++]!;
      if (part.type === 'tool-call') this.#waitingCalls.delete(part.index);
      this.#put(part, steps);
      const open = this.#open;
      for (const piece of pieces)
        if (open?.type === 'tool_use' && open.index === piece.index) this.#feed(open, piece, steps);
    }
    this.#waiting = [];
    this.#resumed = 0;
  }

  #put(part: MessagePart, steps: BlockStep[]): void {
    if (part.type === 'refusal') this.isRefusal = true;
    if (part.type === 'tool-call') this.#call(part, steps);
    else if (part.type === 'state') this.#state({ details: part.details, extra: part.extra }, steps);
    else this.#write(part.type === 'reasoning' ? 'thinking' : 'text', part.text, steps);
  }

  #write(type: 'text' | 'thinking', piece: string, steps: BlockStep[]): void {
    if (this.#open?.type !== type) {
      this.#close(steps);
      this.#writeWaitingState(steps);
      this.#open = { type };
      steps.push({ type: 'start', block: { type } });
    }
    if (type === 'text') this.#hasText = true;
    if (piece !== '') steps.push({ type: 'add', piece });
  }

  /** Writes provider state into the signature of the thinking block that the state ends, or otherwise into a block of its own. */
  #state(state: ReasoningState, steps: BlockStep[]): void {
    const isThought = this.#open?.type === 'thinking';
    if (!isThought && this.#hasText && !this.hasCalls) {
      this.#waitingState.push(state);
      return;
    }
    this.#close(steps, state);
    if (!isThought) steps.push(...ofState(state));
  }

  #writeWaitingState(steps: BlockStep[]): void {
    for (const state of this.#waitingState) steps.push(...ofState(state));
    this.#waitingState = [];
  }

  #call(part: ToolCall, steps: BlockStep[]): void {
    const { index, name = '', arguments: args, extra } = part;
    // Only blanks can follow complete arguments of a call.
    if (this.#calls.has(index)) return;
    this.#calls.add(index);
    const id = plainId(part.id ?? `call_${index}`);
    if (this.#waitingState.length > 0) {
      this.#close(steps);
      this.#writeWaitingState(steps);
    }
    if (extra) this.#state({ calls: { [id]: extra } }, steps);
    this.#close(steps);
    const open: OpenCall = { type: 'tool_use', index, id, end: new JsonEnd(), late: null };
    this.#open = open;
    steps.push({ type: 'start', block: { type: 'tool_use', id, name } });
    this.#feed(open, { arguments: args }, steps);
  }

  #feed(open: OpenCall, { arguments: piece, extra }: Pick<ToolCall, 'arguments' | 'extra'>, steps: BlockStep[]): void {
    open.late = extra ?? open.late;
    if (piece === '') return;
    open.end.add(piece);
    steps.push({ type: 'add', piece });
  }

  #close(steps: BlockStep[], state: ReasoningState = {}): void {
    const open = this.#open;
    if (open === null) return;
    this.#open = null;
    // Clients expect every thinking block to end with a signature.
    if (open.type === 'thinking') steps.push({ type: 'sign', signature: wrapState(state) });
    steps.push({ type: 'stop' });
    if (open.type === 'tool_use' && open.late) this.#state({ calls: { [open.id]: open.late } }, steps);
  }
}

const ofState = (state: ReasoningState): BlockStep[] => [
  { type: 'start', block: { type: 'redacted_thinking', data: wrapState(state) } },
  { type: 'stop' },
];

/** Returns the ID with only letters, digits, underscores and hyphens, because Anthropic's models require IDs of that form. */
const plainId = (id: string): string =>
  id.replace(/[^a-zA-Z0-9_-]/gu, (char) => `_${char.codePointAt(0)?.toString(16)}_`) || 'call';
