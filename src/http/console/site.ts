import { SignalboxError } from '../../core/errors.ts';
import { isLoopbackHost } from '../../core/loopback.ts';
import { printable } from '../unknown-path.ts';

/** The address under which a browser has reached the gateway. */
export interface Site {
  /** As people reach it: `public_url`, without a slash at its end. */
  readonly base: string;
  /** Of its own pages. */
  readonly origins: readonly string[];
}

/**
 * The site of a request that may bear a cookie: that of `public_url`, or this machine. A page of another host, whose name leads here
 * since somebody has bent it, gets nothing.
 * @throws SignalboxError `wrong_host`
 */
export function siteOf({ url }: Pick<Request, 'url'>, publicUrl: string | null): Site {
  const { host, hostname } = new URL(url);
  const own = publicUrl === null ? null : new URL(publicUrl);
  const origins = own ? [own.origin] : [];
  const base = publicUrl ?? `http://${host}`;
  if (own && URL.parse(`${own.protocol}//${host}`)?.host === own.host) return { base, origins };
  // A proxy on this machine may speak TLS, or replace the name of the host by its own.
  if (isLoopbackHost(hostname)) return { base, origins: [`http://${host}`, `https://${host}`, ...origins] };
  const advice = own
    ? `Use ${own.href}.`
    : 'Set `public_url` in the policy to the address at which people open the console.';
  throw new SignalboxError('wrong_host', `Logins do not work at the host ${printable(host)}. ${advice}`);
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Refuses a change that no page of our own has sent. @throws SignalboxError `wrong_origin`, which says what to configure */
export function checkOrigin({ method, headers }: Pick<Request, 'method' | 'headers'>, { origins }: Site): void {
  const origin = headers.get('origin');
  if (SAFE.has(method) || (origin !== null && origins.includes(origin))) return;
  const own = origins.map((one) => `\`${one}\``).join(' or ');
  const pass = (does: string) =>
    `If a proxy ${does} the header, configure the proxy to pass \`Origin\` unchanged; Signalbox expects ${own}.`;
  const message =
    origin === null
      ? `The request has no \`Origin\` header, so Signalbox cannot see that its own page sent it. ${pass('removes')}`
      : origin === 'null'
        ? `The header \`Origin: null\` names no page, so Signalbox cannot see that its own page sent the request. A browser sends \`null\` from a sandboxed frame or because of a privacy setting: open the console in a tab of its own, without that setting. ${pass('replaces')}`
        : `The header \`Origin: ${printable(origin)}\` is not the address of this console, which is ${own}. If you use the console at ${printable(origin)}, set \`public_url\` in the policy to that address, and configure the proxy to pass \`Origin\` unchanged.`;
  throw new SignalboxError('wrong_origin', `${message} Programs send an API key instead of the cookie.`);
}
