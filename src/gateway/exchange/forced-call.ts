import type { StreamPart } from '../../contract/parts.ts';
import { AnswerMark } from '../prompt/answer-mark.ts';

/** Changes an answer after an attempt receives it and before the caller gets it. */
export interface AnswerRewrite {
  /** Whether the caller has the complete answer, although the provider still writes. */
  readonly isOver: boolean;
  /** A number that changes with each change of what the caller has received. */
  readonly mark: number;
  /** Returns the next parts of the answer in the form that the caller may see. */
  read(parts: readonly StreamPart[]): readonly StreamPart[];
}

/**
 * Turns an answer that follows a JSON schema into a call of the function that has this schema. An answer that is cut off or refused keeps
 * its finish reason.
 */
export class ForcedCall implements AnswerRewrite {
  readonly isOver = false;
  readonly #name: string;
  readonly #id: string;
  readonly #mark = new AnswerMark();
  /** The choices whose function call has begun. */
  readonly #begun = new Set<number>();

  /**
   * @param name the name of the function
   * @param id the start of the call’s ID, unique to the answer; the index of the choice follows
   */
  constructor(name: string, id: string) {
    this.#name = name;
    this.#id = id;
  }

  get mark(): number {
    return this.#mark.value;
  }

  read(parts: readonly StreamPart[]): readonly StreamPart[] {
    const seen: StreamPart[] = [];
    for (const part of parts) {
      // The provider's own events contain text, so they are omitted; the surface writes the function call from the other parts.
      if (part.type !== 'passthrough') seen.push(this.#rewritten(part));
    }
    for (const part of seen) this.#mark.add(part);
    return seen;
  }

  #rewritten(part: StreamPart): StreamPart {
    if (part.type === 'text') return this.#call(part.choice, part.text);
    const isCalled = part.type === 'finish' && part.reason === 'stop' && this.#begun.has(part.choice);
    return isCalled ? { ...part, reason: 'tool_calls' } : part;
  }

  #call(choice: number, text: string): StreamPart {
    if (this.#begun.has(choice)) return { type: 'tool-call', choice, index: 0, arguments: text };
    this.#begun.add(choice);
    return { type: 'tool-call', choice, index: 0, id: `${this.#id}_${choice}`, name: this.#name, arguments: text };
  }
}
