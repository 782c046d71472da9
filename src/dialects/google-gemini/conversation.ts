import { NO_EXTRAS } from '../../core/api/extras.ts';
import type { Members, OriginalPath } from '../../core/json/original.ts';
import type { ContentPart, Conversation, ToolCallPart, Turn } from '../../core/request/conversation.ts';
import { EarlierReasoning } from '../earlier-reasoning.ts';
import { textPart } from '../neutral-parts.ts';
import { blobPart, imageAt } from './media.ts';
import type { Content, FunctionResponse, GenerateRequest, Part } from './request.ts';
import { googleState, wrappedText } from './signature.ts';
import { choiceOf, toolsOf } from './tools.ts';

/** The calls of the last answer, which the next function responses answer. */
class OpenCalls {
  readonly #ids = new Set<string>();
  /** The IDs of the calls of each function, in order, and how many of them were answered or passed over. */
  readonly #ofName = new Map<string, { readonly ids: string[]; next: number }>();

  constructor(turn: Turn | null) {
    for (const part of turn?.parts ?? []) {
      if (part.type !== 'tool-call') continue;
      this.#ids.add(part.id);
      this.#ofName.getOrInsertComputed(part.name, () => ({ ids: [], next: 0 })).ids.push(part.id);
    }
  }

  /** Returns the ID of the call that a response answers: the call with its ID, else the first open call of its function. */
  take({ id, name }: FunctionResponse): string {
    if (id && this.#ids.delete(id)) return id;
    const named = this.#ofName.get(name);
    for (let next = named?.ids[named.next]; named && next !== undefined; next = named.ids[named.next]) {
      named.next++;
      if (this.#ids.delete(next)) return next;
    }
    return id || `call_${name}`;
  }
}

/** Reads the contents, the system instruction, the tools and the calling mode. */
export function conversationOf(body: GenerateRequest): Conversation {
  const { contents, systemInstruction: system, generationConfig: config } = body;
  const turns: Turn[] = [];
  if (system?.parts?.length) turns.push(systemTurn(system.parts, ['systemInstruction']));
  let open = new OpenCalls(null);
  for (let index = 0; index < contents.length; index++) {
    const content = contents[index]!;
    const at = ['contents', index];
    if (content.role === 'model') {
      const first = index;
      // Python's library keeps each piece of a stream as a content of its own.
      while (contents[index + 1]?.role === 'model') index++;
      const turn = modelTurn(contents.slice(first, index + 1), first);
      turns.push(turn);
      if (turn.parts.some(({ type }) => type === 'tool-call')) open = new OpenCalls(turn);
    } else if (content.role === 'system') turns.push(systemTurn(content.parts ?? [], at));
    else addUserTurns(content, at, open, turns);
  }
  const { thinkingConfig: thinking } = config ?? {};
  return {
    turns,
    tools: toolsOf(body),
    toolChoice: choiceOf(body),
    ...(thinking && { asksForThinking: thinking.includeThoughts === true }),
  };
}

const systemTurn = (parts: readonly Pick<Part, 'text'>[], at: OriginalPath): Turn => ({
  role: 'system',
  parts: parts.flatMap(({ text }, i) => (text === undefined ? [] : [textPart(text, [...at, 'parts', i, 'text'])])),
  extras: NO_EXTRAS,
  at,
});

/** Reads an answer from neighbouring contents. @param first the index of the first content */
function modelTurn(contents: readonly Content[], first: number): Turn {
  const parts = contents.flatMap(({ parts: own = [] }, nth) =>
    own.map((part, i) => ({ part, at: ['contents', first + nth, 'parts', i] })),
  );
  const earlier = new EarlierReasoning();
  /** Google's signature of a text, as other dialects have it on a message. */
  let ofText: Members = NO_EXTRAS;
  for (const { part } of parts) {
    const { thoughtSignature: signature, thought, text, functionCall } = part;
    if (thought && text !== undefined) earlier.text += text;
    if (signature === undefined) continue;
    const wrapped = wrappedText(signature);
    if (wrapped !== null) earlier.unwrap(wrapped);
    else if (!functionCall) ofText = googleState(signature);
  }
  const read = parts.flatMap(({ part, at }): ContentPart[] => {
    if (part.functionCall) return [callPart(part, at, earlier.calls)];
    if (part.inlineData) return [blobPart(part.inlineData, [...at, 'inlineData'])];
    if (part.thought || part.text === undefined || part.text === '') return [];
    return [textPart(part.text, [...at, 'text'])];
  });
  const [at, ...alsoAt] = contents.map((_, nth) => ['contents', first + nth]);
  const extras = earlier.extrasBeside(ofText);
  return { role: 'assistant', parts: read, extras, at: at ?? [], ...(alsoAt.length > 0 && { alsoAt }) };
}

/** Calls of models before Gemini 3 have no ID. The place of a call is the same in every request of its conversation. */
const callId = ({ functionCall }: Part, at: OriginalPath): string =>
  functionCall?.id || `call_${at[1]}_${at[at.length - 1]}`;

function callPart(part: Part, at: OriginalPath, states: ReadonlyMap<string, Members>): ToolCallPart {
  const { functionCall: call, thoughtSignature: signature } = part;
  const id = callId(part, at);
  const own = signature !== undefined && wrappedText(signature) === null ? googleState(signature).extra_content : null;
  const state = own ?? states.get(id);
  return {
    type: 'tool-call',
    id,
    name: call?.name ?? '',
    arguments: JSON.stringify(call?.args ?? {}),
    at,
    valueAt: [...at, 'functionCall', 'args'],
    extras: state ? { extra_content: state } : NO_EXTRAS,
  };
}

/** Adds the turns of a user's content. Each function response becomes a turn of its own; its media follow with the user's own parts. */
function addUserTurns({ parts = [] }: Content, at: OriginalPath, open: OpenCalls, turns: Turn[]): void {
  const media: ContentPart[] = [];
  const said: ContentPart[] = [];
  for (const [i, part] of parts.entries()) {
    const place = [...at, 'parts', i];
    if (part.functionResponse) {
      turns.push(resultTurn(part.functionResponse, place, open.take(part.functionResponse)));
      for (const [n, { inlineData }] of (part.functionResponse.parts ?? []).entries())
        if (inlineData) media.push(blobPart(inlineData, [...place, 'functionResponse', 'parts', n, 'inlineData']));
    } else if (part.inlineData) said.push(blobPart(part.inlineData, [...place, 'inlineData']));
    else if (part.fileData) said.push(imageAt(part.fileData.fileUri, [...place, 'fileData', 'fileUri']));
    else if (part.text !== undefined) said.push(textPart(part.text, [...place, 'text']));
  }
  const rest = [...media, ...said];
  if (rest.length > 0 || parts.length === 0) turns.push({ role: 'user', parts: rest, extras: NO_EXTRAS, at });
}

function resultTurn({ response = {} }: FunctionResponse, at: OriginalPath, toolCallId: string): Turn {
  const place = [...at, 'functionResponse', 'response'];
  const output: unknown = Reflect.get(response, 'output');
  // A text in `output` is the form of a plain text.
  const isText = typeof output === 'string' && Object.keys(response).length === 1;
  const part = isText ? textPart(output, [...place, 'output']) : textPart(JSON.stringify(response), place);
  return { role: 'tool', toolCallId, parts: [part], extras: NO_EXTRAS, at };
}
