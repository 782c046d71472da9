import type { GuardTextKind } from '../../contract/guard.ts';
import type { FinishReason, StreamPart } from '../../contract/parts.ts';
import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import type { Members } from '../../core/json/original.ts';
import { withTexts } from '../exchange/edited-parts.ts';

/** A new text for a place in the text of a channel. */
export interface ChannelEdit {
  readonly from: number;
  readonly to: number;
  readonly value: string;
}

type ChannelType = 'text' | 'refusal' | 'reasoning' | 'tool-call' | 'name' | 'state' | 'unread';

/** How many characters before the shown end stay available. */
export const RECENT = 512;

/** One text of an answer, which arrives in pieces: the text of a choice, or the arguments of one call. */
export class Channel {
  readonly type: ChannelType;
  readonly choice: number;
  /** The end of the text that may be shown, with the edits before it. */
  safeTo = 0;
  /** The edits in order, without overlap. */
  edits: ChannelEdit[] = [];
  length = 0;
  #pieces: string[] = [];
  /** The end of the text, which is kept apart because joining all pieces for each part would take quadratic time. */
  #recent = '';
  #recentFrom = 0;
  /** Whether the text is complete, and may be shown with its edits. */
  isOver = false;
  /** Whether the text must not change: names, signed thoughts, and members that no part contains. */
  isFixed: boolean;
  /** The name of the called tool; empty for other channels. */
  tool = '';

  constructor(type: ChannelType, choice: number) {
    this.type = type;
    this.choice = choice;
    this.isFixed = type === 'name' || type === 'state' || type === 'unread';
  }

  /** The whole text so far. */
  get text(): string {
    if (this.#pieces.length > 1) this.#pieces = [this.#pieces.join('')];
    return this.#pieces[0] ?? '';
  }

  append(text: string): void {
    this.#pieces.push(text);
    this.#recent += text;
    this.length += text.length;
  }

  /** Returns the text from an offset on. @param from at most `RECENT` characters before `safeTo` */
  textFrom(from: number): string {
    const least = this.safeTo - RECENT;
    if (least - this.#recentFrom > RECENT) {
      this.#recent = this.#recent.slice(least - this.#recentFrom);
      this.#recentFrom = least;
    }
    return this.#recent.slice(from - this.#recentFrom);
  }

  get kind(): GuardTextKind {
    if (this.type === 'tool-call') return 'tool_arguments';
    if (this.type === 'state') return 'reasoning';
    if (this.type === 'unread') return 'other';
    return this.type === 'refusal' ? 'text' : this.type;
  }
}

/** A choice of an answer that has ended. */
export interface EndedChoice {
  readonly choice: number;
  /** Why the choice ended; null if the answer broke off. */
  readonly reason: FinishReason | null;
  /** The texts of the choice. */
  readonly channels: readonly Channel[];
}

/** A piece of a channel. */
interface Piece {
  readonly channel: Channel;
  readonly from: number;
  readonly to: number;
  /** The part with the text of the piece; null if the text is in no part that can change. */
  readonly part: StreamPart | null;
}

/** Parts that are shown together: an event with the parts that were read from it, or one part. */
interface Unit {
  readonly parts: readonly StreamPart[];
  readonly pieces: readonly Piece[];
}

/**
 * Holds parts of an answer back until their texts are safe to show, and shows them in their order. Whole parts are held back, so an event of a
 * passed-through answer stays together with its parts.
 */
export abstract class HeldParts {
  readonly #queue: Unit[] = [];
  readonly #open = new Map<string, Channel>();
  /** The channels of each choice that has not finished. */
  readonly #choices = new Map<number, Channel[]>();

  /**
   * Called when the text of a channel has grown, or is over. Sets `safeTo` and `edits`.
   * @param isOver whether no further text of the channel follows
   */
  protected abstract grow(channel: Channel, isOver: boolean): void;
  /** Whether a name or a thought is over as soon as something else follows it. Otherwise it is over when its choice finishes. */
  protected abstract get endsEarly(): boolean;
  /** Called before the channels of a choice are over. */
  protected abstract finish(ended: EndedChoice): Awaitable<void>;
  /** Whether the rest of an answer that broke off is never shown. */
  protected get dropsBroken(): boolean {
    return false;
  }

  /** Ends everything that is in progress, because no reader waits for it. */
  leave(): void {}

