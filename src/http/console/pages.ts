import type { BuiltConsole } from './built.ts';
import { html, type Markup } from './markup.ts';

/**
 * Nothing from elsewhere, nothing inline, no frame around it, and no text that becomes markup. `fetch` states `Origin` for our own
 * POST in spite of `no-referrer`; a form would state `null`, so there is none.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    ...['script', 'style', 'font', 'img', 'connect'].map((kind) => `${kind}-src 'self'`),
    ...['frame-ancestors', 'base-uri', 'object-src'].map((kind) => `${kind} 'none'`),
    "form-action 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Facts of the page that the client reads before it asks for anything. */
export interface PageFacts {
  /** Host of the issuer at which people sign in; null where they do so by keys alone. */
  readonly issuer: string | null;
  readonly isSignedIn: boolean;
}

/** The page of the client. It is the same for all views. @param path of the request, behind what a proxy has removed */
export function clientPage(path: string, { script, style, icon }: BuiltConsole, { issuer, isSignedIn }: PageFacts) {
  const root = rootFrom(path);
  const asset = (name: string) => `${root}console/assets/${name}`;
  return htmlPage(html`<!doctype html>
<html lang="en" data-base="${root}" data-issuer="${issuer ?? ''}" data-signed-in="${String(isSignedIn)}">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>Signalbox</title>
  <link rel="icon" href="${asset(icon)}">
  <link rel="stylesheet" href="${asset(style)}">
  <script type="module" src="${asset(script)}"></script>
</head>
<body>
  <div id="app"></div>
  <noscript>The console needs JavaScript. Commands and the admin API do without.</noscript>
</body>
</html>
`);
}

/** A page that needs no script. @param title a noun, or what has happened */
export function plainPage(path: string, built: BuiltConsole | null, title: string, content: Markup, status = 200) {
  const href = built && `${rootFrom(path)}console/assets/${built.plainStyle}`;
  const page = html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title} · Signalbox</title>
  ${href && html`<link rel="stylesheet" href="${href}">`}
</head>
<body>
  <main>
    <p class="name">Signalbox</p>
    <h1>${title}</h1>
    ${content}
  </main>
</body>
</html>
`;
  return htmlPage(page, status);
}

const htmlPage = ({ markup }: Markup, status = 200): Response =>
  new Response(markup, { status, headers: { ...PAGE_HEADERS, 'content-type': 'text/html; charset=utf-8' } });

/**
 * The root of the gateway, relative to a path of the console. A proxy may have removed a path and replaced the host, so the browser alone
 * knows where it is.
 */
function rootFrom(path: string): string {
  const depth = path.split('/').length - 2;
  return depth === 0 ? './' : '../'.repeat(depth);
}

/** Sends a browser elsewhere by GET. @param cookies as `cookieText` writes them */
export function sentTo(location: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(null, { status: 303, headers });
}
