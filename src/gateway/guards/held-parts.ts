import type { FinishReason, StreamPart } from '../../contract/parts.ts';
import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import type { SignalboxError } from '../../core/errors.ts';
import type { Members } from '../../core/json/original.ts';
import { withTexts } from '../exchange/edited-parts.ts';
import { Channel, type ChannelType, firstEdit } from './channel.ts';

/** Thrown when an answer ends here, because a guard blocks it or because no memory is left for it. */
export class AnswerBlocked extends Error {
  readonly error: SignalboxError;
  constructor(error: SignalboxError) {
    super(error.message);
    this.error = error;
  }
}

/** The memory for what is held back of an answer, or kept of it. */
export interface HeldRoom {
  /** Reserves memory, or releases it if `bytes` is negative. @returns false if there is no memory */
  take(bytes: number): boolean;
  /** Returns the error of an answer without memory. */
  error(): SignalboxError;
}

/** Memory is reserved in these steps, bytes. Less is not counted, so that a guard that holds only a window back reserves nothing. */
const RESERVE_STEP = 65_536;

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
  /** The estimated memory, bytes. */
  readonly bytes: number;
}

/** The memory of a part that is held back, in addition to its text, bytes. */
const PART_BYTES = 512;

/**
 * Holds parts of an answer back until their texts are safe to show, and shows them in their order. Whole parts are held back, so an event of a
 * passed-through answer stays together with its parts.
 */
export abstract class HeldParts {
  readonly #queue: Unit[] = [];
  readonly #open = new Map<string, Channel>();
  /** The channels of each choice that has not finished, without channels that were over before. */
  readonly #choices = new Map<number, Channel[]>();
  /** Absent if the memory is not counted, because something else counts the whole answer. */
  readonly #room: HeldRoom | undefined;
  /** The estimated memory of the parts that are held back and of the texts that are kept, and what is reserved for them, bytes. */
  #bytes = 0;
  #reserved = 0;
  /** Whether the first event that is passed on has the mark of an answer that may be edited. */
  #hasMarked = false;
  /** The channels that the latest batch of parts has ended. */
  #ended: Channel[] = [];

  constructor(room?: HeldRoom) {
    this.#room = room;
  }

  /**
   * Called when the text of a channel has grown, or is over. Sets `safeTo` and `edits`.
   * @param isOver whether no further text of the channel follows
   */
  protected abstract grow(channel: Channel, isOver: boolean): Awaitable<void>;
  /** Whether a name or a thought is over as soon as something else follows it. Otherwise it is over when its choice finishes. */
  protected abstract get endsEarly(): boolean;
  /** Called before the channels of a choice are over. */
  protected abstract finish(ended: EndedChoice): Awaitable<void>;
  /** Whether a text is inspected when it is complete, so that the whole text is kept. */
  protected abstract keeps(type: ChannelType): boolean;
  /** Whether a complete text is inspected as JSON. */
  protected isJson(type: ChannelType): boolean {
    return type === 'tool-call';
  }
  /** Whether parts wait until their texts are safe to show. Otherwise they are shown at once. */
  protected get holdsBack(): boolean {
    return true;
  }
  /** Whether the rest of an answer that broke off is never shown. */
  protected get dropsBroken(): boolean {
    return false;
  }
  /** Called if there is no memory for more of the answer. */
  protected crowded(room: HeldRoom): void {
    throw new AnswerBlocked(room.error());
  }

  /** Ends everything that is in progress, because no reader waits for it. */
  leave(): void {}

