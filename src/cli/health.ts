import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import { UsageError } from '../core/usage-error.ts';
import { parseFlags, SWITCH, TEXT } from './arguments.ts';
import type { CommandContext, CommandDefinition } from './command.ts';
import { jsonText } from './text.ts';

/** How long the command waits for an answer, ms. */
const WAIT_MS = 3_000;

const FLAGS = { url: TEXT, ready: SWITCH, json: SWITCH };

/** `signalbox health`. Throws UsageError unless the server answers in time that it is healthy. */
export const health: CommandDefinition = {
  usesData: false,
  use: 'as a health check, for example of a container.',
  example: 'health --ready',
  usage: '[--url http://127.0.0.1:8787] [--ready] [--json]',
  summary: 'Check whether a running server is healthy.',
  details: `Requests /healthz, or /readyz with --ready, from --url. Without --url, requests it from this machine at PORT.
Exit code: 0 if the server answers within 3 s that it is healthy, else 1.`,
  run: runHealth,
};

async function runHealth(args: readonly string[], { line }: Pick<CommandContext, 'line'>): Promise<string> {
  const flags = parseFlags(args, FLAGS);
  const { url = `http://127.0.0.1:${line.door.port}`, ready, json } = flags;
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
