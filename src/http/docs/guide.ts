import { dirname, join, normalize } from 'node:path';
import { Elysia } from 'elysia';
import { SignalboxError } from '../../core/errors.ts';
import { html } from '../console/markup.ts';
import { unlisted } from '../route-table.ts';

const DOCS = join(import.meta.dir, Bun.isStandaloneExecutable ? 'docs' : '../../../docs');

/** A file of `docs/`, with no way out of that folder. */
const FILE = /^(?:[A-Za-z0-9-]+\/)*[A-Za-z0-9-]+\.(md|svg|webp|png)$/;

/** The pages need no script, and load nothing from another host. */
const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * The pages of `docs/` at `/docs/guide/`, under the names of their files, such as `/docs/guide/spend/budgets.md`. The console links to
 * them, so that its reader gets the pages of the version that runs, also without access to the internet.
 */
export function guideRoutes() {
  const open = unlisted({ access: 'open' });
  return new Elysia({ name: 'guide' })
    .get('/docs/guide.css', () => answer(STYLE, 'text/css; charset=utf-8'), open)
    .get('/docs/guide/*', ({ params }) => pageOf(params['*']), open);
}

/** @throws SignalboxError `not_found` */
async function pageOf(name: string): Promise<Response> {
  const [, extension] = FILE.exec(name) ?? [];
  const file = Bun.file(join(DOCS, name));
  if (extension === undefined || !(await file.exists())) {
    throw new SignalboxError('not_found', 'The documentation has no such page. /docs/guide/README.md lists all pages.');
  }
  if (extension !== 'md') return answer(file, file.type);
  const text = await file.text();
  const title = /^# (.*)$/m.exec(text)?.[1] ?? name;
  const body = new HTMLRewriter()
    .on('a[href]', {
      element(link) {
        // Pages also link to sources of the repository, which the server does not have.
        if (leavesDocs(name, link.getAttribute('href') ?? '')) link.removeAttribute('href');
      },
    })
    .transform(Bun.markdown.html(text, { headings: { ids: true } }));
  const root = '../'.repeat(name.split('/').length);
  const page = html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title.replaceAll('`', '')} · Signalbox</title>
  <link rel="stylesheet" href="${root}guide.css">
</head>
<body>
  <nav><a href="${`${root}guide/README.md`}">All pages</a></nav>
  <main>${{ markup: body }}</main>
</body>
</html>
`;
  return answer(page.markup, 'text/html; charset=utf-8');
}

function leavesDocs(page: string, href: string): boolean {
  if (/^(?:[a-z]+:|#)/.test(href)) return false;
  return !FILE.test(normalize(join(dirname(page), href.replace(/#.*$/, ''))));
}

const answer = (body: string | Blob, type: string): Response =>
  new Response(body, {
    headers: { 'content-type': type, 'content-security-policy': POLICY, 'x-content-type-options': 'nosniff' },
  });

const STYLE = `:root { color-scheme: light dark; --text: #1f2328; --dim: #59636e; --line: #d0d7de; --link: #0969da; --code: #f3f4f6; --paper: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e8ea; --dim: #a4adb6; --line: #3d444d; --link: #58a6ff; --code: #22272e; --paper: #15191e; }
}
body { margin: 0 auto; padding: 24px 16px 64px; max-width: 800px; background: var(--paper); color: var(--text); font: 16px/1.6 system-ui, sans-serif; overflow-wrap: break-word; }
nav { font-size: 14px; }
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
