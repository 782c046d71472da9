import { describe, expect, test } from 'bun:test';
import { loadPolicy } from '../../src/policy/load.ts';
import { loaded, loadWith } from '../routing/build.ts';
import { chooserOf, orderIn } from './choices.ts';
import { shippedContext } from './shipped.ts';
import { snapshotOf } from './support.ts';

/** The typical request has 1,000 tokens of input and 100 of output. A Credit is 0.001 USD, so a price of 1 is 1.1 Credits. */
const TRAFFIC = 'traffic: { general: { share: 1, input_tokens: 1000, output_tokens: 100 } }\n';
const policyOf = (models: readonly string[], more = '', traffic = TRAFFIC) => `version: 1
providers: { s: { adapter: simulated } }
${traffic}models:
${models.join('\n')}
${more}`;

interface ModelText {
  readonly quality: string | number;
  readonly price?: string | number;
  readonly speed?: number;
  readonly basis?: string;
  readonly more?: string;
}

function model(id: string, { quality, price = 1, speed = 100, basis = 'guessed', more = '' }: ModelText): string {
  const prices = typeof price === 'number' ? `input: ${price}, output: ${price}` : price;
  const qualities = typeof quality === 'number' ? `default: ${quality}` : quality;
  return `  ${id}: { provider: s, price: { ${prices} }, context_window: 90000, max_output: 9000, quality: { ${qualities}, basis: ${basis} }, latency: { ttft_ms: 500, output_tokens_per_second: ${speed} }${more} }`;
}

const orders = (text: string, ...selectors: readonly string[]) => {
  const snapshot = loaded(text);
  return selectors.map((name) => orderIn(snapshot, name));
};
const problems = (text: string) =>
  loadWith(text).diagnostics.map(({ code, line, column }) => `${line}:${column} ${code}`);

describe('the order of a selector', () => {
  // For the typical request: 1.1, 1.2 and 5.5 Credits; 10.5, 1 and 0.6 seconds.
  const three = [
    model('cheap', { quality: 0.7, price: 1, speed: 10 }),
    model('quick', { quality: 0.8, price: 1.1, speed: 200 }),
    model('best', { quality: 0.9, price: 5, speed: 1_000 }),
  ];

  test('is by cost and time for `auto`, by cost for `auto-cheap`, and by time for `auto-fast`', () => {
    expect(orders(policyOf(three), 'auto', 'auto-cheap', 'auto-fast')).toEqual([
      ['quick', 'cheap', 'best'],
      ['cheap', 'quick', 'best'],
      ['best', 'quick', 'cheap'],
    ]);
    const free = 'selectors: { auto: { strategy: auto, options: { second_worth: 0 } } }\n';
    expect(orders(policyOf(three, free), 'auto')).toEqual([['cheap', 'quick', 'best']]);
  });

  test('is by quality, cost, time and ID among equal models, wherever they stand in the file', () => {
    const equal = [
      model('z', { quality: 0.8 }),
      model('y', { quality: 0.9, speed: 50 }),
      model('b', { quality: 0.8, speed: 200 }),
      model('a', { quality: 0.8 }),
    ];
    for (const list of [equal, equal.toReversed()])
      expect(orders(policyOf(list), 'auto-cheap')).toEqual([['y', 'b', 'a', 'z']]);
  });

  test('changes with the traffic', () => {
    const two = [
      model('for-reading', { quality: 0.8, price: 'input: 1, output: 20' }),
      model('for-writing', { quality: 0.8, price: 'input: 4, output: 4' }),
    ];
    const writing = 'traffic: { general: { share: 1, input_tokens: 100, output_tokens: 2000 } }\n';
    expect(orders(policyOf(two), 'auto-cheap')).toEqual([['for-reading', 'for-writing']]);
    expect(orders(policyOf(two, '', writing), 'auto-cheap')).toEqual([['for-writing', 'for-reading']]);
  });

  test('has only the models that the selector may choose and that answer chats', () => {
    const embedder = `  e: { provider: s, operations: [embed], embedding: { dimensions: 8, vector_space: v }, price: { input: 0, output: 0 }, context_window: 9000, max_output: 1, quality: { default: 1 } }`;
    const narrow = 'selectors: { narrow: { strategy: auto, models: { require: model.quality.default >= 0.8 } } }\n';
    expect(orders(policyOf([...three, embedder], narrow), 'narrow', 'auto-cheap')).toEqual([
      ['quick', 'best'],
      ['cheap', 'quick', 'best'],
    ]);
  });

  test('does not exist for a strategy that scores each request', () => {
    expect(orders(policyOf(three, 'selectors: { mine: { strategy: weighted } }\n'), 'mine')).toEqual([null]);
  });

  test('follows the same rule for a vector space', () => {
    const embedder = (id: string, quality: number, price: number) =>
      `  ${id}: { provider: s, operations: [embed], embedding: { dimensions: 8, vector_space: v }, price: { input: ${price}, output: 0 }, context_window: 9000, max_output: 1, quality: { default: ${quality} } }`;
    const vectors = 'selectors: { vectors: { strategy: auto, vector_space: v } }\n';
    const list = [
      ...three,
      embedder('e-large', 0.9, 0.5),
      embedder('e-small', 0.88, 0.02),
      embedder('e-poor', 0.5, 0.01),
    ];
    expect(orders(policyOf(list, vectors), 'vectors')).toEqual([['e-poor', 'e-small', 'e-large']]);
  });
});

