import { Elysia } from 'elysia';
import icon from 'swagger-ui-dist/favicon-32x32.png' with { type: 'file' };
import style from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' };
import script from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' };
import { SignalboxError } from '../../core/errors.ts';
import { importedFile } from '../../host/program.ts';
import { unlisted } from '../kit/route-table.ts';
import { guideRoutes } from './guide.ts';
import { llmsRoutes } from './llms.ts';

/** The files of Swagger UI that the page loads from this server. */
const ASSETS: ReadonlyMap<string, { readonly file: string; readonly type: string }> = new Map([
  ['swagger-ui.css', { file: style, type: 'text/css; charset=utf-8' }],
  ['swagger-ui-bundle.js', { file: script, type: 'text/javascript; charset=utf-8' }],
  ['favicon-32x32.png', { file: icon, type: 'image/png' }],
]);

const PAGE = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Signalbox API</title>
  <link rel="icon" href="/docs/favicon-32x32.png">
  <link rel="stylesheet" href="/docs/swagger-ui.css">
  <link rel="stylesheet" href="/docs/page.css">
</head>
<body>
  <div id="swagger-ui"></div>
  <script src="/docs/swagger-ui-bundle.js"></script>
  <script src="/docs/page.js"></script>
</body>
</html>
`;

/**
 * A plugin for Swagger UI. A field above the operations receives the key, instead of a dialog with a field for each header. Each operation
 * shows whether the key is set, and links to the field. Error responses are collapsed to one line, because an operation has up to sixteen.
 */
const SCRIPT = `const el = (system, ...args) => system.React.createElement(...args);

const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

const folded = (Original, system) => (props) => {
  const [isOpen, open] = system.React.useState(Number(props.code) < 400);
  if (isOpen) return el(system, Original, props);
  const text = String(props.response.get('description') ?? '');
  const codes = [...text.matchAll(/^- .(\\w+)/gm)].map(([, code]) => code).join(', ');
  return el(system, 'tr', { className: 'response folded' },
    el(system, 'td', { className: 'response-col_status' },
      el(system, 'button', { type: 'button', 'aria-expanded': false, onClick: () => open(true) }, props.code)),
    el(system, 'td', { className: 'response-col_description', colSpan: 2 }, codes));
};

const hasKey = (system) => system.authSelectors.authorized().size > 0;

const keyBox = (_, system) => () =>
  el(system, 'div', { className: 'key-box' },
    el(system, 'label', { htmlFor: 'key' }, 'API key'),
    el(system, 'input', { id: 'key', type: 'password', autoComplete: 'off', spellCheck: false, placeholder: 'sb_live_…',
      onChange: ({ target }) => {
        const key = target.value.trim();
        if (key) ui.preauthorizeApiKey('apiKey', key);
        else system.authActions.logout(['apiKey']);
      } }),
    el(system, 'span', { className: hasKey(system) ? 'key-set' : 'key-missing' },
      hasKey(system) ? 'Sent with every request of this page' : 'Needed for “Execute”'));

const keyState = (_, system) => () =>
  el(system, 'button', { type: 'button', className: hasKey(system) ? 'key-set' : 'key-missing',
    onClick: (event) => { event.stopPropagation(); document.getElementById('key').focus(); } },
    hasKey(system) ? 'Key set' : 'Set key');

