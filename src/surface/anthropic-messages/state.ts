import type { Members } from '../../core/original.ts';
import { isWrappedState, unwrapState } from '../../core/wrapped-state.ts';
import type { MessageBlock } from './request.ts';

/** The `format` of Anthropic's signed thoughts in `reasoning_details`. */
const FORMAT = 'anthropic-claude-v1';

/** The thoughts of an earlier answer, in the neutral form. */
export interface EarlierReasoning {
  /** State of its tool calls, by their IDs. */
  readonly calls: ReadonlyMap<string, Members>;
  /** The extras of its turn. */
  readonly extras: Members;
}

/** Reads the blocks of thoughts: other models' state in them is unwrapped, Anthropic's own becomes details. */
export function earlierReasoning(content: readonly MessageBlock[], own: Members): EarlierReasoning {
  let text = '';
  let extra: Members | undefined;
  const calls = new Map<string, Members>();
  const details: Members[] = [];
  let chars = 0;
  let callsBefore = 0;
  for (const block of content) {
    if (block.type === 'text') chars += block.text.length;
    else if (block.type === 'tool_use') callsBefore++;
    if (block.type !== 'thinking' && block.type !== 'redacted_thinking') continue;
    const opaque = block.type === 'thinking' ? block.signature : block.data;
    if (block.type === 'thinking') text += block.thinking;
    const unwrapped = unwrapState(opaque);
    if (unwrapped) {
      for (const detail of unwrapped.details ?? []) details.push(detail);
      extra = unwrapped.extra ?? extra;
      for (const id in unwrapped.calls) calls.set(id, unwrapped.calls[id]!);
    } else if (opaque !== '' && !isWrappedState(opaque)) {
      const index = details.length;
      // The adapters' mark of its place: Anthropic refuses a thought that was moved.
      details.push(detailOf(block, { format: FORMAT, index, id: `thought-${index}-${chars}-${callsBefore}` }));
    }
  }
  if (text === '' && details.length === 0 && extra === undefined) return { calls, extras: own };
  const extras = {
    ...own,
    ...(text !== '' && { reasoning_content: text }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(extra && { extra_content: extra }),
  };
  return { calls, extras };
}

type ThoughtBlock = Extract<MessageBlock, { type: 'thinking' | 'redacted_thinking' }>;

const detailOf = (block: ThoughtBlock, common: Members): Members =>
  block.type === 'thinking'
    ? { type: 'reasoning.text', text: block.thinking, signature: block.signature, ...common }
    : { type: 'reasoning.encrypted', data: block.data, ...common };