describe('the quality of a model', () => {
  const chosen = (models: readonly string[], task?: string, traffic = TRAFFIC) =>
    chooserOf(policyOf(models, '', traffic))('auto', 'Name three rivers.', task).model;
  const rival = (quality: number) => model('rival', { quality, basis: 'measured', price: 9 });

  test('counts 0.06 less if it is guessed beside a measured one', () => {
    const guess = (quality: number) => model('guess', { quality, price: 1 });
    // A margin of 0.03 below 0.9 is 0.87, which 0.93 − 0.06 reaches.
    expect(chosen([guess(0.93), rival(0.9)])).toBe('guess');
    expect(chosen([guess(0.92), rival(0.9)])).toBe('rival');
    const bothMeasured = model('guess', { quality: 0.87, price: 1, basis: 'measured' });
    expect(chosen([bothMeasured, rival(0.9)])).toBe('guess');
    expect(chosen([guess(0.87), model('rival', { quality: 0.9, price: 9 })])).toBe('guess');
  });

  test('is the mean over the traffic, or the figure of a task that the request states', () => {
    const coder = model('coder', { quality: 'default: 0.7, coding: 0.95, general: 0.7', price: 9 });
    const plain = model('plain', { quality: 'default: 0.8, coding: 0.8, general: 0.8', price: 1 });
    expect(chosen([coder, plain])).toBe('plain');
    expect(chosen([coder, plain], 'coding')).toBe('coder');
    expect(chosen([coder, plain], undefined, 'traffic: { general: { share: 1 }, coding: { share: 9 } }\n')).toBe(
      'coder',
    );
  });
});

describe('the margins', () => {
  const ONE = [model('m', { quality: 0.8 })];

  test('of a limited selector must not be below the margins of `auto`, and the place is the key or the selector', () => {
    const selectors = (text: string) => problems(policyOf(ONE, `selectors:\n${text}`));
    expect(
      selectors('  auto-cheap: { strategy: auto-cheap, options: { margin: 0.02, strong_margin: 0.01 } }\n'),
    ).toEqual(['7:58 out-of-range']);
    expect(selectors('  auto-fast: { strategy: auto-fast, options: { strong_margin: 0 } }\n')).toEqual([
      '7:63 out-of-range',
    ]);
    expect(selectors('  auto: { strategy: auto, options: { margin: 0.1 } }\n')).toHaveLength(1);
    expect(
      selectors(
        '  auto: { strategy: auto, options: { margin: 0.1 } }\n  auto-fast: { strategy: auto-fast, options: { margin: 0.1 } }\n',
      ),
    ).toEqual([]);
  });

  test('are free if `auto` scores each request, because then it limits no selector', () => {
    const more = `selectors:\n  auto: { strategy: weighted }\n  auto-fast: { strategy: auto-fast, options: { margin: 0, strong_margin: 0 } }\n`;
    expect(problems(policyOf(ONE, more))).toEqual([]);
  });

  test('are an error if the one for hard requests is wider', () => {
    expect(
      problems(policyOf(ONE, 'selectors:\n  auto: { strategy: auto, options: { strong_margin: 0.04 } }\n')),
    ).toEqual(['7:36 plugin-failed']);
  });
});

test('found models are part of the order, which is by quality, because nothing else is known', () => {
  const one = (name: string, parameters: number) => ({
    ...{ name, upstream: name, contextWindow: 32_768, isContextGuessed: false, parameters, capabilities: [] },
    ...{ operation: 'chat' as const, dimensions: null, since: 1 },
  });
  const text = 'version: 1\nproviders: { box: { preset: ollama, discover: choose } }\n';
  const server = { provider: 'box', models: [one('a:3b', 3e9), one('b:70b', 70e9)], names: null, digests: [] };
  const context = shippedContext({ OLLAMA_BASE_URL: 'http://127.0.0.1:9' });
  const snapshot = snapshotOf(
    loadPolicy([{ path: 'p.yaml', text }], { ...context, found: { hash: 'f', servers: [server], used: ['box'] } }),
  );
  expect(orderIn(snapshot, 'auto')).toEqual(['box/b:70b', 'box/a:3b']);
});
