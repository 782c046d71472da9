import type { StreamPart } from '../../contract/parts.ts';
import { type AnswerIdentity, type Receipt, servedTierIn } from '../../core/decision/answer.ts';
import type { SignalboxError } from '../../core/errors.ts';
import { isPlausible, plainUsage, type Usage } from '../../core/money/usage.ts';
import { serverSentEvent, serverSentEvents } from '../server-sent-events.ts';
import type { EventWriter } from '../surface.ts';
import { AnswerBlocks, type BlockStart, type BlockStep, isBlockPart } from './answer-blocks.ts';
import { errorBody } from './error.ts';
import { type FinishReport, messageHead, stopMembers, tierMembers, usageMembers, wholeUsage } from './members.ts';
import { PassedEvents } from './passed-events.ts';

const STOP = serverSentEvent('message_stop', '{"type":"message_stop"}');

/**
 * Converts parts to server-sent events, as text. The event with the end reason contains the receipt, so the writer waits for the receipt.
 */
export class MessageEvents implements EventWriter {
  readonly #identity: AnswerIdentity;
  readonly #blocks = new AnswerBlocks();
  #finish: FinishReport = { reason: 'stop' };
  /**
   * The input tokens that were last reported before the first content, or the expected input tokens until then. The last event contains the
   * whole usage.
   */
  #usage: Usage;
  #hasBegun = false;
  /** The index of the block that began last. */
  #index = -1;
  #open: BlockStart['type'] = 'text';
  /** The events from the answer's own provider; null if this class creates the events. */
  #passed: PassedEvents | null = null;

  constructor(identity: AnswerIdentity) {
    this.#identity = identity;
    this.#usage = plainUsage(identity.inputTokens ?? 0, 0);
  }

  write(parts: readonly StreamPart[]): string {
    let out = '';
    const steps: BlockStep[] = [];
    for (const part of parts) {
      if (part.type === 'passthrough') {
        this.#passed ??= new PassedEvents(this.#identity.inputTokens ?? 0);
        out += this.#passed.add(part);
      } else if (part.type === 'usage') {
        // Some clients add the output tokens at the end of an answer to the output tokens at its start.
        if (!this.#hasBegun && part.usage && isPlausible(part.usage))
          this.#usage = { ...part.usage, outputTokens: 0, reasoningTokens: 0 };
      } else if (part.type === 'finish') {
        if (part.choice === 0) this.#finish = part;
      } else if (this.#passed === null && isBlockPart(part)) {
        out += this.#begin();
        this.#blocks.add(part, steps);
      }
    }
    return steps.length === 0 ? out : out + this.#text(steps);
  }

  end({ usage, platform }: Receipt): string {
    if (this.#passed) return this.#passed.end(usage, platform) + STOP;
    const steps: BlockStep[] = [];
    const began = this.#begin();
    this.#blocks.end(steps);
    const delta = {
      type: 'message_delta',
      delta: { ...stopMembers(this.#finish, this.#blocks), container: null },
      usage: { ...usageMembers(usage, platform.estimated), ...tierMembers(servedTierIn(platform)) },
      platform,
    };
    return began + this.#text(steps) + serverSentEvent('message_delta', JSON.stringify(delta)) + STOP;
  }

  /** No event follows an error event, so the message stays open. */
  error(error: SignalboxError, platform: Receipt['platform'] | null): string {
    return serverSentEvent('error', JSON.stringify({ ...errorBody(error), ...(platform && { platform }) }));
  }

  #begin(): string {
    if (this.#hasBegun) return '';
    this.#hasBegun = true;
    const message = {
      ...messageHead(this.#identity),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      usage: wholeUsage(this.#usage, true),
    };
    return serverSentEvent('message_start', JSON.stringify({ type: 'message_start', message }));
  }

  #text(steps: readonly BlockStep[]): string {
    let out = '';
    for (const step of steps) {
      switch (step.type) {
        case 'start':
          this.#index++;
          this.#open = step.block.type;
          out += serverSentEvent(
            'content_block_start',
            `{"type":"content_block_start","index":${this.#index},"content_block":${startText(step.block)}}`,
          );
          break;
        case 'add':
          out += this.#delta(DELTAS[this.#open], step.piece);
          break;
        case 'sign':
          out += this.#delta('{"type":"signature_delta","signature":', step.signature);
          break;
        case 'stop':
          out += serverSentEvent('content_block_stop', `{"type":"content_block_stop","index":${this.#index}}`);
      }
    }
    return out;
  }

  #delta(head: string, value: string): string {
    const json = `{"type":"content_block_delta","index":${this.#index},"delta":${head}${JSON.stringify(value)}}}`;
    return serverSentEvent('content_block_delta', json);
  }
}

/** The beginning of a delta, by the type of its block. */
const DELTAS: Readonly<Record<BlockStart['type'], string>> = {
  text: '{"type":"text_delta","text":',
  thinking: '{"type":"thinking_delta","thinking":',
  tool_use: '{"type":"input_json_delta","partial_json":',
  // A redacted thinking block has no deltas.
  redacted_thinking: '',
};

function startText(block: BlockStart): string {
  switch (block.type) {
    case 'text':
      return '{"type":"text","text":""}';
    case 'thinking':
      return '{"type":"thinking","thinking":"","signature":""}';
    case 'redacted_thinking':
      return JSON.stringify(block);
    case 'tool_use':
      return JSON.stringify({ ...block, input: {}, caller: { type: 'direct' } });
  }
}

/** Named server-sent events. The heartbeat of the stream is a `ping` event. */
export const MESSAGE_EVENTS = serverSentEvents(
  (identity) => new MessageEvents(identity),
  serverSentEvent('ping', '{"type":"ping"}'),
);
