import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { llmsRoutes } from '../../src/http/docs/llms.ts';

const DOCS = join(import.meta.dir, '../../docs');
const routes = llmsRoutes();
const get = (address: string) => routes.handle(new Request(address));
const LIST = 'http://localhost/llms.txt';
/** The addresses that a Markdown text links to on this server, without fragments. */
const linksIn = (text: string, base: string): string[] =>
  [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
    .map(([, href = '']) => new URL(href, base))
    .filter(({ origin, pathname }) => origin === 'http://localhost' && /\.(md|svg|webp|png)$/.test(pathname))
    .map(({ href }) => href);

test('a program that reads /llms.txt reaches every page as Markdown, and the OpenAPI document', async () => {
  const list = await get(LIST);
  const text = await list.text();
  expect(list.headers.get('content-type')).toStartWith('text/plain');
  expect(text).toStartWith('# Signalbox\n\n> ');
  expect(text).toContain('(openapi.json)');
  const found = new Set(linksIn(text, LIST));
  const broken: string[] = [];
  for (const address of found) {
    const page = await get(address);
    if (page.status !== 200) broken.push(address);
    if (page.headers.get('content-type')?.startsWith('text/markdown')) {
      const inside = linksIn(await page.text(), address).filter((link) => link.startsWith('http://localhost/docs/'));
      for (const link of inside) found.add(link);
    }
  }
  expect(broken.filter((address) => address.startsWith('http://localhost/docs/markdown/'))).toEqual([]);
  const pages = readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
  const unlinked = pages.filter((name) => !found.has(`http://localhost/docs/markdown/${name}`));
  // The decisions are for people who change Signalbox, and the list of pages is the list itself.
  expect(unlinked.filter((name) => !name.startsWith('decisions/') && name !== 'README.md')).toEqual([]);
  expect(linksIn(text, LIST)).toContain('http://localhost/docs/markdown/start.md');
});

test('a page is sent as its file', async () => {
  const page = await get('http://localhost/docs/markdown/spend/budgets.md');
  expect(page.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
  expect(await page.text()).toBe(readFileSync(join(DOCS, 'spend/budgets.md'), 'utf8'));
});

test('the address that the documentation names shows the list of pages', async () => {
  const page = await get('http://localhost/docs/markdown/');
  expect(await page.text()).toBe(readFileSync(join(DOCS, 'README.md'), 'utf8'));
});

test.each(['..%2f..%2fpackage.json', 'no-such-page.md', 'start'])('%p is not found', async (name) => {
  expect((await get(`http://localhost/docs/markdown/${name}`)).status).not.toBe(200);
});
