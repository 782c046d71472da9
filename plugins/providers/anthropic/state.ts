import type { ChatMessage, Members } from 'signalbox/plugin';
import { isObject, listOf, textOf } from '../json.ts';
import type { Block } from './cache.ts';

/** How Anthropic's signed thoughts are called in `reasoning_details`. */
const FORMAT = 'anthropic-claude-v1';

/** A thought as the API gave it, and what stood before it in its message: the API refuses one that was moved. */
export interface Thought {
  readonly block: Block;
  /** Characters of text. */
  readonly chars: number;
  /** Calls of tools. */
  readonly calls: number;
}

export const isThought = ({ type }: Block): boolean => type === 'thinking' || type === 'redacted_thinking';

/** `index` counts the thoughts of one answer. */
export function detailOf({ block, chars, calls }: Thought, index: number): Members {
  // Clients keep an ID as it is, and often nothing that they do not know.
  const common = { format: FORMAT, index, id: `thought-${index}-${chars}-${calls}` };
  return block.type === 'thinking'
    ? { type: 'reasoning.text', text: block.thinking, signature: block.signature, ...common }
    : { type: 'reasoning.encrypted', data: block.data, ...common };
}

/** The thoughts that come back with a message, whichever gateway gave them to the caller. */
export function thoughtsIn(message: ChatMessage): Thought[] {
  const { reasoning_details: details, thinking_blocks: blocks }: Members = message;
  const thoughts = thoughtsOf(listOf(details));
  if (thoughts.length > 0) return thoughts;
  return listOf(blocks)
    .filter(isObject)
    .filter(isThought)
    .map((block) => ({ block, chars: 0, calls: 0 }));
}

function thoughtsOf(details: readonly unknown[]): Thought[] {
  const thoughts: Thought[] = [];
  // Some gateways give a thought in pieces, the last one with its signature.
  let text = '';
  for (const detail of details) {
    if (!isObject(detail) || detail.format !== FORMAT) continue;
    const signature = textOf(detail.signature);
    const data = textOf(detail.data);
    if (detail.type === 'reasoning.text') text += textOf(detail.text);
    if (detail.type === 'reasoning.text' && signature !== '') {
      thoughts.push({ block: { type: 'thinking', thinking: text, signature }, ...placeIn(detail.id) });
      text = '';
    } else if (detail.type === 'reasoning.encrypted' && data !== '') {
      thoughts.push({ block: { type: 'redacted_thinking', data }, ...placeIn(detail.id) });
    }
  }
  return thoughts;
}

function placeIn(id: unknown): { readonly chars: number; readonly calls: number } {
  const [, chars = 0, calls = 0] = /^thought-\d+-(\d+)-(\d+)$/.exec(textOf(id)) ?? [];
  return { chars: Number(chars), calls: Number(calls) };
}
