import type { Members } from '../../core/original.ts';
import { isWrappedState } from '../../core/wrapped-state.ts';
import { EarlierReasoning } from '../earlier-reasoning.ts';
import type { MessageBlock } from './request.ts';

/** The `format` of Anthropic's signed thoughts in `reasoning_details`. */
const FORMAT = 'anthropic-claude-v1';

/** Reads the blocks of thoughts: other models' state in them is unwrapped, Anthropic's own becomes details. */
export function earlierReasoning(content: readonly MessageBlock[]): EarlierReasoning {
  const earlier = new EarlierReasoning();
  let chars = 0;
  let callsBefore = 0;
  for (const block of content) {
    if (block.type === 'text') chars += block.text.length;
    else if (block.type === 'tool_use') callsBefore++;
    if (block.type !== 'thinking' && block.type !== 'redacted_thinking') continue;
    const opaque = block.type === 'thinking' ? block.signature : block.data;
    if (block.type === 'thinking') earlier.text += block.thinking;
    if (earlier.unwrap(opaque) || opaque === '' || isWrappedState(opaque)) continue;
    const index = earlier.details.length;
    // The adapters' mark of its place: Anthropic refuses a thought that was moved.
    earlier.details.push(detailOf(block, { format: FORMAT, index, id: `thought-${index}-${chars}-${callsBefore}` }));
  }
  return earlier;
}

type ThoughtBlock = Extract<MessageBlock, { type: 'thinking' | 'redacted_thinking' }>;

const detailOf = (block: ThoughtBlock, common: Members): Members =>
  block.type === 'thinking'
    ? { type: 'reasoning.text', text: block.thinking, signature: block.signature, ...common }
    : { type: 'reasoning.encrypted', data: block.data, ...common };
