import { expect } from 'bun:test';
import { isObject, type Json, listOf, objectOf, textOf } from '../../plugins/providers/json.ts';

/** A message as a careful client assembles it from events. */
export interface FoldedMessage {
  readonly message: Json;
  readonly content: readonly Json[];
  readonly platform: unknown;
}

/** Returns the events in the text of a stream. The name of each event is its type. */
export function eventsIn(text: string): Json[] {
  const frames = text.split('\n\n');
  expect(frames.pop()).toBe('');
  return frames.map((frame) => {
    const [, name, data = ''] = /^event: (\w+)\ndata: ([^\n]*)$/.exec(frame) ?? [];
    const event: unknown = JSON.parse(data);
    if (!isObject(event)) throw new Error(`not an object: ${data}`);
    expect<unknown>(event.type).toBe(name);
    return event;
  });
}

/** The type of delta for each type of block. Unknown blocks accept unknown deltas. */
const DELTAS: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  redacted_thinking: [],
};

interface OpenBlock {
  readonly type: string;
  readonly draft: Record<string, unknown>;
  json: string;
  isSigned: boolean;
}

/**
 * Assembles the events of one complete message, and checks the rules that clients enforce: one message; blocks one after another, with
 * indexes without gaps; deltas of the type of their block; a signature at the end of a thought; one end.
 */
export class MessageFold {
  #message: Json | null = null;
  readonly #content: Json[] = [];
  #open: OpenBlock | null = null;
  #end: Json | null = null;
  #isOver = false;

  add(event: Json): void {
    if (event.type === 'ping') return;
    expect(this.#isOver).toBe(false);
    if (event.type === 'message_start') {
      expect(this.#message).toBeNull();
      this.#message = objectOf(event.message);
      expect(this.#message).toMatchObject({ type: 'message', role: 'assistant', content: [], stop_reason: null });
      return;
    }
    expect(this.#message).not.toBeNull();
    if (event.type === 'message_stop') {
      expect(this.#end).not.toBeNull();
      this.#isOver = true;
    } else if (event.type === 'message_delta') {
      // Some services report usage before the answer is complete.
      if (objectOf(event.delta).stop_reason === null) return;
      expect(this.#open).toBeNull();
      expect(this.#end).toBeNull();
      this.#end = event;
    } else this.#block(event);
  }

  end(): FoldedMessage {
    expect(this.#isOver).toBe(true);
    const { delta, usage, platform } = this.#end ?? {};
    const message = {
      ...this.#message,
      ...objectOf(delta),
      usage: { ...objectOf(this.#message?.usage), ...objectOf(usage) },
    };
    return { message: { ...message, content: this.#content }, content: this.#content, platform };
  }

  #block(event: Json): void {
    expect(this.#end).toBeNull();
    expect<unknown>(event.index).toBe(this.#content.length);
    const open = this.#open;
    switch (event.type) {
      case 'content_block_start': {
        expect(open).toBeNull();
        const draft = { ...objectOf(event.content_block) };
        this.#open = { type: textOf(draft.type), draft, json: '', isSigned: false };
        return;
      }
      case 'content_block_delta':
        if (!open) throw new Error('a delta without a block');
        grow(open, objectOf(event.delta));
        return;
      case 'content_block_stop':
        if (!open) throw new Error('an end without a block');
        if (open.type === 'thinking') expect(open.isSigned).toBe(true);
        if (open.json !== '') open.draft.input = parsed(open.json);
        this.#content.push(open.draft);
        this.#open = null;
        return;
      default:
        throw new Error(`an unknown event: ${String(event.type)}`);
    }
  }
}

function grow(open: OpenBlock, delta: Json): void {
  const type = textOf(delta.type);
  expect(DELTAS[open.type] ?? [type]).toContain(type);
  expect(open.isSigned).toBe(false);
  const { draft } = open;
  if (type === 'input_json_delta') open.json += textOf(delta.partial_json);
  else if (type === 'signature_delta') {
    draft.signature = delta.signature;
    open.isSigned = true;
  } else if (type === 'citations_delta') draft.citations = [...listOf(draft.citations), delta.citation];
  else {
    const name = type === 'text_delta' ? 'text' : 'thinking';
    draft[name] = textOf(draft[name]) + textOf(delta[name]);
  }
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : { INVALID_JSON: text };
  } catch {
    return { INVALID_JSON: text };
  }
}

/** Returns the message of a complete stream that follows all rules. */
export function foldedMessage(text: string): FoldedMessage {
  const fold = new MessageFold();
  for (const event of eventsIn(text)) fold.add(event);
  return fold.end();
}
