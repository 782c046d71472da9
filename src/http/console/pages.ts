import type { BuiltConsole } from './built.ts';
import { html, type Markup } from './markup.ts';

/**
 * Security headers: the page loads nothing from other hosts, has no inline code, cannot be framed, and turns no text into markup. With
 * `no-referrer`, `fetch` still sends the page's `Origin` in a POST but a form would send `null`, so the page uses no forms.
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

/** Facts in the page that the client needs before its first request. */
export interface PageFacts {
  /** The host of the OpenID issuer; null if people can sign in only with keys. */
  readonly issuer: string | null;
  readonly isSignedIn: boolean;
}

/**
 * The page of the web application. The page is the same for all views.
 * @param path of the request, without a prefix that a proxy has removed
 */
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

/**
 * A page without a script.
 * @param title a noun, or what has happened
 */
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
 * The root of the gateway, relative to a path of the console. Only the browser knows the full address, because a proxy may remove a path
 * prefix and replace the host.
 */
function rootFrom(path: string): string {
  const depth = path.split('/').length - 2;
  return depth === 0 ? './' : '../'.repeat(depth);
}

/**
 * Redirects a browser with GET.
 * @param cookies as written by `cookieText`
 */
export function sentTo(location: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(null, { status: 303, headers });
}
