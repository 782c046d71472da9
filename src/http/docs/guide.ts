import { dirname, join, normalize } from 'node:path';
import { Elysia } from 'elysia';
import { SignalboxError } from '../../core/errors.ts';
import { shippedFolder } from '../../host/program.ts';
import { html, type Markup } from '../console/markup.ts';
import { unlisted } from '../kit/route-table.ts';
import {
  type GuideHit,
  type GuideSection,
  pageMarkup,
  QUERY_MAX,
  readGuide,
  searchGuide,
  wordsOf,
} from './guide-search.ts';

const DOCS = shippedFolder('docs');

/** A file of `docs/`, with no way out of that folder. */
const FILE = /^(?:[A-Za-z0-9-]+\/)*[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.(?:md|svg|webp|png)$/;

/** The pages need no script, and load nothing from another host. Their only form sends a search to this server. */
const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** The page with the list of all pages, which is also the start of the guide. */
export const START = 'README.md';

/**
 * The pages of `docs/` at `/docs/guide/`, under the names of their files, such as `/docs/guide/spend/budgets.md`. The console links to
 * them, so that its reader gets the pages of the version that runs, also without access to the internet. `/docs/guide/?q=` searches them;
 * the first search reads all pages.
 */
export function guideRoutes() {
  const open = unlisted({ access: 'open' });
  let guide: Promise<readonly GuideSection[]> | null = null;
  const search = async (query: string) => {
    guide ??= readGuide(DOCS);
    return resultsPage(query, searchGuide(await guide, query));
  };
  const start = ({ request }: { readonly request: Request }) => {
    const { pathname, search: text, searchParams } = new URL(request.url);
    // Links on the start page are relative to the address with a slash.
    if (!pathname.endsWith('/')) return moved(`guide/${text}`);
    const query = searchParams.get('q') ?? '';
    return query.trim() === '' ? pageOf(START) : search(query);
  };
  return new Elysia({ name: 'guide', strictPath: true })
    .get('/docs/guide.css', () => answer(STYLE, 'text/css; charset=utf-8'), open)
    .get('/docs/guide', start, open)
    .get('/docs/guide/', start, open)
    .get('/docs/guide/*', ({ params }) => pageAt(params['*']), open);
}

/** Answers with a page, or leads from an address with a slash or without `.md` to the page. @throws SignalboxError `not_found` */
async function pageAt(name: string): Promise<Response> {
  const trimmed = name.replace(/\/+$/, '');
  const page = trimmed.endsWith('.md') || FILE.test(trimmed) ? trimmed : `${trimmed}.md`;
  if (page === name || !FILE.test(page) || !(await Bun.file(join(DOCS, page)).exists())) return pageOf(name);
  return moved('../'.repeat(name.split('/').length - 1) + page);
}

/** @param to a relative address, because a proxy may serve Signalbox below a path */
const moved = (to: string): Response => new Response(null, { status: 302, headers: { location: to } });

/**
 * Finds a file of the documentation by its name.
 * @throws SignalboxError `not_found`
 */
export async function pageFile(name: string): Promise<Bun.BunFile> {
  const file = Bun.file(join(DOCS, name));
  if (FILE.test(name) && (await file.exists())) return file;
  throw new SignalboxError('not_found', 'The documentation has no such page. /docs/guide/README.md lists all pages.');
}

/** @throws SignalboxError `not_found` */
async function pageOf(name: string): Promise<Response> {
  const file = await pageFile(name);
  if (!name.endsWith('.md')) return answer(file, file.type);
  const text = await file.text();
  const title = /^# (.*)$/m.exec(text)?.[1] ?? name;
  const body = new HTMLRewriter()
    .on('a[href]', {
      element(link) {
        // Pages also link to sources of the repository, which the server does not have.
        if (leavesDocs(name, link.getAttribute('href') ?? '')) link.removeAttribute('href');
      },
    })
    .transform(pageMarkup(text));
  return framed(title.replaceAll('`', ''), name, { markup: body });
}

function resultsPage(query: string, hits: readonly GuideHit[]): Response {
  const shown = query.slice(0, QUERY_MAX).trim();
  const words = wordsOf(shown);
  const list = hits.map(
    ({ page, pageTitle, anchor, title, excerpt }) => html`<li>
      <a href="${`${page}#${anchor}`}">${title === pageTitle ? title : `${pageTitle}: ${title}`}</a>
      <p>${marked(excerpt, words)}</p>
    </li>
    `,
  );
  const result =
    hits.length === 0
      ? html`<p>No page contains these words. Try another word, or look at <a href="${START}">all pages</a>.</p>`
      : html`<ol class="results">${list}</ol>`;
  return framed(`Search: ${shown}`, START, html`<h1>Search: ${shown}</h1>${result}`, shown);
}

/** Marks the words of a query in a text. */
function marked(text: string, words: readonly string[]): Markup {
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const parts = text.split(new RegExp(`(${pattern})`, 'gi'));
  return html`${parts.map((part, at) => (at % 2 === 1 ? html`<mark>${part}</mark>` : part))}`;
}

/**
 * The page around a text: the link to all pages, and the search.
 * @param name the file of the page, to which its links are relative
 */
function framed(title: string, name: string, body: Markup, query = ''): Response {
  const root = '../'.repeat(name.split('/').length);
  const page = html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title} · Signalbox</title>
  <link rel="stylesheet" href="${root}guide.css">
</head>
<body>
  <nav>
    <a href="${`${root}guide/${START}`}">All pages</a>
    <form action="${`${root}guide/`}" role="search">
      <input type="search" name="q" value="${query}" maxlength="${String(QUERY_MAX)}" aria-label="Search the documentation" placeholder="Search" required>
      <button>Search</button>
    </form>
  </nav>
  <main>${body}</main>
</body>
</html>
`;
  return answer(page.markup, 'text/html; charset=utf-8');
}

/** Whether a link of a page leads to a file that the server does not have. */
export function leavesDocs(page: string, href: string): boolean {
  if (/^(?:[a-z]+:|#)/.test(href)) return false;
  return !FILE.test(normalize(join(dirname(page), href.replace(/#.*$/, ''))));
}

export const answer = (body: string | Blob, type: string): Response =>
  new Response(body, {
    headers: { 'content-type': type, 'content-security-policy': POLICY, 'x-content-type-options': 'nosniff' },
  });

const STYLE = `:root { color-scheme: light dark; --text: #1f2328; --dim: #59636e; --line: #d0d7de; --link: #0969da; --code: #f3f4f6; --paper: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e8ea; --dim: #a4adb6; --line: #3d444d; --link: #58a6ff; --code: #22272e; --paper: #15191e; }
}
body { margin: 0 auto; padding: 24px 16px 64px; max-width: 800px; background: var(--paper); color: var(--text); font: 16px/1.6 system-ui, sans-serif; overflow-wrap: break-word; }
nav { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 8px 16px; font-size: 14px; }
form { display: flex; gap: 8px; }
input, button { padding: 6px 12px; border: 1px solid var(--dim); border-radius: 4px; background: var(--paper); color: inherit; font: inherit; }
input { flex: 1 1 200px; min-width: 0; }
button { cursor: pointer; }
.results { padding: 0; list-style: none; }
.results li { margin-bottom: 16px; }
.results p { margin: 0; color: var(--dim); font-size: 14px; }
mark { background: none; color: var(--text); font-weight: 600; }
h1 { font-size: 28px; line-height: 1.25; }
h2 { margin-top: 32px; font-size: 20px; }
a[href] { color: var(--link); }
a:not([href]) { color: inherit; }
code, pre { background: var(--code); border-radius: 4px; font: 14px/1.5 ui-monospace, monospace; }
code { padding: 2px 4px; }
pre { padding: 12px 16px; overflow-x: auto; }
pre code { padding: 0; }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: 14px; }
th, td { padding: 8px 12px; border: 1px solid var(--line); text-align: left; vertical-align: top; }
img { max-width: 100%; height: auto; }
`;
