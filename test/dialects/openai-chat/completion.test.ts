import { describe, expect, test } from 'bun:test';
import type { StreamPart } from '../../../src/contract/parts.ts';
import type { Receipt } from '../../../src/core/decision/answer.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import { ChunkWriter } from '../../../src/dialects/openai-chat/chunks.ts';
import { CompletionWriter, usageBody } from '../../../src/dialects/openai-chat/completion.ts';

const identity = { decision: 1, created: 1, model: 'm' };

test('an answer with a million token probabilities is written like any other', () => {
  const content = Array<unknown>(1_500_000).fill(0);
  expect(() =>
    new CompletionWriter(identity).write([{ type: 'logprobs', choice: 0, content, refusal: [] }]),
  ).not.toThrow();
});

const details = [
  { type: 'reasoning.text', text: 'Hm.', signature: 'EqQB', index: 0 },
  { type: 'reasoning.encrypted', data: 'ErUB', index: 1 },
];
const extra = { google: { thought_signature: 'sig' } };
const PARTS: readonly StreamPart[] = [
  { type: 'reasoning', choice: 0, text: 'Hm.' },
  { type: 'state', choice: 0, details: details.slice(0, 1) },
  { type: 'state', choice: 0, details: details.slice(1), extra },
  { type: 'tool-call', choice: 0, index: 0, id: 'c', name: 'look', arguments: '{}', extra },
  { type: 'finish', choice: 0, reason: 'tool_calls', raw: 'tool_use' },
];

describe('state that only the model can read', () => {
  const receipt = { usage: plainUsage(1, 1), platform: { attempts: [] } } as unknown as Receipt;

  test('is in the message of a complete answer, so that the caller can send it back unchanged', () => {
    const completion = new CompletionWriter(identity);
    completion.write(PARTS);
    expect(JSON.parse(completion.end(receipt))).toMatchObject({
      choices: [
        {
          message: {
            role: 'assistant',
            content: null,
            reasoning_content: 'Hm.',
            reasoning_details: details,
            extra_content: extra,
            tool_calls: [
              { id: 'c', type: 'function', function: { name: 'look', arguments: '{}' }, extra_content: extra },
            ],
          },
        },
      ],
    });
  });

  test('is in the deltas of a stream, each entry once', () => {
    const deltas = new ChunkWriter(identity)
      .write(PARTS)
      .split('\n\n')
      .filter((event) => event !== '')
      .map((event) => JSON.parse(event.slice(6)).choices[0].delta);
    expect(deltas).toEqual([
      { role: 'assistant', reasoning_content: 'Hm.' },
      { reasoning_details: details.slice(0, 1) },
      { reasoning_details: details.slice(1), extra_content: extra },
      {
        tool_calls: [
          { index: 0, id: 'c', type: 'function', function: { name: 'look', arguments: '{}' }, extra_content: extra },
        ],
      },
    ]);
  });
});

test('an empty answer has an empty content, in a stream as in JSON', () => {
  const receipt = { usage: plainUsage(1, 1), platform: { estimated: false, attempts: [] } } as unknown as Receipt;
  const finish: StreamPart = { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' };
  for (const silent of [[], PARTS.slice(0, 1), PARTS.slice(1, 2)]) {
    const parts = [...silent, finish];
    const completion = new CompletionWriter(identity);
    completion.write(parts);
    expect(JSON.parse(completion.end(receipt))).toMatchObject({ choices: [{ message: { content: '' } }] });
    const writer = new ChunkWriter(identity);
    expect(writer.write(parts) + writer.end(receipt)).toContain('"content":""');
  }
  const writer = new ChunkWriter(identity);
  expect(writer.write(PARTS) + writer.end(receipt)).not.toContain('"content"');
});

test('the usage has cached and written tokens as parts of the prompt, with OpenAI’s names', () => {
  const usage = { ...plainUsage(100, 9), reasoningTokens: 4 };
  const text = (written: number) =>
    JSON.stringify(usageBody({ ...usage, units: { cached_input: 60, cache_write: written } }, false));
  expect(JSON.parse(text(30))).toEqual({
    prompt_tokens: 100,
    completion_tokens: 9,
    total_tokens: 109,
    prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
    completion_tokens_details: { reasoning_tokens: 4 },
  });
  expect(text(0)).not.toContain('cache_write_tokens');
});
