import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { RouteQuery } from '../../src/core/api/route-query.ts';
import type { Decision } from '../../src/core/decision/decision.ts';
import { shippedPolicy } from '../policy/support.ts';
import { routeFacts } from '../support/chat-body.ts';
import { decisionOf, loaded, prepared } from './build.ts';

const pages = ['selectors', 'formulas'].map((page) => new URL(`../../docs/route/${page}.md`, import.meta.url));
const text = pages.map((page) => readFileSync(page, 'utf8')).join('\n');
const shipped = loaded(shippedPolicy());
const caller = { keyId: 'k', scopes: new Set(['route'] as const), labels: {}, models: null, limits: null, budgets: [] };
const SELECTORS = ['auto', 'auto-fast', 'auto-cheap'] as const;

const block = (language: string): string => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(text)?.[1] ?? '';
const query = JSON.parse(block('json')) as RouteQuery;
const decide = (model: string): Decision =>
  decisionOf(shipped, routeFacts({ ...query, model }, caller, shipped), prepared(shipped, model));

/** The cells of the example's table, by row. */
const rows = text
  .split('\n')
  .filter((line) => line.startsWith('| sim-'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

describe('docs/route/selectors.md and formulas.md', () => {
  test('the pages have the figures of the shipped policy', () => {
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

  test('the page shows selectors that load', () => {
    const models =
      'models:\n  m: { provider: s, price: { input: 1, output: 1 }, context_window: 9000, max_output: 900, quality: { default: 0.5 } }\n';
    const policy = `version: 1\nproviders: { s: { adapter: simulated } }\n${models}${block('yaml')}`;
    expect([...loaded(policy).selectors.keys()]).toContain('frugal');
  });
});
