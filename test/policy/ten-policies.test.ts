import { describe, expect, test } from 'bun:test';
import type { FoundModel } from '../../src/core/policy/found-models.ts';
import { chooserOf } from './choices.ts';

/** Ten policies of small teams, with the models that an engineer would expect. The expectations were written before the policies were run. */

const EASY = 'Name three rivers.';
const HARD =
  'Prove rigorously that every continuous bijection from a compact space to a Hausdorff space is a homeomorphism, and that neither condition can be dropped. Give counterexamples.';

interface ModelText {
  /** USD for 1M tokens of input and output. */
  readonly price: readonly [input: number, output: number];
  readonly quality: number;
  readonly basis?: 'measured' | 'guessed' | 'unknown';
  /** Tokens of output per second. */
  readonly speed?: number;
  readonly provider?: string;
}

function modelText(id: string, { price: [input, output], quality, speed = 80, ...more }: ModelText): string {
  const { basis = 'guessed', provider = 'hosted' } = more;
  return `  ${id}: { provider: ${provider}, price: { input: ${input}, output: ${output} }, context_window: 128000, max_output: 16000, quality: { default: ${quality}, basis: ${basis} }, latency: { ttft_ms: 500, output_tokens_per_second: ${speed} } }`;
}

const policyOf = (models: Readonly<Record<string, ModelText>>, more = ''): string => `version: 1
providers: { hosted: { adapter: simulated } }
models:
${Object.entries(models)
  .map(([id, one]) => modelText(id, one))
  .join('\n')}
${more}`;

/** The expected models for the easy and for the hard request. */
type Pair = readonly [easy: string, hard: string, why: string];

interface Team {
  readonly policy: string;
  readonly conditions?: Parameters<typeof chooserOf>[1];
  readonly auto: Pair;
  readonly 'auto-cheap': Pair;
  readonly 'auto-fast': Pair;
}

const foundModel = (name: string, parameters: number): FoundModel => ({
  ...{ name, upstream: name, contextWindow: 32_768, isContextGuessed: false, parameters, capabilities: ['tools'] },
  ...{ operation: 'chat', dimensions: null, since: 1 },
});

