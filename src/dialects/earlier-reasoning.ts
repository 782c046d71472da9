import type { Members } from '../core/original.ts';
import { unwrapState } from '../core/wrapped-state.ts';

/** The reasoning of an earlier answer, gathered from what bore it, in the neutral form. */
export class EarlierReasoning {
  /** The text that any model can read. */
  text = '';
  readonly details: Members[] = [];
  /** State of its tool calls, by their IDs. */
  readonly calls = new Map<string, Members>();
  #extra: Members | null = null;

  /** Whether there is state that only a model can read. */
  get hasState(): boolean {
    return this.details.length > 0 || this.#extra !== null;
  }

  /** Adds the state of another dialect in a text; returns false for a text of another kind. */
  unwrap(text: string): boolean {
    const state = unwrapState(text);
    if (!state) return false;
    for (const detail of state.details ?? []) this.details.push(detail);
    this.#extra = state.extra ?? this.#extra;
    for (const id in state.calls) this.calls.set(id, state.calls[id]!);
    return true;
  }

  /** Returns the extras of its turn. @param own those of its message */
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
