import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { RouteQuery } from '../../src/api/route-query.ts';
import type { Decision } from '../../src/core/decision.ts';
import { tradeOff } from '../../src/routing/advise.ts';
import { shippedPolicy } from '../policy/support.ts';
import { routeFacts } from '../support/chat-body.ts';
import { decisionOf, loaded, prepared, weighted } from './build.ts';

const pages = ['selectors', 'scoring'].map((page) => new URL(`../../docs/route/${page}.md`, import.meta.url));
const text = pages.map((page) => readFileSync(page, 'utf8')).join('\n');
const flowing = text.replace(/\s+/g, ' ');
const shipped = loaded(shippedPolicy());
const caller = { keyId: 'k', scopes: new Set(['route'] as const), labels: {}, models: null, limits: null, budgets: [] };
const SELECTORS = ['auto', 'auto-fast', 'auto-cheap'] as const;

const block = (language: string): string => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(text)?.[1] ?? '';
const query = JSON.parse(block('json')) as RouteQuery;
const decide = (model: string): Decision =>
  decisionOf(shipped, routeFacts({ ...query, model }, caller, shipped), prepared(shipped, model));
const byWeights = (cost: number, quality: number): string => {
  const request = routeFacts(
    { ...query, route_strategy: { cost_weight: cost, quality_weight: quality } },
    caller,
    shipped,
  );
  return shipped.models[decisionOf(shipped, request, weighted).ranked[0].model]!.id;
};

/** Cells of the example's table by row. */
const rows = text
  .split('\n')
  .filter((line) => line.startsWith('| sim-'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

describe('docs/route/selectors.md and scoring.md', () => {
  test('has the figures of the shipped policy', () => {
    const ranks = SELECTORS.map((selector) => decide(selector).ranked.map(({ model }) => shipped.models[model]!.id));
    expect(rows.map(([id]) => id!)).toEqual(ranks[0]!);
    for (const [at, [id, quality, cost, latency, utility, fast, cheap]] of rows.entries()) {
      const found = decide('auto').ranked[at]!;
      expect(found.quality.toFixed(2)).toBe(quality!);
      expect(found.costCredits.toFixed(2)).toBe(cost!);
      expect(found.latencyMs.toFixed(0)).toBe(latency!);
      const bold = (shown: string, isFirst: boolean) => (isFirst ? `**${shown}**` : shown);
      expect(bold(found.utility.toFixed(3), at === 0)).toBe(utility!);
      const place = (ids: readonly string[]) => {
        const rank = ids.indexOf(id!);
        return bold(['1st', '2nd', '3rd', '4th'][rank]!, rank === 0);
      };
      expect([place(ranks[1]!), place(ranks[2]!)]).toEqual([fast!, cheap!]);
    }
  });

  test('has the reference cost, the price of a percentage point and their consequences', () => {
    const { inputTokens } = routeFacts(query, caller, shipped);
    const { input, output } = shipped.referencePrice;
    const reference = (inputTokens * input + shipped.tasks[0]!.expectedOutputTokens * output) / 1e6;
    const worth = shipped.answerWorth * reference;
    expect(flowing).toContain(`= ${reference} Credits, and a good answer is worth \`v·C_ref\` = ${worth} Credits`);
    expect(flowing).toContain(
      `a percentage point of quality may cost ${((0.01 * worth * 0.7) / 0.3).toFixed(2)} Credits`,
    );
    expect(flowing).toContain(
      `With the weights exchanged one may cost ${((0.01 * worth * 0.3) / 0.7).toFixed(2)} Credits`,
    );
    const [large, , small] = decide('auto').ranked;
    const points = Math.round((large!.quality - small!.quality) * 100);
    const more = large!.costCredits - small!.costCredits;
    expect(flowing).toContain(
      `has ${points} more of them than sim-small for ${more.toFixed(2)} Credits, ${(more / points).toFixed(2)} each`,
    );
    expect(flowing).toContain(tradeOff(small!, large!));
    expect([byWeights(0.3, 0.7), byWeights(3, 7), byWeights(0.7, 0.3)]).toEqual([
      'sim-large',
      'sim-large',
      'sim-small',
    ]);
  });

  test('states the shipped options and settings', () => {
    const options = SELECTORS.map((selector) => shipped.selectors.get(selector)!.options);
    expect(options[0]).toEqual({ quality: 0.8, cost: 0.15, latency: 0.05, patience_ms: 60_000 });
    expect(options[1]).toEqual({ ...options[0], emphasis: 12, patience_ms_per_token: 60 });
    expect(options[2]).toEqual({ ...options[0], emphasis: 16 });
    const [{ costCredits, latencyMs }] = decide('auto').ranked;
    const loses = (weight: number, share: number) => (weight * share).toFixed(2);
    expect(flowing).toContain(
      `Its weights are 0.8, 16 × 0.15 and 0.05: sim-large loses 2.4 × ${costCredits.toFixed(2)} ÷ 42 = ${loses(2.4, costCredits / 42)} for its cost,`,
    );
    expect(flowing).toContain(
      `Its weights are 0.8, 0.15 and 12 × 0.05: sim-large loses 0.6 × ${latencyMs.toFixed(0)} ÷ 30,000 = ${loses(0.6, latencyMs / 30_000)} for its time.`,
    );
    expect(flowing).toContain(`(${shipped.gateway.alternatives} in the shipped policy)`);
    expect(flowing).toContain(`\`v\`, ${shipped.answerWorth} in the shipped policy`);
    expect(flowing).toContain(`\`hard_quality_factor\` times, ${shipped.hardQualityFactor} as shipped`);
  });

  test('shows selectors that load', () => {
    const models =
      'models:\n  m: { provider: s, price: { input: 1, output: 1 }, context_window: 9000, max_output: 900, quality: { default: 0.5 } }\n';
    const policy = `version: 1\nproviders: { s: { adapter: simulated } }\n${models}${block('yaml')}`;
    expect([...loaded(policy).selectors.keys()]).toContain('frugal');
  });
});
