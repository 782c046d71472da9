import type { Members, Turn } from 'signalbox/plugin';
import { isObject, listOf, textOf } from '../json.ts';
import type { Block } from './cache.ts';

/** The `format` of Anthropic's signed thinking in `reasoning_details`. */
const FORMAT = 'anthropic-claude-v1';

/** A thinking block as the API returned it, and its position in the message. The API rejects a thinking block that was moved. */
export interface Thought {
  readonly block: Block;
  /** The number of characters of text before the thinking block. */
  readonly chars: number;
  /** The number of tool calls before the thinking block. */
  readonly calls: number;
}

export const isThought = ({ type }: Block): boolean => type === 'thinking' || type === 'redacted_thinking';

/** @param index the number of the thinking block in the answer */
export function detailOf({ block, chars, calls }: Thought, index: number): Members {
  // The ID contains the position of the thinking block, because clients keep IDs but often drop unknown members.
  const common = { format: FORMAT, index, id: `thought-${index}-${chars}-${calls}` };
  return block.type === 'thinking'
    ? { type: 'reasoning.text', text: block.thinking, signature: block.signature, ...common }
    : { type: 'reasoning.encrypted', data: block.data, ...common };
}

/** Returns the thinking blocks in a turn, in the form of Signalbox or of other gateways. */
export function thoughtsIn({ extras }: Turn): Thought[] {
  const { reasoning_details: details, thinking_blocks: blocks } = extras;
  const thoughts = thoughtsOf(listOf(details));
  if (thoughts.length > 0) return thoughts;
  return listOf(blocks)
    .filter(isObject)
    .filter(isThought)
    .map((block) => ({ block, chars: 0, calls: 0 }));
}

function thoughtsOf(details: readonly unknown[]): Thought[] {
  const thoughts: Thought[] = [];
  // Some gateways split a thinking block and sign only the last piece.
  let text = '';
  for (const detail of details) {
    if (!isObject(detail) || detail.format !== FORMAT) continue;
    const signature = textOf(detail.signature);
    const data = textOf(detail.data);
    if (detail.type === 'reasoning.text') text += textOf(detail.text);
    if (detail.type === 'reasoning.text' && signature !== '') {
      thoughts.push({ block: { type: 'thinking', thinking: text, signature }, ...positionIn(detail.id) });
      text = '';
    } else if (detail.type === 'reasoning.encrypted' && data !== '') {
      thoughts.push({ block: { type: 'redacted_thinking', data }, ...positionIn(detail.id) });
    }
  }
  return thoughts;
}

function positionIn(id: unknown): { readonly chars: number; readonly calls: number } {
  const [, chars = 0, calls = 0] = /^thought-\d+-(\d+)-(\d+)$/.exec(textOf(id)) ?? [];
  return { chars: Number(chars), calls: Number(calls) };
}
