import { describe, expect, test } from 'bun:test';
import { shipped } from '../../../plugins/index.ts';
import type { StreamPart } from '../../../src/contract/parts.ts';
import type { WireAdapter } from '../../../src/contract/provider.ts';
import { costOf } from '../../../src/core/money/price.ts';
import { isPlausible, type Usage } from '../../../src/core/money/usage.ts';
import { loaded } from '../../routing/build.ts';

/**
 * The charge in Credits for a provider's report, computed by hand at 0.001 USD for a Credit. A token costs its price in USD per 1M tokens
 * times 1,000 microcredits. Providers differ in which figures include others.
 */
interface Invoice {
  readonly name: string;
  readonly adapter: string;
  readonly price: string;
  /** The usage object of the answer. */
  readonly reported: object;
  /** The charge in Credits, to six decimals. */
  readonly credits: string;
  /** The charge that the usual mistake would produce. */
  readonly not: string;
}

const INVOICES: readonly Invoice[] = [
  {
    name: 'Anthropic: cached and written tokens are not included in the input',
    adapter: 'anthropic',
    price: 'input: 1, cached_input: 0.1, cache_write: 1.25, output: 5',
    reported: {
      input_tokens: 2_095,
      cache_creation_input_tokens: 2_051,
      cache_read_input_tokens: 4_102,
      output_tokens: 503,
    },
    // 2095 × 1000 + 2051 × 1250 + 4102 × 100 + 503 × 5000 = 2,095,000 + 2,563,750 + 410,200 + 2,515,000
    credits: '7.583950',
    // If these tokens were counted as parts of the input, they would exceed it: only 2095 input and 503 output tokens would be charged.
    not: '4.610000',
  },
  {
    name: 'Anthropic: some of the written tokens are kept for an hour, and each search costs a fee',
    adapter: 'anthropic',
    price:
      'input: 1, cached_input: 0.1, cache_write: 1.25, cache_write_1h: 2, output: 5, tool_uses: { web_search: 0.01 }',
    reported: {
      input_tokens: 100,
      cache_creation_input_tokens: 1_000,
      cache_creation: { ephemeral_5m_input_tokens: 400, ephemeral_1h_input_tokens: 600 },
      output_tokens: 50,
      server_tool_use: { web_search_requests: 3, web_fetch_requests: 0 },
    },
    // 100 × 1000 + 400 × 1250 + 600 × 2000 + 50 × 5000 = 2,050,000; and 3 searches at 10 Credits
    credits: '32.050000',
    // 1.6 Credits would be the charge with the price for five minutes, without the fees.
    not: '1.600000',
  },
  {
    name: 'Anthropic: thoughts are included in the output',
    adapter: 'anthropic',
    price: 'input: 1, output: 5',
    reported: { input_tokens: 40, output_tokens: 1_500, output_tokens_details: { thinking_tokens: 1_200 } },
    // 40 × 1000 + 1500 × 5000
    credits: '7.540000',
    not: '13.540000',
  },
  {
    name: 'Gemini: cached tokens are included in the prompt, thoughts are not included in the candidates',
    adapter: 'gemini',
    price: 'input: 2, cached_input: 0.2, output: 12',
    reported: {
      promptTokenCount: 10_000,
      cachedContentTokenCount: 8_000,
      candidatesTokenCount: 120,
      thoughtsTokenCount: 380,
      totalTokenCount: 10_500,
    },
    // 2000 × 2000 + 8000 × 200 + 500 × 12,000 = 4,000,000 + 1,600,000 + 6,000,000
    credits: '11.600000',
    // 27.6 Credits would be the charge if cached tokens were also charged as input: 8000 × 2000 more.
    not: '27.600000',
  },
  {
    name: 'Gemini: the results of its own tools are input',
    adapter: 'gemini',
    price: 'input: 2, output: 12',
    reported: { promptTokenCount: 100, toolUsePromptTokenCount: 50, candidatesTokenCount: 10, totalTokenCount: 160 },
    // 150 × 2000 + 10 × 12,000
    credits: '0.420000',
    not: '0.320000',
  },
  {
    name: 'OpenAI: cached tokens are included in the input, reasoning tokens in the output',
    adapter: 'openai',
    price: 'input: 2.5, cached_input: 0.25, output: 10',
    reported: {
      prompt_tokens: 10_000,
      completion_tokens: 500,
      total_tokens: 10_500,
      prompt_tokens_details: { cached_tokens: 8_000 },
      completion_tokens_details: { reasoning_tokens: 300 },
    },
    // 2000 × 2500 + 8000 × 250 + 500 × 10,000 = 5,000,000 + 2,000,000 + 5,000,000
    credits: '12.000000',
    not: '15.000000',
  },
  {
    name: 'OpenAI: written tokens are also included in the prompt',
    adapter: 'openai',
    price: 'input: 2, cached_input: 0.2, cache_write: 2.5, output: 10',
    reported: {
      prompt_tokens: 5_000,
      completion_tokens: 100,
      total_tokens: 5_100,
      prompt_tokens_details: { cached_tokens: 1_000, cache_write_tokens: 3_000 },
    },
    // 1000 × 2000 + 1000 × 200 + 3000 × 2500 + 100 × 10,000 = 2,000,000 + 200,000 + 7,500,000 + 1,000,000
    credits: '10.700000',
    not: '16.700000',
  },
  {
    name: 'DeepSeek: its cache figures have their own names',
    adapter: 'openai-compatible',
    price: 'input: 1.32, cached_input: 0.044, output: 3.96',
    reported: {
      prompt_tokens: 3_000,
      completion_tokens: 50,
      total_tokens: 3_050,
      prompt_cache_hit_tokens: 2_500,
      prompt_cache_miss_tokens: 500,
    },
    // 500 × 1320 + 2500 × 44 + 50 × 3960 = 660,000 + 110,000 + 198,000
    credits: '0.968000',
    not: '4.158000',
  },
  {
    name: 'xAI: reasoning is not included in the completion, as the total shows',
    adapter: 'openai-compatible',
    price: 'input: 2, cached_input: 0.5, output: 6',
    reported: {
      prompt_tokens: 1_000,
      completion_tokens: 200,
      total_tokens: 1_900,
      prompt_tokens_details: { cached_tokens: 400 },
      completion_tokens_details: { reasoning_tokens: 700 },
    },
    // 600 × 2000 + 400 × 500 + 900 × 6000 = 1,200,000 + 200,000 + 5,400,000
    credits: '6.800000',
    not: '2.600000',
  },
  {
    name: 'Moonshot: the cached tokens are at the top level of the usage',
    adapter: 'openai-compatible',
    price: 'input: 3, cached_input: 0.3, output: 15',
    reported: { prompt_tokens: 2_000, completion_tokens: 10, total_tokens: 2_010, cached_tokens: 1_500 },
    // 500 × 3000 + 1500 × 300 + 10 × 15,000 = 1,500,000 + 450,000 + 150,000
    credits: '2.100000',
    not: '6.150000',
  },
];