  /** Adds a batch of parts. Returns the parts that may be shown now. Call it again only once it has returned them. */
  add(parts: readonly StreamPart[]): Awaitable<readonly StreamPart[]> {
    const finished: Omit<EndedChoice, 'channels'>[] = [];
    for (let at = 0; at < parts.length; ) {
      const end = unitEnd(parts, at);
      this.#take(parts.slice(at, end));
      at = end;
    }
    for (const part of parts) if (part.type === 'finish') finished.push(part);
    this.#reserve();
    const ended = this.#ended.values();
    if (this.#ended.length > 0) this.#ended = [];
    return whenReady(this.#closeAll(ended), () =>
      whenReady(this.#growAll(this.#open.values()), () =>
        whenReady(this.#finish(finished), () => (this.holdsBack ? this.#release() : this.#passed(parts))),
      ),
    );
  }

  #growAll(channels: Iterator<Channel, undefined>): Awaitable<void> {
    for (let next = channels.next(); !next.done; next = channels.next()) {
      const growing = next.value.isOver ? undefined : this.grow(next.value, false);
      if (growing instanceof Promise) return growing.then(() => this.#growAll(channels));
    }
  }

  /** Ends all texts. Returns the rest of the parts. */
  end(): Awaitable<readonly StreamPart[]> {
    const broken = [...this.#choices.keys()].map((choice) => ({ choice, reason: null }));
    if (broken.length > 0 && this.dropsBroken) return [];
    return whenReady(this.#finish(broken), () => this.#release());
  }

  #take(given: readonly StreamPart[]): void {
    const parts = this.#hasMarked || !this.holdsBack ? given : this.#marked(given);
    const pieces = parts.flatMap((part) => this.#piecesOf(part));
    if (!this.holdsBack) return;
    const bytes = this.#room ? parts.reduce((sum, part) => sum + bytesOf(part), 0) : 0;
    this.#queue.push({ parts, pieces, bytes });
    this.#bytes += bytes;
  }

  /** Marks the first event that is passed on, so that later events repeat only texts that were inspected. */
  #marked([first, ...others]: readonly StreamPart[]): readonly StreamPart[] {
    if (first?.type !== 'passthrough') return first ? [first, ...others] : [];
    this.#hasMarked = true;
    return [{ ...first, mayBeEdited: true }, ...others];
  }

  #reserve(): void {
    const room = this.#room;
    const bytes = this.#bytes - (this.#bytes % RESERVE_STEP);
    if (!room || bytes === this.#reserved) return;
    if (room.take(bytes - this.#reserved)) this.#reserved = bytes;
    else this.crowded(room);
  }

  /** Forgets all texts. */
  protected forget(): void {
    this.#open.clear();
    this.#choices.clear();
    this.#ended = [];
    this.#room?.take(-this.#reserved);
    this.#bytes = 0;
    this.#reserved = 0;
  }

  /** Finishes choices, one after the other. */
  #finish([ended, ...others]: readonly Omit<EndedChoice, 'channels'>[]): Awaitable<void> {
    if (ended === undefined) return;
    const { choice, reason } = ended;
    const channels = this.#choices.get(choice) ?? [];
    this.#choices.delete(choice);
    return whenReady(this.finish({ choice, reason, channels }), () => {
      return whenReady(this.#closeAll(channels.values()), () => {
        for (const channel of channels) if (channel.isWhole) this.#bytes -= channel.length;
        for (const [key, channel] of this.#open) if (channel.choice === choice) this.#open.delete(key);
        return this.#finish(others);
      });
    });
  }

  #closeAll(channels: Iterator<Channel, undefined>): Awaitable<void> {
    for (let next = channels.next(); !next.done; next = channels.next()) {
      const channel = next.value;
      if (channel.isOver) continue;
      const closing = whenReady(this.grow(channel, true), () => {
        channel.safeTo = channel.length;
        channel.isOver = true;
      });
      if (closing instanceof Promise) return closing.then(() => this.#closeAll(channels));
    }
  }

  /** Ends a channel whose choice goes on. */
  #endEarly(channel: Channel): void {
    this.#ended.push(channel);
    const channels = this.#choices.get(channel.choice);
    channels?.splice(channels.indexOf(channel), 1);
  }

  #release(): readonly StreamPart[] {
    const shown: StreamPart[] = [];
    let count = 0;
    for (; this.#queue[count]?.pieces.every(isSafe); count++) {
      const unit = this.#queue[count]!;
      for (const part of editedUnit(unit)) shown.push(part);
      for (const { channel, to } of unit.pieces) channel.shownTo = to;
      this.#bytes -= unit.bytes;
    }
    if (count > 0) this.#queue.splice(0, count);
    return this.#passed(shown);
  }

  #passed(shown: readonly StreamPart[]): readonly StreamPart[] {
    for (const channel of this.#open.values()) channel.forget();
    return shown;
  }

  #piecesOf(part: StreamPart): readonly Piece[] {
    switch (part.type) {
      case 'text':
      case 'refusal':
      case 'reasoning':
        return [this.#piece(this.#channel(part.type, part), part.text, part)];
      case 'tool-call': {
        const pieces = part.name === undefined ? [] : [this.#complete('name', part.choice, part.name)];
        const call = this.#channel(part.type, part, part.index);
        call.tool += part.name ?? '';
        return [...pieces, this.#piece(call, part.arguments, part)];
      }
      case 'state':
        return [this.#piece(this.#channel('state', part), stateText(part.details, part.extra), null)];
      case 'unread':
        return [this.#piece(this.#channel('unread', part), part.unread.texts.join(''), null)];
      case 'passthrough':
        if (!part.unread) return [];
        if (PIECE.test(String(part.event.type)))
          return [this.#piece(this.#channel('unread', part), part.unread.texts.join(''), null)];
        return part.unread.texts.map((text) => this.#complete('unread', part.choice, text));
      default:
        return [];
    }
  }

  #piece(channel: Channel, text: string, part: StreamPart | null): Piece {
    const from = channel.length;
    channel.append(text);
    if (channel.isWhole) this.#bytes += text.length;
    // Thoughts that are passed through are signed.
    if (part?.type === 'reasoning' && part.place) channel.isFixed = true;
    return { channel, from, to: channel.length, part };
  }

  /** Adds a text that is complete and that nothing continues. */
  #complete(type: ChannelType, choice: number, text: string): Piece {
    const channel = this.#made(type, choice);
    const piece = this.#piece(channel, text, null);
    if (this.endsEarly) this.#endEarly(channel);
    return piece;
  }

  #channel(type: ChannelType, { choice }: { readonly choice: number }, index = 0): Channel {
    // Thoughts end where the answer begins. Text may continue after anything else.
    if (this.endsEarly && (type === 'text' || type === 'tool-call')) {
      for (const passing of ['reasoning', 'state', 'unread'] as const) {
        const key = `${passing} ${choice} 0`;
        const channel = this.#open.get(key);
        if (channel) this.#endEarly(channel);
        this.#open.delete(key);
      }
    }
    return this.#open.getOrInsertComputed(`${type} ${choice} ${index}`, () => this.#made(type, choice));
  }

  #made(type: ChannelType, choice: number): Channel {
    const channel = new Channel(type, choice, { isWhole: this.keeps(type), isJson: this.isJson(type) });
    this.#choices.getOrInsertComputed(choice, () => []).push(channel);
    return channel;
  }
}

/** The types of events that are passed on and that continue a text. */
const PIECE = /delta$/;

/** Returns the end of the unit that begins at an index: an event with its parts, or a single part. */
function unitEnd(parts: readonly StreamPart[], at: number): number {
  let end = at + 1;
  if (parts[at]!.type !== 'passthrough') return end;
  while (end < parts.length && parts[end]!.type !== 'passthrough') end++;
  return end;
}

/** Estimates the memory of a part that is held back. */
function bytesOf(part: StreamPart): number {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      return PART_BYTES + part.text.length;
    case 'tool-call':
      return PART_BYTES + part.arguments.length;
    case 'passthrough':
      return PART_BYTES + (part.json ?? JSON.stringify(part.event)).length;
    default:
      return PART_BYTES + JSON.stringify(part).length;
  }
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
