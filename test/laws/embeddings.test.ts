import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { InProcessAdapter } from '../../src/contract/provider.ts';
import { OPERATIONS } from '../../src/core/kinds/operations.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { batchesOf, type EmbeddingInput, inputTokensMax } from '../../src/core/request/embedding.ts';
import { readEmbeddingsRequest } from '../../src/dialects/openai-embeddings/surface.ts';
import { openCall } from '../../src/providers/call.ts';
import { openEmbeddings } from '../../src/providers/embeddings.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { facts, model, outcomeOf, snapshot } from '../routing/build.ts';
import { vectorFor } from '../support/embedding-upstream.ts';
import { ALARMS } from '../support/provider-call.ts';

const texts = fc.array(fc.string({ minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 60 });
const limits = fc.record({
  batchInputs: fc.integer({ min: 1, max: 20 }),
  batchTokens: fc.integer({ min: 1, max: 120 }),
});
const inputOf = (text: string, index: number): EmbeddingInput => ({ type: 'text', text, at: ['input', index] });

describe('batches', () => {
  /** The batches joined are the inputs, and an endpoint accepts each batch. */
  const splits = (split: typeof batchesOf) =>
    fc.property(texts, limits, (list, limit) => {
      const inputs = list.map(inputOf);
      const batches = split(inputs, limit, 8);
      const fits = (batch: readonly EmbeddingInput[]) =>
        batch.length > 0 &&
        batch.length <= limit.batchInputs &&
        (batch.length === 1 || batch.reduce((sum, one) => sum + inputTokensMax(one), 0) <= limit.batchTokens);
      return batches.every(fits) && Bun.deepEquals(batches.flat(), inputs);
    });

  test('batches contain the inputs in order, and each batch satisfies the limits of its endpoint', () => {
    fc.assert(splits(batchesOf), { numRuns: 2000 });
  });

  const mutants: Readonly<Record<string, typeof batchesOf>> = {
    'one text too many': (inputs, limit, length) =>
      batchesOf(inputs, { ...limit, batchInputs: limit.batchInputs + 1 }, length),
    'tokens that are not counted': (inputs, limit, length) =>
      batchesOf(inputs, { ...limit, batchTokens: Number.POSITIVE_INFINITY }, length),
    'a lost end': (inputs, limit, length) => batchesOf(inputs, limit, length).slice(0, 3),
    'batches turned round': (inputs, limit, length) => batchesOf(inputs, limit, length).toReversed(),
  };
  for (const [name, mutant] of Object.entries(mutants)) {
    test(`the law of batches detects ${name}`, () => {
      expect(fc.check(splits(mutant), { numRuns: 2000, endOnFailure: true }).failed).toBe(true);
    });
  }
});

/** An endpoint that embeds as `vectorFor` does, and may number the vectors of a batch in any way. */
const endpoint = (indexOf: (at: number) => number): InProcessAdapter => ({
  kind: 'in-process',
  answer: () => [],
  *embed({ inputs, dimensions }) {
    for (const [at, input] of inputs.entries()) {
      const text = input.type === 'text' ? input.text : '';
      yield { type: 'embedding', choice: 0, index: indexOf(at), vector: vectorFor(text, dimensions) };
    }
    yield { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' };
  },
});

const DEADLINES = { connectMs: 1000, firstTokenMs: 1000, idleMs: 1000, totalMs: 60_000 };

describe('an answer', () => {
  const answers = (indexOf: (at: number) => number) =>
    fc.asyncProperty(texts, limits, fc.integer({ min: 1, max: 8 }), async (list, limit, dimensions) => {
      const request = readEmbeddingsRequest({ model: 'm', input: [...list], dimensions });
      const traits = { capabilities: [], lacks: [], acceptsTemperature: true, ttftMs: 0, outputTokensPerSecond: 1 };
      const call = { upstream: 'u', request, extras: {}, stream: false, outputCap: 0, model: traits };
      const target = { adapter: endpoint(indexOf), dial: null, apiKey: null };
      const vectors = { vectorSpace: 's', dimensions: 8, dimensionsMin: 1, ...limit };
      const answer = openEmbeddings(target, call, vectors, (to, one) =>
        openCall(to, one, { deadlines: DEADLINES, totalBy: performance.now() + 60_000, alarms: ALARMS }),
      );
      const found: (readonly number[])[] = [];
      for (let parts = answer.read(); parts !== null; parts = answer.read()) {
        if (parts instanceof Promise) await parts;
        else for (const part of parts) if (part.type === 'embedding') found[part.index] = part.vector;
      }
      return Bun.deepEquals(
        found,
        list.map((text) => vectorFor(text, dimensions)),
      );
    });

  test('an answer joined from batches has the vector of each text at the text’s index', async () => {
    await fc.assert(
      answers((at) => at),
      { numRuns: 300 },
    );
  });

  test('the law of answers detects vectors that are numbered from 1', async () => {
    expect(
      (
        await fc.check(
          answers((at) => at + 1),
          { numRuns: 100, endOnFailure: true },
        )
      ).failed,
    ).toBe(true);
  });
});

describe('vector spaces', () => {
  const SPACES = ['a', 'b', 'c'];
  const decisions = { made: 0, refused: 0 };
  afterAll(() => console.log('vector spaces:', JSON.stringify(decisions)));

  const catalogs = fc.record({
    spaces: fc.array(fc.constantFrom(...SPACES, null), { minLength: 1, maxLength: 8 }),
    space: fc.constantFrom(...SPACES, null),
    alternatives: fc.integer({ min: 0, max: 5 }),
  });

  /** All models of a decision are in the same vector space. */
  const isOneSpace = (disguised: (space: string) => string) =>
    fc.property(catalogs, ({ spaces, space, alternatives }) => {
      const embedding = (vectorSpace: string) => ({
        vectorSpace,
        dimensions: 8,
        dimensionsMin: 8,
        batchInputs: 9,
        batchTokens: Number.POSITIVE_INFINITY,
      });
      const models = spaces.map((one, at) =>
        one === null
          ? model(`m${at}`)
          : model(`m${at}`, { operations: OPERATIONS.embed.bit, embedding: embedding(disguised(one)) }),
      );
      const plain = snapshot(models);
      const auto = { ...plain.selectors.get('auto')!, vectorSpace: space };
      const from: PolicySnapshot = {
        ...plain,
        selectors: new Map([['auto', auto]]),
        gateway: { ...plain.gateway, alternatives },
      };
      const sizes = { inputs: 1, longest: 1, dimensions: null };
      const outcome = outcomeOf(from, facts({ operation: 'embed', outputTokensMax: 0, texts: sizes }));
      if (isRefusal(outcome)) {
        decisions.refused++;
        return space === null || !spaces.includes(space);
      }
      decisions.made++;
      const used = [...outcome.ranked, ...outcome.lastResorts].map(({ model: at }) => from.models[at]!.id);
      return space !== null && used.every((id) => spaces[Number(id.slice(1))] === space);
    });

  test('vector spaces are never mixed in one decision, and a selector without a vector space embeds nothing', () => {
    fc.assert(
      isOneSpace((space) => space),
      { numRuns: 2000 },
    );
    expect(Math.min(decisions.made, decisions.refused)).toBeGreaterThan(50);
  });

  test('the law of vector spaces detects two confused vector spaces', () => {
    const mistaken = (space: string) => (space === 'b' ? 'a' : space);
    expect(fc.check(isOneSpace(mistaken), { numRuns: 2000, endOnFailure: true }).failed).toBe(true);
  });
});
