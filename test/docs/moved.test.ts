import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCS = join(import.meta.dir, '../../docs');

/** The pages that 0.1 had. */
const PAGES =
  `README architecture benchmarks comparison dependencies diagnostics editor errors estimators explain failover
  failure-modes feedback idempotency importing install keys learning ledger limits logs metrics operations payments plugins
  policy-diff policy-language policy-reference policy-testing policy privacy proofs providers rate-limits reload routing
  security traces`.split(/\s+/);

/** The pages that alarms, manifests, policies and commands of 0.1 name. */
const NAMED = ['errors', 'failover', 'feedback', 'install', 'operations', 'policy', 'policy-language', 'providers'];

test('every page of 0.1 is there, or docs/moved.md leads on from it', () => {
  const moved = readFileSync(join(DOCS, 'moved.md'), 'utf8');
  const rows = [...moved.matchAll(/^\| `([a-z-]+)\.md` +\| \[[^\]]+\]\(([^)#]+)/gm)];
  for (const [, , now] of rows) expect(existsSync(join(DOCS, now!)), now).toBe(true);
  const lost = PAGES.filter((page) => !existsSync(join(DOCS, `${page}.md`)) && !rows.some(([, name]) => name === page));
  expect(lost).toEqual([]);
});

test('an address that 0.1 has written into files of operators leads on by itself', () => {
  for (const page of NAMED) expect(readFileSync(join(DOCS, `${page}.md`), 'utf8')).toContain('This page is now [');
});
