import { SharedValues } from '../../core/json/shared-values.ts';
import type { Turn } from '../../core/request/conversation.ts';
import type { ProfileInput } from './input.ts';
import { expressionsOf } from './lexicon/data.ts';
import file from './lexicon/progress.json' with { type: 'json' };
import type { PromptReader } from './prompt-reader.ts';
import { textHash } from './text-hash.ts';
import { nativeArguments, nativeOutput, type ToolArguments } from './tool-call.ts';
import type { ToolResult } from './tool-result.ts';

const { waits: WAITS, reads: READS } = expressionsOf(file);

/** A call of a tool. */
export interface Call {
  /** A hash of the tool's name. */
  readonly tool: number;
  readonly args: ToolArguments;
  /** Whether the call waits for something, so that it may be repeated. */
  readonly waits: boolean;
  /** Whether the tool reads the state of something, so that the result decides whether it waits. */
  readonly reads: boolean;
}

/** The calls of shared turns by their IDs, and the results with the IDs of their calls. */
const knownCalls = new SharedValues<Turn, readonly IdentifiedCall[]>();
const knownResults = new SharedValues<Turn, IdentifiedResult>();
type IdentifiedCall = readonly [id: string, Call];
type IdentifiedResult = readonly [id: string, ToolResult];

/** Returns the calls of an assistant's turn, with their IDs. */
export function callsOf(turn: Turn, request: ProfileInput, reader: PromptReader): readonly IdentifiedCall[] {
  const known = knownCalls.get(turn);
  if (known !== undefined) return known;
  const calls: IdentifiedCall[] = [];
  for (const part of turn.parts) {
    if (part.type === 'tool-call') calls.push([part.id, callOf(part.name, part.arguments, reader)]);
    else if (part.type === 'native') {
      const original = request.originalAt(part.at);
      const text = nativeArguments(original);
      if (text !== '') calls.push([callIdOf(original), callOf(part.kind, text, reader)]);
    }
  }
  return knownCalls.set(turn, calls);
}

function callOf(name: string, text: string, reader: PromptReader): Call {
  const args = reader.toolArguments(text);
  return {
    tool: textHash(name),
    args,
    waits: args.waits || WAITS.test(name),
    reads: READS.test(name),
  };
}

function callIdOf(original: unknown): string {
  if (typeof original !== 'object' || original === null) return '';
  if ('call_id' in original && typeof original.call_id === 'string') return original.call_id;
  return 'id' in original && typeof original.id === 'string' ? original.id : '';
}

/** Returns the ID of the call that a turn answers, and the result. */
export function resultOf(turn: Turn, request: ProfileInput, reader: PromptReader): IdentifiedResult {
  const known = knownResults.get(turn);
  if (known !== undefined) return known;
  const [id, text] = resultText(turn, request);
  return knownResults.set(turn, [id, reader.toolResult(text)]);
}

function resultText({ parts, toolCallId }: Turn, request: ProfileInput): readonly [string, string] {
  let text = '';
  for (const part of parts) {
    if (part.type === 'text') text = text === '' ? part.text : `${text}\n${part.text}`;
    else if (part.type === 'native' && toolCallId === undefined) {
      const original = request.originalAt(part.at);
      return [callIdOf(original), nativeOutput(original)];
    }
  }
  return [toolCallId ?? '', text];
}
