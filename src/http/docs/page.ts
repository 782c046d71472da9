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

const SCRIPT = `SwaggerUIBundle({
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
  return new Elysia({ name: 'docs' })
    .get('/', () => new Response(null, { status: 302, headers: { location: '/docs' } }), hide)
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
        if (!found) throw new SignalboxError('not_found', 'There is no such file.');
        return new Response(Bun.file(found.file), {
          headers: { 'content-type': found.type, 'cache-control': 'public, max-age=86400' },
        });
      },
      hide,
    );
}
