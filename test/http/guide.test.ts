import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { DOCS_OF_VIEWS } from '../../src/console/docs-of-views.ts';
import { guideRoutes } from '../../src/http/docs/guide.ts';
import { type GuideSection, searchGuide, sectionsOf } from '../../src/http/docs/guide-search.ts';
import { seedOf } from '../deep/effort.ts';

const DOCS = join(import.meta.dir, '../../docs');
const routes = guideRoutes();
const get = (path: string) => routes.handle(new Request(`http://localhost${path}`));
const SEED = seedOf('search of the guide');
/** The links of search results. */
const linksIn = (text: string) => [...text.matchAll(/<li>\s*<a href="([^"]+)"/g)].map(([, href = '']) => href);
const linksOf = (text: string) => [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, href = '']) => href);
const idsOf = (text: string) => new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id));

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
    const ids = new Map<string, ReadonlySet<string>>();
    const fragments: { readonly address: string; readonly url: URL }[] = [];
    for (const address of found) {
      const page = await routes.handle(new Request(address));
      if (page.status !== 200) broken.push(address);
      if (!page.headers.get('content-type')?.startsWith('text/html')) continue;
      const text = await page.text();
      ids.set(address, idsOf(text));
      for (const link of linksOf(text)) {
        const url = new URL(link, address);
        if (url.origin !== 'http://localhost') continue;
        found.add(url.href.replace(/#.*$/, ''));
        if (url.hash !== '') fragments.push({ address, url });
      }
    }
    for (const { address, url } of fragments) {
      const page = url.href.replace(/#.*$/, '');
      if (!ids.get(page)?.has(decodeURIComponent(url.hash.slice(1)))) broken.push(`${address}: ${url.href}`);
    }
    expect(broken).toEqual([]);
    expect(fragments.length).toBeGreaterThan(100);
    expect(found.size).toBeGreaterThan(40);
  });

  test('a page runs no script and loads nothing from another host', async () => {
    const page = await get('/docs/guide/operate/console.md');
    expect(page.headers.get('content-security-policy')).toStartWith(
      "default-src 'none'; style-src 'self'; img-src 'self'",
    );
    expect(await page.text()).not.toMatch(/<script|<style|style=|\bon\w+=/);
  });

  test('the start page is at the address with a slash and without one', async () => {
    const start = await get('/docs/guide/');
    expect(start.status).toBe(200);
    expect(await start.text()).toBe(await (await get('/docs/guide/README.md')).text());
    const moved = await get('/docs/guide');
    expect([moved.status, moved.headers.get('location')]).toEqual([302, 'guide/']);
  });

  test.each(['operate/console.md/', 'operate/console', 'operate/console/', 'spend/../operate/console.md//'])(
    'the address %s leads to the page',
    async (path) => {
      const from = `http://localhost/docs/guide/${path}`;
      const moved = await routes.handle(new Request(from));
      const to = new URL(moved.headers.get('location') ?? '', from);
      expect([moved.status, to.pathname]).toEqual([302, '/docs/guide/operate/console.md']);
    },
  );

  test.each([
    'nothing.md',
    '../package.json',
    '..%2f..%2fpackage.json',
    '%2e%2e/CHANGELOG.md',
    'operate',
    'operate/',
    'nothing',
    'pictures/docs.png/',
  ])('the path "%s" is not a page', async (path) => {
    expect((await get(`/docs/guide/${path}`).catch(() => null))?.status ?? 404).not.toBe(200);
  });
});

