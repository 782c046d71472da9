import { type Static, Type } from '@sinclair/typebox';
import type { StreamPart } from '../contract/parts.ts';
import { shown } from './law.ts';

/** What an answer says, of its first choice. What is left out is not looked at. */
export const Expected = Type.Object(
  {
    text: Type.Optional(Type.String()),
    reasoning: Type.Optional(Type.String()),
    refusal: Type.Optional(Type.String()),
    finish: Type.Optional(Type.String({ description: '`stop`, `length`, `tool_calls` or `content_filter`.' })),
    tool_calls: Type.Optional(Type.Array(Type.Object({ name: Type.String(), arguments: Type.String() }))),
    input_tokens: Type.Optional(Type.Integer({ minimum: 0 })),
    cached_input_tokens: Type.Optional(Type.Integer({ minimum: 0 })),
    output_tokens: Type.Optional(Type.Integer({ minimum: 0 })),
    reasoning_tokens: Type.Optional(Type.Integer({ minimum: 0 })),
    failure: Type.Optional(Type.String({ description: 'The kind of a failure that the answer tells.' })),
  },
  { additionalProperties: false },
);
export type Expected = Static<typeof Expected>;

/** A real answer, as it was recorded. */
export interface Sample {
  readonly name: string;
  /** `reply`: a body that came in one piece. */
  readonly kind: 'reply' | 'stream';
  readonly text: string;
  /** Null where nobody said what it should come to. */
  readonly expect: Expected | null;
}

/** What parts say, in the words of `Expected`. */
function said(parts: readonly StreamPart[]): Expected {
  const words = (type: 'text' | 'reasoning' | 'refusal') =>
    parts.map((part) => (part.type === type && part.choice === 0 ? part.text : '')).join('');
  const calls: { name: string; arguments: string }[] = [];
  let more: Expected = {};
  for (const part of parts) {
    if (part.type === 'usage') {
      const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = part.usage;
      more = { ...more, input_tokens: inputTokens, cached_input_tokens: cachedInputTokens };
      more = { ...more, output_tokens: outputTokens, reasoning_tokens: reasoningTokens };
    } else if (part.type === 'failure') more = { ...more, failure: part.failure.kind };
    else if (part.choice === 0 && part.type === 'finish') more = { ...more, finish: part.reason };
    else if (part.choice === 0 && part.type === 'tool-call') {
      calls[part.index] ??= { name: '', arguments: '' };
      const call = calls[part.index]!;
      call.name += part.name ?? '';
      call.arguments += part.arguments;
    }
  }
  return { text: words('text'), reasoning: words('reasoning'), refusal: words('refusal'), tool_calls: calls, ...more };
}

/** How an answer differs from what it should come to; null where it does not. */
export function expectationFault(parts: readonly StreamPart[], expect: Expected): string | null {
  const found: Readonly<Record<string, unknown>> = said(parts);
  for (const [name, value] of Object.entries(expect)) {
    const [is, should] = [shown(found[name]), shown(value)];
    if (JSON.stringify(found[name]) !== JSON.stringify(value)) return `its ${name} is ${is}, not ${should}`;
  }
  return null;
}
