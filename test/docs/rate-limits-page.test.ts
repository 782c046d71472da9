import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMISSION_KEYS } from '../../src/policy/schema-limits.ts';
import { load, SMALL, snapshotOf } from '../policy/support.ts';

const TEXT = readFileSync(join(import.meta.dir, '../../docs/rate-limits.md'), 'utf8');

test('the examples of docs/rate-limits.md are right, without a warning', () => {
  const examples = [...TEXT.matchAll(/^```yaml policy\n([\s\S]*?)^```$/gm)].map(([, text = ''], at) => ({
    path: `example-${at}.yaml`,
    text,
  }));
  const result = load([{ path: 'p.yaml', text: SMALL }, ...examples]);
  expect(result.diagnostics).toEqual([]);
  const { rateLimits, gateway } = snapshotOf(result);
  expect(rateLimits.map(({ name }) => name)).toEqual(['per-key', 'free-tier']);
  expect(gateway.admission.trustedProxies).toHaveLength(2);
});

test('it names the defaults in force', () => {
  const told = [...TEXT.matchAll(/^\| `(\w+)`\s*\|\s*(\d+) \|/gm)].map(([, key, figure]) => [key, Number(figure)]);
  const { trusted_proxies: _, ...figures } = ADMISSION_KEYS;
  expect(Object.fromEntries(told)).toEqual(
    Object.fromEntries(Object.entries(figures).map(([key, schema]) => [key, schema.default])),
  );
});
