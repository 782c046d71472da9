import { html, type Markup } from './markup.ts';

const STYLE = `
:root { color-scheme: light dark; --ink: #1f2328; --dim: #59636e; --line: #d0d7de; --paper: #ffffff; --ground: #f6f8fa; --accent: #0969da; --on: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --dim: #9da7b3; --line: #3d444d; --paper: #161b22; --ground: #0d1117; --accent: #4493f8; --on: #0d1117; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: start center; padding: 64px 16px; background: var(--ground); color: var(--ink); font: 14px/20px system-ui, sans-serif; }
main { width: 100%; max-width: 440px; padding: 32px; background: var(--paper); border: 1px solid var(--line); border-radius: 8px; }
.name { margin: 0 0 24px; color: var(--dim); font-size: 12px; line-height: 16px; }
h1 { margin: 0 0 8px; font-size: 20px; line-height: 28px; font-weight: 600; overflow-wrap: anywhere; }
p { margin: 0 0 16px; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 8px 16px; margin: 16px 0 24px; }
dt { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
a { color: var(--accent); }
.button, button { display: inline-block; padding: 8px 16px; border: 1px solid var(--accent); border-radius: 6px; background: var(--accent); color: var(--on); font: inherit; font-weight: 600; text-decoration: none; cursor: pointer; }
button { border-color: var(--line); background: var(--paper); color: var(--ink); }
.button:focus-visible, button:focus-visible, a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
footer { margin-top: 24px; padding-top: 16px; border-top: 1px solid var(--line); }
`;

/** Nothing from elsewhere, no script, and no frame around it. */
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** A page of the console. @param title a noun, or what has happened */
export function page(title: string, content: Markup, status = 200): Response {
  const body = html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title} · Signalbox</title>
  <style>${{ markup: STYLE }}</style>
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
  return new Response(body.markup, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'cache-control': 'no-store',
      // `no-referrer` would make browsers send `Origin: null` with our own forms.
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    },
  });
}

/** Sends a browser elsewhere by GET. @param cookies as `cookieText` writes them */
export function sentTo(location: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'same-origin' });
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(null, { status: 303, headers });
}
