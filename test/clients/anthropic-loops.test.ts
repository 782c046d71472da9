import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import type { MessageParam } from '@anthropic-ai/sdk/resources';
import type { Behaviour, RecordedRequest } from '../support/fake-upstream.ts';
import { startBench, UPSTREAM_DIALECTS } from './support.ts';

/**
 * Loops of tools with a model that thinks: its thoughts go to the client in Anthropic's blocks, come back with the history, and
 * reach the model as its own service wants them.
 */
const callsOf = (...cities: string[]) =>
  cities.map((city) => ({ name: 'weather', arguments: JSON.stringify({ city }) }));

function thinker({ asked }: RecordedRequest): Behaviour {
  const results = asked.turns.reduce((count, turn) => count + turn.results.length, 0);
  if (asked.turns.at(-1)?.text === 'Thanks!') return { reasoning: 'Kind.', text: 'You are welcome.' };
  if (results === 0) return { reasoning: 'Two to begin with.', toolCalls: callsOf('Bern', 'Oslo') };
  return results === 2
    ? { reasoning: 'And one more.', toolCalls: callsOf('Rome') }
    : { reasoning: 'So.', text: 'In Rome.' };
}

const said = { text: '', media: [], calls: [], results: [] };
const called = (...cities: string[]) => cities.map((city) => ({ name: 'weather', input: { city } }));
const told = (...cities: string[]) => cities.map((city) => ({ name: 'weather', text: `20 °C in ${city}` }));
const TURNS = [
  { ...said, role: 'user', text: 'Where is it warmest?' },
  { ...said, role: 'assistant', calls: called('Bern', 'Oslo') },
  { ...said, role: 'user', results: told('Bern', 'Oslo') },
  { ...said, role: 'assistant', calls: called('Rome') },
  { ...said, role: 'user', results: told('Rome') },
  { ...said, role: 'assistant', text: 'In Rome.' },
  { ...said, role: 'user', text: 'Thanks!' },
];

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

  test.each(Object.keys(WAYS))('a loop of tools comes through with its thoughts, %s', async (way) => {
    const messages: MessageParam[] = [{ role: 'user', content: 'Where is it warmest?' }];
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
                // Clients move their mark to the last message.
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
    expect<unknown[]>([...asked.turns]).toEqual(TURNS);
    expect(text).not.toContain('signalbox-state');
    if (dialect === 'gemini') expect(text).not.toContain('skip_thought_signature_validator');
  });
});