/** A complete answer of each adapter with this usage, as JSON and as the events of a stream. */
const ANSWERS: Record<string, (usage: object) => { json: object; events: readonly [string, object][] }> = {
  anthropic: (usage) => {
    const message = { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] };
    return {
      json: { ...message, stop_reason: 'end_turn', usage },
      events: [
        [
          'message_start',
          { type: 'message_start', message: { ...message, content: [], usage: { ...usage, output_tokens: 1 } } },
        ],
        ['content_block_start', { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }],
        ['content_block_delta', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Yes.' } }],
        ['content_block_stop', { type: 'content_block_stop', index: 0 }],
        ['message_delta', { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }],
        ['message_stop', { type: 'message_stop' }],
      ],
    };
  },
  gemini: (usageMetadata) => {
    const candidates = [{ index: 0, content: { role: 'model', parts: [{ text: 'Yes.' }] }, finishReason: 'STOP' }];
    const json = { candidates, usageMetadata, responseId: 'r' };
    return { json, events: [['', json]] };
  },
  openai: (usage) => {
    const choice = { index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' };
    return {
      json: { object: 'chat.completion', choices: [choice], usage },
      events: [
        ['', { choices: [{ index: 0, delta: { content: 'Yes.' }, finish_reason: null }] }],
        ['', { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }],
        ['', { choices: [], usage }],
      ],
    };
  },
};
ANSWERS['openai-compatible'] = ANSWERS.openai!;

function adapterOf(name: string): WireAdapter {
  const { providers } = loaded(
    `version: 1
providers: { p: { adapter: ${name}, base_url: "http://127.0.0.1:9/v1" } }
models:
  m: { provider: p, price: { input: 1, output: 1 }, context_window: 1000, max_output: 100, quality: { default: 0.5 } }
`,
  );
  const plugin = shipped.find((one) => one.kind === 'provider' && one.name === name);
  if (plugin?.kind !== 'provider') throw new Error(`there is no adapter ${name}`);
  const prepared = plugin.prepare(providers.get('p')!.settings);
  if (prepared.kind !== 'wire') throw new Error('not a wire adapter');
  return prepared;
}

const lastUsage = (parts: readonly StreamPart[]): Usage => {
  const usage = parts.findLast((part) => part.type === 'usage')?.usage;
  if (!usage) throw new Error('no usage');
  return usage;
};

describe('the charge for a provider’s own figures is the one computed by hand:', () => {
  for (const { name, adapter, price, reported, credits, not } of INVOICES) {
    test(name, () => {
      const { models } = loaded(
        `version: 1
providers: { p: { adapter: simulated } }
models:
  m: { provider: p, price: { ${price} }, context_window: 1000000, max_output: 1000, quality: { default: 0.5 } }
`,
      );
      const wire = adapterOf(adapter);
      const { json, events } = ANSWERS[adapter]!(reported);
      const reader = wire.stream();
      const streamed = events.flatMap(([event, data]) => [...reader.read({ event, data: JSON.stringify(data) })]);
      for (const parts of [wire.reply(JSON.stringify(json)), streamed]) {
        const usage = lastUsage(parts);
        expect(isPlausible(usage)).toBe(true);
        const charged = (costOf(models[0]!.endpoints[0].price, usage) / 1e6).toFixed(6);
        expect(charged).toBe(credits);
        expect(charged).not.toBe(not);
      }
    });
  }
});
