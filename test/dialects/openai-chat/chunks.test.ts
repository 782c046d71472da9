import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { StreamPart } from '../../../src/contract/parts.ts';
import type { Receipt } from '../../../src/core/decision/answer.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import { ChunkWriter } from '../../../src/dialects/openai-chat/chunks.ts';
import { CompletionWriter } from '../../../src/dialects/openai-chat/completion.ts';

const IDENTITY = { decision: 1, created: 1, model: 'm' };
const RECEIPT = {
  usage: plainUsage(3, 2),
  platform: { routed_model: 'm', estimated: false, attempts: [] },
} as unknown as Receipt;

interface Chunk {
  readonly choices: readonly {
    readonly index: number;
    readonly delta: Readonly<Record<string, unknown>>;
    readonly logprobs?: { readonly content: unknown[] | null; readonly refusal: unknown[] | null };
    readonly finish_reason?: string;
  }[];
  readonly platform?: unknown;
}

/** Returns the chunks of an answer whose parts arrive in these batches. */
function chunksOf(batches: readonly (readonly StreamPart[])[]): Chunk[] {
  const writer = new ChunkWriter(IDENTITY);
  const text = batches.map((batch) => writer.write(batch)).join('') + writer.end(RECEIPT);
  const events = text.split('\n\n').slice(0, -1);
  expect(events.pop()).toBe('data: [DONE]');
  return events.map((one) => JSON.parse(one.slice('data: '.length)));
}

interface Told {
  readonly [field: string]: unknown;
  readonly calls: Record<string, unknown>[];
  readonly logprobs: { content: unknown[]; refusal: unknown[] };
}

/** Returns the result that a client gets from the chunks of one choice. */
function foldedOf(chunks: readonly Chunk[], choice: number): Told {
  const told = { content: '', reasoning: '', refusal: '', finish: '', calls: [] as Record<string, unknown>[] };
  const logprobs = { content: [] as unknown[], refusal: [] as unknown[] };
  for (const { delta, logprobs: its, finish_reason } of chunks
    .flatMap(({ choices }) => choices)
    .filter(({ index }) => index === choice)) {
    told.content += delta.content ?? '';
    told.reasoning += delta.reasoning_content ?? '';
    told.refusal += delta.refusal ?? '';
    told.finish += finish_reason ?? '';
    for (const { index, id, function: fn } of (delta.tool_calls ?? []) as never[] as Record<string, never>[]) {
      const { name, arguments: args } = fn! as { name?: string; arguments: string };
      told.calls[index!] ??= { arguments: '' };
      const call = told.calls[index!]!;
      if (id !== undefined) call.id = id;
      if (name !== undefined) call.name = name;
      call.arguments += args;
    }
    logprobs.content.push(...(its?.content ?? []));
    logprobs.refusal.push(...(its?.refusal ?? []));
  }
  return { ...told, logprobs };
}

/** Returns the same result from an answer in one piece. */
function wholeOf(batches: readonly (readonly StreamPart[])[], choice: number): Told {
  const whole = new CompletionWriter(IDENTITY);
  for (const batch of batches) whole.write(batch);
  const { choices } = JSON.parse(whole.end(RECEIPT)) as { choices: { message: Record<string, never> }[] };
  const { message, logprobs, finish_reason } = choices[choice]! as unknown as Record<string, Record<string, never>>;
  const { content, reasoning_content, refusal, tool_calls } = message!;
  return {
    content: content ?? '',
    reasoning: reasoning_content ?? '',
    refusal: refusal ?? '',
    finish: finish_reason as unknown,
    calls: ((tool_calls ?? []) as Record<string, object>[]).map(({ id, function: fn }) => ({ id, ...fn })),
    logprobs: { content: logprobs?.content ?? [], refusal: logprobs?.refusal ?? [] },
  };
}

const choice = fc.nat(2);
const text = fc.string({ minLength: 1, maxLength: 5 });
const words = fc
  .record({ type: fc.constantFrom('text', 'reasoning', 'refusal'), choice, text })
  .map((part): StreamPart => part as StreamPart);
const probabilities = fc
  .record({ choice, content: fc.array(fc.nat(9)), refusal: fc.array(fc.nat(9)) })
  .filter(({ content, refusal }) => content.length + refusal.length > 0)
  .map((part): StreamPart => ({ type: 'logprobs', ...part }));
const args = fc.record({ choice, index: fc.nat(1), arguments: fc.constantFrom('', '{"a"', ':1}') });

/** Batches of parts as upstream calls deliver them: each call is opened once, and each choice is finished at the end. */
const answers = fc
  .record({
    parts: fc.array(fc.oneof(words, words, probabilities, args), { maxLength: 16 }),
    first: fc.constantFrom('', '{'),
    finishes: fc.shuffledSubarray([0, 1, 2], { minLength: 3 }),
    reasons: fc.tuple(...[0, 1, 2].map(() => fc.constantFrom('stop' as const, 'length' as const))),
    size: fc.integer({ min: 1, max: 6 }),
  })
  .map(({ parts, first, finishes, reasons, size }) => {
    const opened = new Set<string>();
    const all: StreamPart[] = parts.map((part) => {
      if ('type' in part) return part;
      // The calls of a choice are numbered in the order in which they arrive.
      const index = opened.has(`${part.choice} 0`) ? part.index : 0;
      const key = `${part.choice} ${index}`;
      if (opened.has(key)) return { type: 'tool-call', ...part, index };
      opened.add(key);
      return { type: 'tool-call', ...part, index, id: key, name: 'f', arguments: first };
    });
    for (const one of finishes) all.push({ type: 'finish', choice: one, reason: reasons[one]!, raw: 'x' });
    return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size));
  });

test('a stream has, choice by choice, the same content as the same answer in one piece', () => {
  const law = fc.property(answers, (batches) => {
    const chunks = chunksOf(batches);
    for (const at of [0, 1, 2]) expect(foldedOf(chunks, at)).toEqual(wholeOf(batches, at));
  });
  fc.assert(law, { numRuns: 1_000 });
});

test('every choice begins with its role and has some content, its finish comes last, and the last finish has the platform', () => {
  const law = fc.property(answers, (batches) => {
    const chunks = chunksOf(batches);
    for (const at of [0, 1, 2]) {
      const own = chunks.flatMap(({ choices }) => choices).filter(({ index }) => index === at);
      expect(own.map(({ delta }) => delta.role)).toEqual(['assistant', ...Array(own.length - 1).fill(undefined)]);
      expect(own.length).toBeGreaterThanOrEqual(2);
      expect(own.findIndex(({ finish_reason }) => finish_reason !== undefined)).toBe(own.length - 1);
    }
    expect(chunks.findIndex(({ platform }) => platform !== undefined)).toBe(chunks.length - 1);
  });
  fc.assert(law, { numRuns: 500 });
});