const TEAMS: Readonly<Record<string, Team>> = {
  'a local model that costs nothing, and a hosted one': {
    policy: policyOf({
      home: { price: [0, 0], quality: 0.7, speed: 30 },
      hosted: { price: [3, 15], quality: 0.9 },
    }),
    auto: ['hosted', 'hosted', 'the local model is much worse, and the caller did not ask for the cheapest'],
    'auto-cheap': ['home', 'hosted', 'free is good enough for rivers, but not for a proof'],
    'auto-fast': ['hosted', 'hosted', 'it is better and faster'],
  },
  'two found models of one local server': {
    policy: 'version: 1\nproviders: { box: { preset: ollama, discover: choose } }\n',
    conditions: {
      env: { OLLAMA_BASE_URL: 'http://127.0.0.1:9' },
      found: {
        hash: 'f',
        servers: [
          {
            provider: 'box',
            models: [foundModel('qwen:7b', 7e9), foundModel('qwen:32b', 32e9)],
            names: null,
            digests: [],
          },
        ],
        used: ['box'],
      },
    },
    auto: ['box/qwen:32b', 'box/qwen:32b', 'both are free, so the larger one'],
    'auto-cheap': ['box/qwen:32b', 'box/qwen:32b', 'both are free, so the larger one'],
    'auto-fast': ['box/qwen:32b', 'box/qwen:32b', 'nothing is known about their speed, so the larger one'],
  },
  'a key that may use only the weak models': {
    policy: policyOf({
      flagship: { price: [5, 25], quality: 0.93 },
      tiny: { price: [0.1, 0.4], quality: 0.6, speed: 200 },
      small: { price: [0.5, 2], quality: 0.66, speed: 120 },
    }),
    conditions: { keyModels: ['tiny', 'small'] },
    auto: ['small', 'small', 'it is clearly better than tiny; the flagship does not count'],
    'auto-cheap': ['tiny', 'small', 'tiny does for rivers'],
    'auto-fast': ['tiny', 'small', 'tiny is faster and nearly as good; a proof needs the better one'],
  },
  'one model': {
    policy: policyOf({ only: { price: [1, 4], quality: 0.8 } }),
    auto: ['only', 'only', 'there is no other'],
    'auto-cheap': ['only', 'only', 'there is no other'],
    'auto-fast': ['only', 'only', 'there is no other'],
  },
  'two models, 0.85 at 15 USD and 0.65 at 0.8 USD': {
    policy: policyOf({
      large: { price: [3, 15], quality: 0.85 },
      small: { price: [0.2, 0.8], quality: 0.65, speed: 150 },
    }),
    auto: ['large', 'large', '0.2 is a large difference'],
    'auto-cheap': ['small', 'large', 'rivers need no large model, a proof does'],
    'auto-fast': ['large', 'large', '0.2 is too much to give up for speed'],
  },
  'one model at a fast and at a slow provider': {
    policy: policyOf({
      'm-fast': { price: [1.2, 4.8], quality: 0.88, speed: 250 },
      'm-slow': { price: [1, 4], quality: 0.88, speed: 30 },
    }),
    auto: ['m-fast', 'm-fast', 'a fifth more money saves most of the wait'],
    'auto-cheap': ['m-slow', 'm-slow', 'the same model for less'],
    'auto-fast': ['m-fast', 'm-fast', 'the same model, sooner'],
  },
  'a cheap model whose quality nobody knows': {
    policy: policyOf({
      known: { price: [3, 15], quality: 0.9, basis: 'measured' },
      newcomer: { price: [0.2, 0.8], quality: 0.88, basis: 'unknown', speed: 80 },
    }),
    auto: ['known', 'known', 'a claim of nearly the same quality is not enough'],
    'auto-cheap': ['newcomer', 'known', 'a fifteenth of the price is worth a try for rivers, not for a proof'],
    'auto-fast': ['known', 'known', 'the newcomer is no faster per token'],
  },
  'two vendors of three sizes each': {
    policy: policyOf({
      'a-nano': { price: [0.1, 0.4], quality: 0.7, speed: 250 },
      'a-mini': { price: [0.5, 2], quality: 0.82, speed: 150 },
      'a-max': { price: [4, 20], quality: 0.92, speed: 60 },
      'b-small': { price: [0.15, 0.6], quality: 0.72, speed: 220 },
      'b-medium': { price: [1, 5], quality: 0.86, speed: 120 },
      'b-large': { price: [5, 25], quality: 0.93, speed: 50 },
    }),
    auto: ['b-large', 'b-large', 'the best, for a quarter more than the second best'],
    'auto-cheap': ['a-nano', 'a-max', 'the cheapest for rivers; the cheapest of the two best for a proof'],
    'auto-fast': [
      'b-medium',
      'a-max',
      'the medium one is nearly as good and twice as fast; a proof needs one of the best',
    ],
  },
  'models for embeddings, and one for chats': {
    policy: policyOf(
      { chat: { price: [1, 4], quality: 0.8 } },
      `  vectors: { provider: hosted, operations: [embed], embedding: { dimensions: 8, vector_space: v }, price: { input: 0.02, output: 0 }, context_window: 8000, max_output: 1, quality: { default: 1 } }\n`,
    ),
    auto: ['chat', 'chat', 'only it answers chats'],
    'auto-cheap': ['chat', 'chat', 'only it answers chats'],
    'auto-fast': ['chat', 'chat', 'only it answers chats'],
  },
  'a measured figure beside a guessed one': {
    policy: policyOf({
      sure: { price: [2, 8], quality: 0.86, basis: 'measured', speed: 80 },
      bold: { price: [1, 4], quality: 0.88, basis: 'guessed', speed: 120 },
    }),
    auto: ['sure', 'sure', 'a measured 0.86 is worth more than a claimed 0.88'],
    'auto-cheap': ['bold', 'sure', 'half the price for rivers'],
    'auto-fast': ['bold', 'sure', 'faster and near enough, but a proof needs what is measured'],
  },
};

const SELECTORS = ['auto', 'auto-cheap', 'auto-fast'] as const;

describe.each(Object.entries(TEAMS))('%s:', (_, { policy, conditions, ...expected }) => {
  const choose = chooserOf(policy, conditions);

  test.each(SELECTORS)('%s chooses what an engineer expects for an easy and for a hard request', (selector) => {
    const [easy, hard] = expected[selector];
    expect([EASY, HARD].map((message) => choose(selector, message).model)).toEqual([easy, hard]);
  });
});

test('the hard request is read as hard, and the easy one is not', () => {
  const choose = chooserOf(policyOf({ only: { price: [1, 4], quality: 0.8 } }));
  expect([EASY, HARD].map((message) => choose('auto', message).decision.tier)).toEqual(['usual', 'strong']);
});
