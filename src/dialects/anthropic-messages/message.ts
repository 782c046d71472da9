import type { StreamPart } from '../../contract/parts.ts';
import { type AnswerIdentity, type Receipt, servedTierIn } from '../../core/decision/answer.ts';
import { inputOf } from '../../core/json/object.ts';
import type { AnswerWriter } from '../surface.ts';
import { AnswerBlocks, type BlockStart, type BlockStep, isBlockPart } from './answer-blocks.ts';
import { type FinishReport, messageHead, stopMembers, wholeUsage } from './members.ts';
import { PassedMessage } from './passed-message.ts';

/** Combines the parts of an answer into one `message`. */
export class MessageWriter implements AnswerWriter {
  readonly #identity: AnswerIdentity;
  readonly #blocks = new AnswerBlocks();
  readonly #content: { readonly start: BlockStart; text: string; signature: string }[] = [];
  #finish: FinishReport = { reason: 'stop' };
  /** The answer as its provider sent it; null if this class writes the answer. */
  #passed: PassedMessage | null = null;

  constructor(identity: AnswerIdentity) {
    this.#identity = identity;
  }

  write(parts: readonly StreamPart[]): string {
    const steps: BlockStep[] = [];
    for (const part of parts) {
      if (part.type === 'passthrough') {
        this.#passed ??= new PassedMessage();
        this.#passed.add(part);
      } else if (part.type === 'finish' && part.choice === 0) this.#finish = part;
      else if (this.#passed === null && isBlockPart(part)) this.#blocks.add(part, steps);
    }
    this.#gather(steps);
    return '';
  }

  end({ usage, platform }: Receipt): string {
    if (this.#passed) return JSON.stringify({ ...this.#passed.end(usage, platform.estimated), platform });
    const steps: BlockStep[] = [];
    this.#blocks.end(steps);
    this.#gather(steps);
    return JSON.stringify({
      ...messageHead(this.#identity),
      content: this.#content.map(blockOf),
      ...stopMembers(this.#finish, this.#blocks),
      usage: wholeUsage(usage, platform.estimated, servedTierIn(platform)),
      platform,
    });
  }

  #gather(steps: readonly BlockStep[]): void {
    for (const step of steps) {
      if (step.type === 'start') this.#content.push({ start: step.block, text: '', signature: '' });
      else if (step.type === 'add') this.#content.at(-1)!.text += step.piece;
      else if (step.type === 'sign') this.#content.at(-1)!.signature = step.signature;
    }
  }
}

function blockOf({ start, text, signature }: { start: BlockStart; text: string; signature: string }): object {
  switch (start.type) {
    case 'text':
      return { type: 'text', text };
    case 'thinking':
      return { type: 'thinking', thinking: text, signature };
    case 'redacted_thinking':
      return start;
    case 'tool_use':
      return { type: 'tool_use', id: start.id, name: start.name, input: inputOf(text), caller: { type: 'direct' } };
  }
}