const ui = SwaggerUIBundle({
  plugins: [() => ({ wrapComponents: {
    response: folded,
    AuthorizeBtnContainer: keyBox,
    authorizeOperationBtn: keyState,
    ServersContainer: () => () => null,
  } })],
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  validatorUrl: null,
  deepLinking: true,
  docExpansion: 'none',
  displayRequestDuration: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  syntaxHighlight: { activated: true, theme: 'agate' },
});
`;

/** Replaces colours of Swagger UI with too little contrast. Text has at least 4.5 : 1 in both themes. */
const STYLE = `:root { --dim: #59636e; --line: #d0d7de; --good: #1a7f37; --due: #9a6700; --paper: #ffffff; }
html.dark-mode { --dim: #b7bcbf; --line: #545d61; --good: #3fb950; --due: #d29922; --paper: #1c2022; }
body { margin: 0; background: var(--paper); }
.swagger-ui .info { margin: 32px 0 24px; }
.swagger-ui .info .title { font-size: 28px; }
.swagger-ui .info .title small { top: -4px; margin-left: 8px; }
.swagger-ui .info .title small, .swagger-ui .info .title small.version-stamp { background: #59636e; }
.swagger-ui .info hgroup.main a, .swagger-ui .info .info__license a { color: #0969da; }
html.dark-mode .swagger-ui .info hgroup.main a, html.dark-mode .swagger-ui .info .info__license a { color: #51a8ff; }
html .swagger-ui .scheme-container.scheme-container { background: none; border: 0; box-shadow: none; margin: 0; padding: 0 0 16px; }
.swagger-ui .scheme-container .schemes { display: block; }
.swagger-ui .key-box { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 12px; font-size: 14px; }
.swagger-ui .key-box label { margin: 0; font-size: 14px; }
html.dark-mode .swagger-ui label, html.dark-mode .swagger-ui .examples-select__section-label { color: #e4e6e6; }
.swagger-ui .key-box input { flex: 0 1 420px; min-width: 0; margin: 0; padding: 8px 12px; font: 14px monospace; }
.swagger-ui .key-set { color: var(--good); }
.swagger-ui .key-missing { color: var(--due); }
.swagger-ui button.key-set, .swagger-ui button.key-missing { border: 0; background: none; padding: 8px; cursor: pointer; font-size: 14px; white-space: nowrap; }
.swagger-ui .opblock-tag { font-size: 16px; padding: 12px 8px; gap: 16px; }
.swagger-ui .opblock-tag > a { flex: 0 0 250px; }
.swagger-ui .opblock-tag small .renderedMarkdown code { background: none; padding: 0; color: inherit; font-size: 14px; font-weight: 400; }
.swagger-ui .opblock-tag small { flex: 1; padding: 0; font-size: 14px; color: var(--dim); }
.swagger-ui .opblock-tag small p { margin: 0; }
.swagger-ui .opblock .opblock-summary-method { color: #ffffff; }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #1a7f37; }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #0969da; }
.swagger-ui .opblock.opblock-put .opblock-summary-method { background: #9a6700; }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #cf222e; }
.swagger-ui .response.folded td { padding: 4px 0; color: var(--dim); font-size: 12px; }
.swagger-ui .response.folded button { border: 1px solid var(--line); border-radius: 4px; background: none; color: inherit; cursor: pointer; font: inherit; }
.swagger-ui .response.folded button::before { content: '+ '; }
@media (max-width: 640px) {
  .swagger-ui .opblock-tag { flex-wrap: wrap; gap: 4px 16px; }
  .swagger-ui .opblock-tag > a { flex: 1 1 60%; }
  .swagger-ui .opblock-tag small { order: 3; flex: 1 0 100%; }
}
`;

/** The page loads nothing from other hosts and cannot be framed, because it holds a key. */
const POLICY = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

const text = (body: string, type: string): Response =>
  new Response(body, { headers: { 'content-type': `${type}; charset=utf-8`, 'content-security-policy': POLICY } });

/** How many bytes of the document one client may keep in memory. Clients need no key to read the document, and may read it slowly. */
const SLICE_BYTES = 65_536;

/** Sends bytes that all clients share, as fast as each client reads. */
function inSlices(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream(
    {
      pull(controller) {
        controller.enqueue(bytes.slice(at, at + SLICE_BYTES));
        at += SLICE_BYTES;
        if (at >= bytes.length) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Serves Swagger UI at `/docs`, and the OpenAPI document at `/openapi.json` and `/docs/json`. The first request creates the document. */
export function docsRoutes(document: () => Promise<object>) {
  let made: Promise<Uint8Array<ArrayBuffer>> | null = null;
  const hide = unlisted({ access: 'open' });
  const json = async () => {
    made ??= document().then((found) => new TextEncoder().encode(JSON.stringify(found)));
    return new Response(inSlices(await made), { headers: { 'content-type': 'application/json;charset=utf-8' } });
  };
  return (
    new Elysia({ name: 'docs' })
      .use(guideRoutes())
      .use(llmsRoutes())
      .get('/', () => new Response(null, { status: 302, headers: { location: '/docs' } }), hide)
      // Some clients check with HEAD whether a server is there, and do not follow redirects.
      .head('/', () => new Response(null), hide)
      .get('/docs', () => text(PAGE, 'text/html'), hide)
      .get('/docs/', () => text(PAGE, 'text/html'), hide)
      .get('/openapi.json', json, hide)
      .get('/docs/json', json, hide)
      .get('/docs/page.js', () => text(SCRIPT, 'text/javascript'), hide)
      .get('/docs/page.css', () => text(STYLE, 'text/css'), hide)
      .get(
        '/docs/:asset',
        ({ params: { asset } }) => {
          const found = ASSETS.get(asset);
          if (!found) throw new SignalboxError('not_found', 'This file does not exist.');
          return new Response(Bun.file(importedFile(found.file)), {
            headers: { 'content-type': found.type, 'cache-control': 'public, max-age=86400' },
          });
        },
        hide,
      )
  );
}
