import { describe, expect, test } from 'bun:test';
import { errorsIn, imported } from './support.ts';

const PRICE = 'input_cost_per_token: 1e-6, output_cost_per_token: 1e-6';

describe('models that cannot have the name of their group get the name of the upstream model', () => {
  const entry = (name: string, model: string) =>
    `  - { model_name: ${name}, litellm_params: { model: ${model}, ${PRICE} } }\n`;
  const chosen = async (entries: readonly string[]) => {
    const text = `model_list:\n${entries.join('')}`;
    const { report, files } = imported(text);
    expect(await errorsIn(files)).toEqual([]);
    const { models, selectors } = report;
    return { models, selectors };
  };

  test('an imported model gets a name with the provider if callers already use the name for a selector', async () => {
    const entries = [entry('gpt-4o', 'openai/gpt-4o'), entry('gpt-4o', 'openai/gpt-4.1')];
    const { models, selectors } = await chosen(entries);
    expect({ models, selectors }).toEqual({ models: ['openai/gpt-4o', 'gpt-4.1'], selectors: ['gpt-4o'] });
  });

  test('an imported model gets a name without the provider if the name is free', async () => {
    const entries = [entry('openai/gpt-4o', 'openai/gpt-4o'), entry('openai/gpt-4o', 'openai/gpt-4.1')];
    const { models, selectors } = await chosen(entries);
    expect({ models, selectors }).toEqual({ models: ['gpt-4o', 'gpt-4.1'], selectors: ['openai/gpt-4o'] });
  });

  test('an imported model gets a name with the date if another model has the name without the date', async () => {
    const sonnet = 'anthropic/claude-sonnet-4-5-20250929';
    const entries = [entry('smart', 'openai/gpt-4.1'), entry('smart', sonnet), entry('claude-sonnet-4-5', sonnet)];
    const { models } = await chosen(entries);
    expect(models).toEqual(['gpt-4.1', 'claude-sonnet-4-5-20250929', 'claude-sonnet-4-5']);
  });

  test('an imported model gets a name with the provider if two providers have a model with the same name', async () => {
    const chat = (name: string) => [entry(name, `groq/${name}-chat`), entry(name, 'openai/gpt-4.1')];
    const same = [entry('b', 'groq/llama-3'), entry('b', 'openai/gpt-4o')];
    const entries = [...chat('a'), ...same, entry('c', 'together_ai/meta/llama-3'), entry('c', 'openai/gpt-4o')];
    expect((await chosen(entries)).models).toEqual([
      'a-chat',
      'gpt-4.1',
      'llama-3',
      'gpt-4o',
      'together-ai/llama-3',
      'openai/gpt-4o',
    ]);
  });
});
