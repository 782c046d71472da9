import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import { UsageError } from '../../core/usage-error.ts';
import { parseFlags, SWITCH, TEXT } from './arguments.ts';
import { jsonText } from './text.ts';

/** How long the command waits for an answer, ms. */
const WAIT_MS = 3_000;

const FLAGS = { url: TEXT, ready: SWITCH, json: SWITCH };

/** Runs `signalbox health`. Throws UsageError unless the server answers in time that it is healthy. */
export async function runHealth(args: readonly string[], port: number): Promise<string> {
  const { url = `http://127.0.0.1:${port}`, ready, json } = parseFlags(args, FLAGS);
  const path = ready ? '/readyz' : '/healthz';
  const { shown, target } = addressOf(url, path);
  const status = await statusOf(target, shown);
  if (status !== 200)
    throw new UsageError(`${shown} answered with status ${status}: the server is not ${ready ? 'ready' : 'healthy'}.`);
  return json ? jsonText({ ok: true, url: shown, status }) : `${shown} answered with status ${status}\n`;
}

/** Returns the URL to request, and the same URL without a password for messages. */
function addressOf(url: string, path: string): { readonly target: URL; readonly shown: string } {
  const base = URL.parse(url);
  if (base === null || (base.protocol !== 'http:' && base.protocol !== 'https:'))
    throw new UsageError('--url must be the URL of a server, such as http://127.0.0.1:8787.');
  base.pathname = `${base.pathname.replace(/\/+$/, '')}${path}`;
  base.search = '';
  base.hash = '';
  return { target: base, shown: `${base.origin}${base.pathname}` };
}

/**
 * The request ignores proxies that the environment names, because the answer would show the health of the proxy instead of the health of
 * the server.
 */
async function statusOf(target: URL, shown: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const get = target.protocol === 'https:' ? getSecure : getPlain;
  const asking = get(target, { agent: false }, (answer) => {
    answer.destroy();
    resolve(answer.statusCode ?? 0);
  });
  const fail = (why: string) => reject(new UsageError(`${shown} ${why}.`));
  asking.on('error', ({ message }) => fail(`does not answer: ${message.replace(/\.$/, '')}`));
  const timer = setTimeout(() => fail(`did not answer within ${WAIT_MS / 1000} s`), WAIT_MS);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    asking.destroy();
  }
}
