import { type Static, Type } from '@sinclair/typebox';
import type { StreamPart } from '../../contract/parts.ts';
import { figureOf } from '../../core/money/usage.ts';
import { shortJson } from './law.ts';

/** The expected first choice of an answer. Members that are absent are not compared. */
export const ExpectedAnswer = Type.Object(
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
    failure: Type.Optional(Type.String({ description: 'The kind of the failure that the answer reports.' })),
  },
  { additionalProperties: false },
);
export type ExpectedAnswer = Static<typeof ExpectedAnswer>;

/** A recorded answer of a provider. */
export interface Sample {
  readonly name: string;
  /** `reply`: a body that is not streamed. */
  readonly kind: 'reply' | 'stream';
  readonly text: string;
  /** Null if nothing is expected. */
  readonly expect: ExpectedAnswer | null;
}

/** The first choice of an answer in the form of `ExpectedAnswer`. */
function summarize(parts: readonly StreamPart[]): ExpectedAnswer {
  const words = (type: 'text' | 'reasoning' | 'refusal') =>
    parts.map((part) => (part.type === type && part.choice === 0 ? part.text : '')).join('');
  const calls: { name: string; arguments: string }[] = [];
  let more: ExpectedAnswer = {};
  for (const part of parts) {
    if (part.type === 'usage') {
      if (part.usage === undefined) continue;
      const { inputTokens, outputTokens, reasoningTokens } = part.usage;
      more = { ...more, input_tokens: inputTokens, cached_input_tokens: figureOf(part.usage, 'cache_read') };
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

/** Returns the difference from the expected answer; null if there is none. */
export function expectationFault(parts: readonly StreamPart[], expect: ExpectedAnswer): string | null {
  const found: Readonly<Record<string, unknown>> = summarize(parts);
  for (const [name, value] of Object.entries(expect)) {
    const [is, should] = [shortJson(found[name]), shortJson(value)];
    if (JSON.stringify(found[name]) !== JSON.stringify(value)) return `its ${name} is ${is}, not ${should}`;
  }
  return null;
}
