import type { UnmaskPlace } from '../../core/policy/guards.ts';
import { type AnswerText, changeTexts, isFixedText, textsOfChannel } from './answer-texts.ts';
import type { Channel, ChannelType } from './channel.ts';
import { type EndedChoice, HeldParts, type HeldRoom } from './held-parts.ts';
import { PLACEHOLDER, PLACEHOLDER_MAX, type Placeholders } from './placeholders.ts';

/** The beginning of a text that may become a placeholder. */
const BEGINNING = /^\[[a-z0-9-]*(?::[a-p]*)?$/;

/** Replaces the placeholders of a request in its answer with their values. Other texts in the form of a placeholder stay. */
export class UnmaskedParts extends HeldParts {
  readonly #places: ReadonlySet<UnmaskPlace>;
  readonly #placeholders: Placeholders;

  /** @param places the places in which any placeholder becomes a value */
  constructor(places: readonly UnmaskPlace[], placeholders: Placeholders, room?: HeldRoom) {
    super(room);
    this.#places = new Set(places);
    this.#placeholders = placeholders;
  }

  protected get endsEarly(): boolean {
    return true;
  }

  protected keeps(type: ChannelType): boolean {
    return type === 'tool-call' && this.#places.has('tool_arguments');
  }

  protected grow(channel: Channel, isOver: boolean): void {
    const { type, safeTo } = channel;
    if (type === 'tool-call' && this.#places.has('tool_arguments')) return;
    if (type !== 'text' || !this.#places.has('text')) {
      channel.safeTo = Number.POSITIVE_INFINITY;
      return;
    }
    const text = channel.textFrom(safeTo);
    for (const { index, 0: placeholder } of text.matchAll(PLACEHOLDER)) {
      const value = this.#placeholders.valueAt('text', placeholder);
      const from = safeTo + index;
      if (value !== null) channel.edits.push({ from, to: from + placeholder.length, value });
    }
    const last = isOver ? -1 : text.lastIndexOf('[');
    const isOpen = last >= 0 && text.length - last < PLACEHOLDER_MAX && BEGINNING.test(text.slice(last));
    channel.safeTo = safeTo + (isOpen ? last : text.length);
  }

  protected finish({ channels }: EndedChoice): void {
    if (!this.#places.has('tool_arguments')) return;
    const changed = new Map<AnswerText, string>();
    for (const channel of channels) {
      if (channel.type !== 'tool-call') continue;
      for (const text of textsOfChannel(channel, channel.text)) {
        const value = text.text.replace(PLACEHOLDER, (one) => this.#placeholders.valueAt('tool_arguments', one) ?? one);
        if (value !== text.text && !isFixedText(text)) changed.set(text, value);
      }
    }
    changeTexts(changed);
  }
}
