import type { StreamPart } from '../../contract/parts.ts';
import { AnswerMark } from '../prompt/answer-mark.ts';

/** A change of an answer between the attempt that receives it and its caller. */
export interface AnswerRewrite {
  /** Whether the caller has all of the answer, though its service still writes. */
  readonly isOver: boolean;
  /** A figure of the answer as its caller has seen it. */
  readonly mark: number;
  /** Returns what the caller may see of the next parts. */
  read(parts: readonly StreamPart[]): readonly StreamPart[];
}

/**
 * Turns the text of an answer in a JSON schema into the call of the function that has the schema. An answer that is cut or
 * refused keeps its finish reason.
 */
export class ForcedCall implements AnswerRewrite {
  readonly isOver = false;
  readonly #name: string;
  readonly #id: string;
  readonly #mark = new AnswerMark();
  /** The choices whose call has begun. */
  readonly #begun = new Set<number>();

  /** @param name of the function. @param id the begin of the call’s ID, unique to the answer; the index of the choice follows */
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
      // The events of the service say text; the surface writes the call from the other parts.
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
