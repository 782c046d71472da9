import type { PassedPart } from '../../contract/parts.ts';
import { inputOf, isObject, listOf, objectOf, textOf } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import { isImpossible, type Usage } from '../../core/money/usage.ts';
import { wrapState } from '../../core/request/wrapped-state.ts';
import { CUT, usageMembers, wholeUsage } from './members.ts';

type Draft = Record<string, unknown>;

/** Combines the events of an answer in this dialect into one message. A complete message counts as one event. */
export class PassedMessage {
  #message: Draft = {};
  #usage: Draft = {};
  readonly #content: Draft[] = [];
  /** The JSON texts of tool inputs that arrived in pieces. */
  readonly #inputs = new Map<Draft, string>();
  readonly #citations = new Map<Draft, unknown[]>();
  #isWhole = false;
  /** Whether the provider reported a usage that cannot be true. */
  #isMiscounted = false;

  add({ event, usage }: PassedPart): void {
    this.#isMiscounted ||= isImpossible(usage);
    switch (event.type) {
      case 'message':
        this.#message = { ...event };
        this.#isWhole = true;
        return;
      case 'message_start':
        this.#message = { ...objectOf(event.message) };
        this.#usage = { ...objectOf(this.#message.usage) };
        return;
      case 'content_block_start':
        if (isObject(event.content_block)) this.#content.push({ ...event.content_block });
        return;
      case 'content_block_delta': {
        const block = this.#content[Number(event.index)];
        if (block && isObject(event.delta)) this.#grow(block, event.delta);
        return;
      }
      case 'message_delta':
        this.#finish(event);
    }
  }

  /**
   * Returns the message. If Signalbox cut the answer, or the provider's usage cannot be true, the message states the usage that was
   * charged.
   */
  end(usage: Usage, estimated: boolean): Members {
    const message = this.#ended(usage);
    return this.#isMiscounted ? { ...message, usage: wholeUsage(usage, estimated) } : message;
  }

  #ended(usage: Usage): Members {
    if (this.#isWhole) return this.#message;
    for (const [block, text] of this.#inputs) block.input = inputOf(text);
    for (const [block, citations] of this.#citations) block.citations = citations;
    const message: Draft = { ...this.#message, content: this.#content };
    if (message.stop_reason != null) return message;
    const last = this.#content.at(-1);
    if (last?.type === 'thinking' && textOf(last.signature) === '') last.signature = wrapState({});
    return { ...message, ...CUT, usage: { ...objectOf(message.usage), ...usageMembers(usage, true) } };
  }

  /** Adds a piece to a content block. Texts of a block grow by the piece, and a signature arrives as a whole. */
  #grow(block: Draft, delta: Members): void {
    for (const [name, value] of Object.entries(delta)) {
      if (name === 'type') continue;
      if (name === 'partial_json') this.#inputs.set(block, (this.#inputs.get(block) ?? '') + textOf(value));
      else if (name === 'citation') this.#citationsOf(block).push(value);
      else block[name] = name !== 'signature' && typeof value === 'string' ? textOf(block[name]) + value : value;
    }
  }

  #citationsOf(block: Draft): unknown[] {
    const known = this.#citations.get(block);
    if (known) return known;
    const citations = [...listOf(block.citations)];
    this.#citations.set(block, citations);
    return citations;
  }

  #finish({ type: _, delta, usage, ...others }: Members): void {
    Object.assign(this.#message, others, objectOf(delta));
    if (isObject(usage)) for (const name in usage) if (usage[name] !== null) this.#usage[name] = usage[name];
    this.#message.usage = this.#usage;
  }
}