  /** Adds a batch of parts. Returns the parts that may be shown now. Call it again only once it has returned them. */
  add(parts: readonly StreamPart[]): Awaitable<readonly StreamPart[]> {
    const finished: Omit<EndedChoice, 'channels'>[] = [];
    for (let at = 0; at < parts.length; ) {
      const end = unitEnd(parts, at);
      const unit = parts.slice(at, end);
      this.#queue.push({ parts: unit, pieces: unit.flatMap((part) => this.#piecesOf(part)) });
      for (const part of unit) if (part.type === 'finish') finished.push(part);
      at = end;
    }
    for (const channel of this.#open.values()) if (!channel.isOver) this.grow(channel, false);
    return whenReady(this.#finish(finished), () => this.#release());
  }

  /** Ends all texts. Returns the rest of the parts. */
  end(): Awaitable<readonly StreamPart[]> {
    const broken = [...this.#choices.keys()].map((choice) => ({ choice, reason: null }));
    if (broken.length > 0 && this.dropsBroken) return [];
    return whenReady(this.#finish(broken), () => this.#release());
  }

  /** Finishes choices, one after the other. */
  #finish([ended, ...others]: readonly Omit<EndedChoice, 'channels'>[]): Awaitable<void> {
    if (ended === undefined) return;
    const { choice, reason } = ended;
    const channels = this.#choices.get(choice) ?? [];
    this.#choices.delete(choice);
    return whenReady(this.finish({ choice, reason, channels }), () => {
      for (const channel of channels) this.#close(channel);
      for (const [key, channel] of this.#open) if (channel.choice === choice) this.#open.delete(key);
      return this.#finish(others);
    });
  }

  #close(channel: Channel): void {
    if (channel.isOver) return;
    this.grow(channel, true);
    channel.safeTo = channel.length;
    channel.isOver = true;
  }

  #release(): readonly StreamPart[] {
    const shown: StreamPart[] = [];
    let count = 0;
    for (; this.#queue[count]?.pieces.every(isSafe); count++) {
      for (const part of editedUnit(this.#queue[count]!)) shown.push(part);
    }
    if (count > 0) this.#queue.splice(0, count);
    return shown;
  }

  #piecesOf(part: StreamPart): readonly Piece[] {
    switch (part.type) {
      case 'text':
      case 'refusal':
      case 'reasoning':
        return [this.#piece(this.#channel(part.type, part), part.text, part)];
      case 'tool-call': {
        const pieces = part.name === undefined ? [] : [this.#piece(new Channel('name', part.choice), part.name, null)];
        const call = this.#channel(part.type, part, part.index);
        call.tool += part.name ?? '';
        return [...pieces, this.#piece(call, part.arguments, part)];
      }
      case 'state':
        return [this.#piece(this.#channel('state', part), stateText(part.details, part.extra), null)];
      case 'unread':
        return [this.#piece(this.#channel('unread', part), part.unread.texts.join(''), null)];
      case 'passthrough':
        return part.unread ? [this.#piece(this.#channel('unread', part), part.unread.texts.join(''), null)] : [];
      default:
        return [];
    }
  }

  #piece(channel: Channel, text: string, part: StreamPart | null): Piece {
    const from = channel.length;
    channel.append(text);
    // Thoughts that are passed through are signed.
    if (part?.type === 'reasoning' && part.place) channel.isFixed = true;
    if (channel.type === 'name') {
      this.#choices.getOrInsertComputed(channel.choice, () => []).push(channel);
      if (this.endsEarly) this.#close(channel);
    }
    return { channel, from, to: channel.length, part };
  }

  #channel(type: ChannelType, { choice }: { readonly choice: number }, index = 0): Channel {
    // Thoughts end where the answer begins. Text may continue after anything else.
    if (this.endsEarly && (type === 'text' || type === 'tool-call')) {
      for (const passing of ['reasoning', 'state', 'unread'] as const) {
        const key = `${passing} ${choice} 0`;
        const channel = this.#open.get(key);
        if (channel) this.#close(channel);
        this.#open.delete(key);
      }
    }
    return this.#open.getOrInsertComputed(`${type} ${choice} ${index}`, () => {
      const made = new Channel(type, choice);
      this.#choices.getOrInsertComputed(choice, () => []).push(made);
      return made;
    });
  }
}

/** Returns the end of the unit that begins at an index: an event with its parts, or a single part. */
function unitEnd(parts: readonly StreamPart[], at: number): number {
  let end = at + 1;
  if (parts[at]!.type !== 'passthrough') return end;
  while (end < parts.length && parts[end]!.type !== 'passthrough') end++;
  return end;
}

const isSafe = ({ channel, to }: Piece): boolean => channel.isOver || (channel.safeTo > 0 && to <= channel.safeTo);

function editedUnit({ parts, pieces }: Unit): readonly StreamPart[] {
  if (pieces.every(({ channel }) => channel.edits.length === 0)) return parts;
  return withTexts(parts, (part, text) => {
    const piece = pieces.find((one) => one.part === part);
    return piece ? editedPiece(piece, text) : text;
  });
}

/** Returns the text of a piece with the edits of its channel. The new text of an edit is in the piece where the edit begins. */
function editedPiece({ channel, from, to }: Piece, text: string): string {
  let out = '';
  let at = from;
  for (let index = firstEdit(channel, from); index < channel.edits.length; index++) {
    const edit = channel.edits[index]!;
    if (edit.from >= to) break;
    if (edit.from >= from) out += text.slice(at - from, edit.from - from) + edit.value;
    at = Math.min(edit.to, to);
  }
  return out + text.slice(at - from);
}

/** Returns the index of the first edit that ends after an offset. */
export function firstEdit({ edits }: Channel, offset: number): number {
  let [low, high] = [0, edits.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edits[middle]!.to <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Members of state that are no text. */
const OPAQUE: ReadonlySet<string> = new Set([
  'data',
  'format',
  'id',
  'index',
  'signature',
  'thought_signature',
  'type',
]);

/** Returns the readable texts of state. */
function stateText(details: readonly Members[] = [], extra: Members = {}): string {
  const texts: string[] = [];
  const visit = (value: unknown, name: string): void => {
    if (typeof value === 'string') {
      if (!OPAQUE.has(name)) texts.push(value);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, member] of Object.entries(value)) visit(member, Array.isArray(value) ? name : key);
    }
  };
  visit(details, '');
  visit(extra, '');
  return texts.join('');
}