describe('the search of the documentation', () => {
  const search = async (query: string) => {
    const page = await get(`/docs/guide/?q=${encodeURIComponent(query)}`);
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self'");
    return page.text();
  };

  test('each page has the form, which sends the words to the start of the guide', async () => {
    const page = await (await get('/docs/guide/spend/budgets.md')).text();
    const [, action = ''] = /<form action="([^"]+)" role="search">/.exec(page) ?? [];
    expect(new URL(action, 'http://localhost/docs/guide/spend/budgets.md').pathname).toBe('/docs/guide/');
  });

  test('a result leads to the heading on its page', async () => {
    const [link = ''] = linksIn(await search('rotate revoke'));
    const { pathname, hash } = new URL(link, 'http://localhost/docs/guide/');
    const page = await (await get(pathname)).text();
    expect(page).toContain(`id="${hash.slice(1)}"`);
  });

  test('a word with the signs of HTML or of a pattern is found or not found, but never becomes markup', async () => {
    for (const query of [
      '<script>alert(1)</script>',
      '"onfocus=alert(1)',
      '.*',
      '(',
      '\\',
      '&lt;',
      '$&',
      'a'.repeat(5_000),
    ]) {
      expect(await search(query)).not.toMatch(/<script|value=""?[^"]*" ?on/);
    }
    expect(await search('zzqqxx')).toContain('No page contains');
  });

  const words = ['alpha', 'beta', 'gamma', 'delta'];
  const section = fc.record({
    ...{ page: fc.constant('a.md'), pageTitle: fc.constantFrom('Alpha', 'Page'), anchor: fc.nat().map(String) },
    ...{ title: fc.constantFrom('Beta', 'Gamma', 'Part') },
    text: fc.array(fc.constantFrom(...words, 'x'), { maxLength: 12 }).map((found) => found.join(' ')),
  });
  const countOf = ({ pageTitle, title, text }: GuideSection, query: readonly string[]): number =>
    query.filter((word) => `${pageTitle} ${title} ${text}`.toLowerCase().includes(word)).length;
  const law = (found: typeof searchGuide) =>
    fc.check(
      fc.property(
        fc.array(section, { maxLength: 15 }),
        fc.uniqueArray(fc.constantFrom(...words), { minLength: 1 }),
        (sections, query) => {
          const most = Math.max(0, ...sections.map((one) => countOf(one, query)));
          const best = sections.filter((one) => most > 0 && countOf(one, query) === most);
          const anchors = found(sections, query.join(' ')).map(({ anchor }) => anchor);
          return Bun.deepEquals(anchors.toSorted(), best.map(({ anchor }) => anchor).toSorted());
        },
      ),
      { seed: SEED },
    );

  test(`a search finds the sections with the most words of the query, and no others (seed ${SEED})`, () => {
    expect(law(searchGuide).counterexample).toBeNull();
    // This mutant finds sections with any of the words.
    expect(
      law((sections, query) =>
        sections.filter((one) => countOf(one, query.split(' ')) > 0).map((one) => ({ ...one, excerpt: '' })),
      ).failed,
    ).toBe(true);
  });

  test.each([
    ['guardrails', 'policies/guards.md#guards'],
    ['redact', 'policies/guards.md#the-guards'],
    ['PII', 'policies/guards.md#the-guards'],
    ['virtual keys', 'spend/keys.md#api-keys'],
    ['load balancing', 'route/spread.md#spread-requests-over-deployments'],
    ['canary', 'policies/choosing.md#roll-out-a-new-model'],
    ['SSO', 'operate/sign-in.md#sign-in'],
    ['fallback', 'route/fallback.md#fallbacks-use-model-b-when-model-a-is-down'],
    ['does an empty budget use fallbacks', 'route/fallback.md#if-a-budget-is-empty'],
    ['can a case test an empty budget', 'policies/testing.md#budgets-in-cases'],
    ['does a cached answer count against the budget', 'policies/cache.md#cached-answers-and-budgets'],
    ['failover', 'route/failover.md#failover'],
    ['what is an audit log', 'operate/trail.md#the-trail'],
    ['multi-tenant', 'operate/people.md#teams-and-users'],
  ])('the words of other tools "%s" lead to %s', async (query, section) => {
    expect(linksIn(await search(query))[0]).toBe(section);
  });

  test('pages about the code come after all other pages', async () => {
    const pages = linksIn(await search('benchmarks cost'));
    const isInternal = pages.map((page) =>
      /^(?:benchmarks|decisions\/|state|architecture|proofs|glossary|comparison|dependencies)/.test(page),
    );
    expect([isInternal.includes(true), isInternal.includes(false)]).toEqual([true, true]);
    expect(isInternal).toEqual(isInternal.toSorted());
  });

  test('a section whose heading has the word comes before a section that only mentions it', () => {
    const [named, mentions] = sectionsOf(
      'a.md',
      '# Page\n\n## Money\n\nText.\n\n## Other\n\nMoney money money.\n',
    ).slice(1);
    expect(searchGuide([mentions!, named!], 'money').map(({ anchor }) => anchor)).toEqual(['money', 'other']);
  });
});
