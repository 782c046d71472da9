import { Elysia } from 'elysia';
import icon from 'swagger-ui-dist/favicon-32x32.png' with { type: 'file' };
import style from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' };
import script from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' };
import { SignalboxError } from '../../core/errors.ts';
import { unlisted } from '../routes.ts';

/** The files that the page loads, all from this server. */
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
 * The page's own plugin for Swagger UI. Error answers are folded to a line that opens, since an operation has up to sixteen. The
 * button of an operation says in words whether a key is set: Swagger UI's icon for "not yet" is an open lock.
 */
const SCRIPT = `const el = (system, ...args) => system.React.createElement(...args);

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

const worded = (Original, system) => (props) =>
  el(system, 'span', { className: system.authSelectors.authorized().size > 0 ? 'key-set' : 'key-missing' },
    el(system, Original, props));

SwaggerUIBundle({
  plugins: [() => ({ wrapComponents: { response: folded, authorizeOperationBtn: worded } })],
  url: '/docs/json',
  dom_id: '#swagger-ui',
  validatorUrl: null,
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  syntaxHighlight: { activated: true, theme: 'agate' },
});
`;

const STYLE = `body { margin: 0; background: #fafafa; }
.swagger-ui .info { margin: 32px 0; }
.swagger-ui .response.folded td { padding: 4px 0; color: #555; font-size: 12px; }
.swagger-ui .response.folded button { border: 1px solid #ccc; border-radius: 4px; background: none; cursor: pointer; font: inherit; }
.swagger-ui .response.folded button::before { content: '+ '; }
.swagger-ui .authorization__btn svg, .swagger-ui .btn.authorize svg { display: none; }
.swagger-ui .btn.authorize span { padding: 4px 0; }
.swagger-ui .key-set .authorization__btn::after { content: 'Key set'; color: #1a7f37; }
.swagger-ui .key-missing .authorization__btn::after { content: 'Set key'; color: #9a6700; }
.swagger-ui .scheme-container { background: none; box-shadow: none; padding: 0 0 16px; }
`;

/** Nothing from another host, and no frame around the page that holds a key. */
const POLICY = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

const text = (body: string, type: string): Response =>
  new Response(body, { headers: { 'content-type': `${type}; charset=utf-8`, 'content-security-policy': POLICY } });

/** Swagger UI at `/docs`, the OpenAPI document at `/docs/json`. The document is made when it is first asked for. */
export function docsRoutes(document: () => Promise<object>) {
  let made: Promise<object> | null = null;
  const hide = unlisted({ access: 'open' });
  return (
    new Elysia({ name: 'docs' })
      .get('/', () => new Response(null, { status: 302, headers: { location: '/docs' } }), hide)
      // Clients ask whether anything is there; they follow no redirect.
      .head('/', () => new Response(null), hide)
      .get('/docs', () => text(PAGE, 'text/html'), hide)
      .get(
        '/docs/json',
        () => {
          made ??= document();
          return made;
        },
        hide,
      )
      .get('/docs/page.js', () => text(SCRIPT, 'text/javascript'), hide)
      .get('/docs/page.css', () => text(STYLE, 'text/css'), hide)
      .get(
        '/docs/:asset',
        ({ params: { asset } }) => {
          const found = ASSETS.get(asset);
          if (!found) throw new SignalboxError('not_found', 'This file does not exist.');
          return new Response(Bun.file(found.file), {
            headers: { 'content-type': found.type, 'cache-control': 'public, max-age=86400' },
          });
        },
        hide,
      )
  );
}
