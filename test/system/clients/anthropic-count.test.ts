import { describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import { waitFor } from '../../support/answers.ts';
import { testPolicy } from '../../support/policies.ts';
import { useSignalbox, useUpstream } from '../../support/use.ts';

/** Token counts through the official SDK: with the model's own tokenizer if it is shipped, else an estimate, which the answer marks. */
const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy(
    { fake: upstream.url },
    {
      best: { endpoints: ['fake'], more: '    tokenizer: o200k_base\n' },
      other: { endpoints: ['fake'] },
    },
  ),
}));
const clientOf = () => new Anthropic({ apiKey: box.key, baseURL: box.url, maxRetries: 0 });
const words = 'The quick brown fox jumps over the lazy dog. '.repeat(100);
const body = { model: 'best', messages: [{ role: 'user' as const, content: words }] };
const tools = [{ name: 'look', description: 'Looks at things.', input_schema: { type: 'object' as const } }];

describe('a count', () => {
  test('a count is exact for a model with a shipped tokenizer, and an estimate for other models', async () => {
    // The first count may arrive before the tokenizer is loaded.
    const counted = await waitFor(async () => {
      const found = await clientOf().messages.countTokens(body);
      return 'basis' in found && found.basis === 'counted' ? found : null;
    });
    // With this tokenizer a sentence has ten tokens; a message adds its own.
    expect(counted).toEqual({ input_tokens: expect.any(Number), basis: 'counted' } as never);
    expect(counted.input_tokens).toBeGreaterThanOrEqual(1_000);
    expect(counted.input_tokens).toBeLessThan(1_030);
    for (const model of ['other', 'auto']) {
      const estimated = await clientOf().messages.countTokens({ ...body, model });
      expect(estimated).toMatchObject({ basis: 'estimated' } as never);
      expect(estimated.input_tokens).toBeGreaterThan(800);
      expect(estimated.input_tokens).toBeLessThan(1_300);
    }
  });

  test('a count grows with the system prompt, the tools and their results, and calls no model', async () => {
    const before = upstream.requests.length;
    const count = async (more: object) => (await clientOf().messages.countTokens({ ...body, ...more })).input_tokens;
    const least = await count({});
    expect(await count({ system: 'Be brief.' })).toBeGreaterThan(least);
    expect(await count({ tools })).toBeGreaterThan(least);
    const use = { type: 'tool_use', id: 't', name: 'look', input: { at: words } };
    const result = { type: 'tool_result', tool_use_id: 't', content: words };
    const messages = [...body.messages, { role: 'assistant', content: [use] }, { role: 'user', content: [result] }];
    expect(await count({ tools, messages })).toBeGreaterThan(2.5 * least);
    expect(upstream.requests.length).toBe(before);
  });

  test('a count fails with an error in Anthropic’s format', async () => {
    const failed: unknown = await clientOf()
      .messages.countTokens({ ...body, model: 'none' })
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(Anthropic.NotFoundError);
    expect(failed).toMatchObject({ type: 'not_found_error', requestID: expect.stringMatching(/^req_/) });
  });
});
