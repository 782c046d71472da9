import type { PassedPart } from '../../contract/parts.ts';
import type { Receipt } from '../../core/decision/answer.ts';
import { isObject, listOf } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import { isImpossible, plainUsage, type Usage } from '../../core/money/usage.ts';
import { wrapState } from '../../core/request/wrapped-state.ts';
import { serverSentEvent } from '../server-sent-events.ts';
import { CUT, usageMembers, wholeUsage } from './members.ts';

/** @param json the event as its provider wrote it */
const text = (type: unknown, event: object, json = JSON.stringify(event)): string =>
  serverSentEvent(String(type), json);

/**
 * Passes on the events of an answer in this dialect unchanged, except for a usage that cannot be true. The event with the end reason waits
 * for the receipt.
 */
export class PassedEvents {
  readonly #usage: PassedUsage;
  #end: Members | null = null;
  /** The open block, and whether its signature is still missing. */
  #open: { readonly index: unknown; isUnsigned: boolean } | null = null;

  /** @param inputTokens expected input tokens */
  constructor(inputTokens: number) {
    this.#usage = new PassedUsage(inputTokens);
  }

  add(part: PassedPart): string {
    if (this.#usage.accepts(part)) return this.#add(part.event, part.json);
    return this.#add(this.#usage.correct(part.event));
  }

  /** @param json the event as its provider wrote it, on one line */
  #add(event: Members, json?: string): string {
    switch (event.type) {
      case 'message':
        return this.#whole(event);
      case 'message_delta': {
        // An event without a stop reason has an interim usage, and the answer continues.
        if (Object(event.delta).stop_reason == null) break;
        const before = this.#end;
        this.#end = event;
        return before ? text('message_delta', before) : '';
      }
      case 'message_stop':
        return '';
      case 'content_block_start':
        this.#open = { index: event.index, isUnsigned: Object(event.content_block).type === 'thinking' };
        break;
      case 'content_block_delta':
        if (this.#open && Object(event.delta).type === 'signature_delta') this.#open.isUnsigned = false;
        break;
      case 'content_block_stop':
        this.#open = null;
    }
    return text(event.type, event, json);
  }

  /**
   * Returns the end of the answer without `message_stop`. If Signalbox cut the answer because the money for more output was missing, this
   * class creates the end.
   */
  end(usage: Usage, platform: Receipt['platform']): string {
    if (this.#end) {
      const counted = this.#usage.isReplaced && { usage: usageMembers(usage, platform.estimated) };
      return text('message_delta', { ...this.#end, ...counted, platform });
    }
    const delta = {
      type: 'message_delta',
      delta: { ...CUT, container: null },
      usage: usageMembers(usage, true),
      platform,
    };
    return this.#closing() + text('message_delta', delta);
  }

  #closing(): string {
    if (this.#open === null) return '';
    const { index, isUnsigned } = this.#open;
    const signature = { type: 'signature_delta', signature: wrapState({}) };
    const signed = isUnsigned
      ? text('content_block_delta', { type: 'content_block_delta', index, delta: signature })
      : '';
    return signed + text('content_block_stop', { type: 'content_block_stop', index });
  }

  /** Returns the events of a message that the provider sent as one body although the request wanted a stream. */
  #whole(message: Members): string {
    const { content, stop_reason, stop_sequence, stop_details, usage } = message;
    const delta = { stop_reason, stop_sequence, stop_details };
    const begun = {
      ...message,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: stop_details === undefined ? undefined : null,
    };
    let out = text('message_start', { type: 'message_start', message: begun });
    for (const [index, block] of listOf(content).entries()) {
      if (isObject(block)) for (const event of eventsOfBlock(block, index)) out += text(event.type, event);
    }
    this.#end = { type: 'message_delta', delta, usage };
    return out;
  }
}

function eventsOfBlock(block: Members, index: number): Members[] {
  const delta = (members: Members): Members => ({ type: 'content_block_delta', index, delta: members });
  const start = (members: Members): Members => ({ type: 'content_block_start', index, content_block: members });
  const stop: Members = { type: 'content_block_stop', index };
  switch (block.type) {
    case 'text':
      return [start({ ...block, text: '' }), delta({ type: 'text_delta', text: block.text }), stop];
    case 'thinking':
      return [
        start({ ...block, thinking: '', signature: '' }),
        delta({ type: 'thinking_delta', thinking: block.thinking }),
        delta({ type: 'signature_delta', signature: block.signature }),
        stop,
      ];
    case 'tool_use':
      return [
        start({ ...block, input: {} }),
        delta({ type: 'input_json_delta', partial_json: JSON.stringify(block.input ?? {}) }),
        stop,
      ];
    default:
      return [start(block), stop];
  }
}

/** The usage that the caller sees for an answer that is passed on unchanged. */
class PassedUsage {
  /**
   * Whether the gateway left out a usage that cannot be true. If the gateway left out a usage, the end of the answer states the whole usage
   * that was charged.
   */
  isReplaced = false;
  /** The last plausible usage of the answer. */
  #soFar: Usage;

  /** @param inputTokens expected input tokens */
  constructor(inputTokens: number) {
    this.#soFar = plainUsage(inputTokens, 0);
  }

  /** Records the usage of an event. Returns whether the usage of the event is plausible or missing. */
  accepts({ usage }: PassedPart): boolean {
    const isOdd = isImpossible(usage);
    this.isReplaced ||= isOdd;
    if (usage && !isOdd) this.#soFar = usage;
    return !isOdd;
  }

  /** Returns the event with the last plausible usage instead of its own usage. */
  correct(event: Members): Members {
    if (event.type === 'message_start')
      return { ...event, message: { ...Object(event.message), usage: wholeUsage(this.#soFar, true) } };
    return { ...event, usage: usageMembers(this.#soFar, true) };
  }
}
