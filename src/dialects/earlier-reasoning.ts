import type { Members } from '../core/json/original.ts';
import { unwrapState } from '../core/request/wrapped-state.ts';

/** The reasoning of an earlier answer in the neutral form, collected from the items or blocks that contained it. */
export class EarlierReasoning {
  /** The reasoning as text, which any model can read. */
  text = '';
  readonly details: Members[] = [];
  /** The provider's state of its tool calls, by call ID. */
  readonly calls = new Map<string, Members>();
  #extra: Members | null = null;

  /** Whether the reasoning has state that only the model that wrote it can read. */
  get hasState(): boolean {
    return this.details.length > 0 || this.#extra !== null;
  }

  /** Reads reasoning state that Signalbox wrote into a text for a caller of another dialect, and adds it to the conversation. Returns false if the text contains no such state. */
  unwrap(text: string): boolean {
    const state = unwrapState(text);
    if (!state) return false;
    for (const detail of state.details ?? []) this.details.push(detail);
    this.#extra = state.extra ?? this.#extra;
    for (const id in state.calls) this.calls.set(id, state.calls[id]!);
    return true;
  }

  /** Returns the extra members of the turn. @param own the extra members of its message */
  extrasBeside(own: Members): Members {
    if (this.text === '' && !this.hasState) return own;
    return {
      ...own,
      ...(this.text !== '' && { reasoning_content: this.text }),
      ...(this.details.length > 0 && { reasoning_details: this.details }),
      ...(this.#extra && { extra_content: this.#extra }),
    };
  }
}
