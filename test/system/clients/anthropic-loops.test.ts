import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import type { MessageParam } from '@anthropic-ai/sdk/resources';
import { startBench, UPSTREAM_DIALECTS } from '../../support/dialect-bench.ts';
import { QUESTION, TURNS_THANKED, thinker } from './weather-loop.ts';

/**
 * Tool loops with a model that thinks. The client receives thoughts as Anthropic blocks and sends them back with the history; the model
 * receives them in the form that its service expects.
 */
describe.each(UPSTREAM_DIALECTS)('%s', (dialect) => {
  const bench = startBench(dialect);
  let client: Anthropic;
  beforeAll(() => {
    client = new Anthropic({ apiKey: bench.box.key, baseURL: bench.box.url, maxRetries: 0 });
  });
  beforeEach(() => bench.upstream.behave(thinker));

  const bodyOf = (messages: MessageParam[]) => ({
    model: 'best',
    max_tokens: 3_000,
    system: [{ type: 'text' as const, text: 'Be brief.', cache_control: { type: 'ephemeral' as const } }],
    messages,
    thinking: { type: 'adaptive' as const, display: 'summarized' as const },
    output_config: { effort: 'low' as const },
    tools: [{ name: 'weather', input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } } }],
  });

  const WAYS: Record<string, (body: ReturnType<typeof bodyOf>) => Promise<Anthropic.Message>> = {
    whole: (body) => client.messages.create(body),
    streamed: (body) => client.messages.stream(body).finalMessage(),
  };

  test.each(Object.keys(WAYS))('a tool loop completes and keeps the thoughts, %s', async (way) => {
    const messages: MessageParam[] = [{ role: 'user', content: QUESTION }];
    const thoughts: string[] = [];
    for (let step = 0; step < 3; step++) {
      const { content } = await WAYS[way]!(bodyOf(messages));
      thoughts.push(...content.flatMap((block) => (block.type === 'thinking' ? [block.thinking] : [])));
      messages.push({ role: 'assistant', content });
      const results = content.flatMap((block) =>
        block.type === 'tool_use'
          ? [
              {
                type: 'tool_result' as const,
                tool_use_id: block.id,
                content: `20 °C in ${(block.input as { city: string }).city}`,
                // Clients move their cache mark to the last message.
                cache_control: { type: 'ephemeral' as const },
              },
            ]
          : [],
      );
      if (results.length > 0) messages.push({ role: 'user', content: results });
    }
    messages.push({ role: 'user', content: 'Thanks!' });
    const last = await WAYS[way]!(bodyOf(messages));
    expect(last.content).toContainEqual(expect.objectContaining({ type: 'text', text: 'You are welcome.' }));
    expect(thoughts).toEqual(['Two to begin with.', 'And one more.', 'So.']);
    const { asked, text } = bench.upstream.requests.at(-1)!;
    expect(asked.system).toBe('Be brief.');
    expect<unknown[]>([...asked.turns]).toEqual(TURNS_THANKED);
    expect(text).not.toContain('signalbox-state');
    if (dialect === 'gemini') expect(text).not.toContain('skip_thought_signature_validator');
  });
});
