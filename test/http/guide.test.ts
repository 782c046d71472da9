import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DOCS_OF_VIEWS } from '../../src/console/docs-of-views.ts';
import { guideRoutes } from '../../src/http/docs/guide.ts';

const DOCS = join(import.meta.dir, '../../docs');
const routes = guideRoutes();
const get = (path: string) => routes.handle(new Request(`http://localhost${path}`));
const linksOf = (text: string) => [...text.matchAll(/(?:href|src)="([^"#]+)[^"]*"/g)].map(([, href = '']) => href);

describe('the pages of the documentation that the server serves', () => {
  test.each(Object.entries(DOCS_OF_VIEWS))('the console view %s links to the page %s', async (_, docs) => {
    const page = await get(`/docs/guide/${docs}`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const title = /^# (.*)$/m.exec(readFileSync(join(DOCS, docs), 'utf8'))?.[1];
    expect(await page.text()).toContain(`>${title}</h1>`);
  });

  test('each page that a reader reaches from the list of pages has links that work', async () => {
    const start = 'http://localhost/docs/guide/README.md';
    const found = new Set([start]);
    const broken: string[] = [];
    for (const address of found) {
      const page = await routes.handle(new Request(address));
      if (page.status !== 200) broken.push(address);
      if (!page.headers.get('content-type')?.startsWith('text/html')) continue;
      for (const link of linksOf(await page.text())) {
        const { origin, href } = new URL(link, address);
        if (origin === 'http://localhost') found.add(href);
      }
    }
    expect(broken).toEqual([]);
    expect(found.size).toBeGreaterThan(40);
  });

  test('a page runs no script and loads nothing from another host', async () => {
    const page = await get('/docs/guide/operate/console.md');
    expect(page.headers.get('content-security-policy')).toStartWith(
      "default-src 'none'; style-src 'self'; img-src 'self'",
    );
    expect(await page.text()).not.toMatch(/<script|<style|style=|\bon\w+=/);
  });

  test.each([
    '',
    'nothing.md',
    '../package.json',
    '..%2f..%2fpackage.json',
    '%2e%2e/CHANGELOG.md',
    'README',
    'operate',
  ])('the path "%s" is not a page', async (path) => {
    expect((await get(`/docs/guide/${path}`).catch(() => null))?.status ?? 404).not.toBe(200);
  });
});
