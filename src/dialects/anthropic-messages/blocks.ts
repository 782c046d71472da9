import { NO_EXTRAS } from '../../core/api/extras.ts';
import { isObject } from '../../core/json/object.ts';
import type { Members, OriginalPath } from '../../core/json/original.ts';
import type { ContentPart, ToolCallPart } from '../../core/request/conversation.ts';
import { nativePart } from '../neutral-parts.ts';
import type { MessageBlock, ResultBlock } from './request.ts';

type Block = MessageBlock | ResultBlock;
type Of<Tag extends string> = Extract<Block, { type: Tag }>;

const OF_TEXT: readonly string[] = ['type', 'text'];
const OF_CALL: readonly string[] = ['type', 'id', 'name', 'input'];
const OF_IMAGE: readonly string[] = ['type', 'source'];
const OF_DOCUMENT: readonly string[] = ['type', 'source', 'title'];
/** The known members of a document whose text becomes a part without a title. */
const OF_TEXTS: readonly string[] = ['type', 'source'];

/**
 * Reads a block of a message or of a tool result. Returns no part for thinking blocks, because thinking is state of the turn.
 * @param calls `extra_content` of the message's tool calls, by ID
 */
export function blockParts(block: Block, at: OriginalPath, calls?: ReadonlyMap<string, Members>): ContentPart[] {
  switch (block.type) {
    case 'text': {
      const { text } = block;
      return [{ type: 'text', text, at, valueAt: [...at, 'text'], extras: extrasOfBlock(block, OF_TEXT) }];
    }
    case 'tool_use':
      return [callPart(block, at, calls)];
    case 'image':
      return [imagePart(block, at)];
    case 'document':
      return documentParts(block, at);
    case 'thinking':
    case 'redacted_thinking':
      return [];
    default:
      return [nativePart(block.type, at)];
  }
}

function callPart(block: Of<'tool_use'>, at: OriginalPath, calls?: ReadonlyMap<string, Members>): ToolCallPart {
  const { id, name, input } = block;
  const own = extrasOfBlock(block, OF_CALL);
  const state = calls?.get(id);
  return {
    type: 'tool-call',
    id,
    name,
    arguments: JSON.stringify(input ?? {}),
    at,
    valueAt: [...at, 'input'],
    extras: state ? { ...own, extra_content: state } : own,
  };
}

function imagePart(block: Of<'image'>, at: OriginalPath): ContentPart {
  const { source } = block;
  const extras = extrasOfBlock(block, OF_IMAGE);
  switch (source.type) {
    case 'base64': {
      const url = `data:${source.media_type};base64,${source.data}`;
      return { type: 'image', url, at, valueAt: [...at, 'source', 'data'], extras };
    }
    case 'url':
      return { type: 'image', url: source.url, at, valueAt: [...at, 'source', 'url'], extras };
    case 'file':
      return nativePart('image', at);
  }
}

function documentParts(block: Of<'document'>, at: OriginalPath): ContentPart[] {
  const { source, title } = block;
  const isText = source.type === 'text' || source.type === 'content';
  const extras = extrasOfBlock(block, isText ? OF_TEXTS : OF_DOCUMENT);
  const name = title == null ? {} : { name: title };
  const place = [...at, 'source'];
  switch (source.type) {
    case 'base64': {
      const data = `data:${source.media_type};base64,${source.data}`;
      return [{ type: 'file', data, ...name, at, valueAt: [...place, 'data'], extras }];
    }
    case 'text':
      return [{ type: 'text', text: source.data, at, valueAt: [...place, 'data'], extras }];
    case 'content': {
      const { content } = source;
      if (typeof content === 'string') {
        return [{ type: 'text', text: content, at, valueAt: [...place, 'content'], extras }];
      }
      const parts = content.flatMap((inner, i) => blockParts(inner, [...place, 'content', i]));
      return extras === NO_EXTRAS ? parts : withExtras(parts, extras, at);
    }
    case 'url':
      return [
        nativePart('document', at),
        { type: 'file', url: source.url, ...name, at, valueAt: [...place, 'url'], extras },
      ];
    case 'file':
      return [nativePart('document', at), { type: 'file', ...name, at, valueAt: place, extras }];
  }
}

/** Adds the other members of a document to the first of its parts. */
function withExtras([first, ...rest]: readonly ContentPart[], extras: Members, at: OriginalPath): ContentPart[] {
  return first === undefined
    ? [nativePart('document', at)]
    : [{ ...first, at, extras: { ...first.extras, ...extras } }, ...rest];
}

/** Returns the members that have no neutral name, except empty members, which answers often contain. */
function extrasOfBlock(block: object, known: readonly string[]): Members {
  let extras: Record<string, unknown> | null = null;
  for (const name in block) {
    if (known.includes(name)) continue;
    const value: unknown = Reflect.get(block, name);
    if (value == null || (name === 'caller' && isObject(value) && value.type === 'direct')) continue;
    extras ??= {};
    // An assignment to `__proto__` would change the prototype instead of adding a member.
    Object.defineProperty(extras, name, { value, enumerable: true, configurable: true });
  }
  return extras ?? NO_EXTRAS;
}
