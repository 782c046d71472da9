import { objectOf, parseJson } from '../../core/json/object.ts';
import { messageOf } from '../../core/thrown.ts';
import { UsageError } from '../../core/usage-error.ts';
import { outbound } from '../../host/outbound.ts';
import { scrub } from '../../host/telemetry/secrets.ts';

/** The environment variable with the API key for the request to the server. */
const KEY_VARIABLE = 'SIGNALBOX_KEY';
/** The longest wait for the answer, ms. An exact count of tokens takes some seconds. */
const WAIT_MS = 30_000;
/** The largest answer that is read, in bytes: enough for a catalog of thousands of models. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Sends a request to `/admin/policy/explain` of a running server.
 * @returns the body of the answer
 * @throws UsageError, also for a status other than 200
 */
export async function explainedAt(
  url: string,
  request: object,
  env: { get(name: string): string | undefined },
): Promise<unknown> {
  const base = URL.parse(url);
  if (base === null || !/^https?:$/.test(base.protocol) || base.username !== '' || base.password !== '') {
    throw new UsageError('--url must be the URL of a server, such as http://127.0.0.1:8787.');
  }
  const key = env.get(KEY_VARIABLE)?.trim();
  if (!key)
    throw new UsageError(`--url needs a key. Set ${KEY_VARIABLE} to a key with the scope \`admin\` or \`report\`.`);
  base.pathname = `${base.pathname.replace(/\/+$/, '')}/admin/policy/explain`;
  base.search = '';
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const limits = { allowPrivate: true, timeoutMs: WAIT_MS, bytesMax: ANSWER_BYTES_MAX };
  const body = JSON.stringify(request);
  const reply = await outbound({ url: base.href, method: 'POST', headers, body, ...limits }).catch((cause: unknown) => {
    throw new UsageError(`${base.origin} does not answer: ${messageOf(cause)}.`);
  });
  const answer = parseJson(reply.text);
  if (reply.status === 200) return answer;
  const { message } = objectOf(objectOf(answer).error);
  const why = typeof message === 'string' ? `: ${message}` : '.';
  throw new UsageError(scrub(`${base.origin} answered ${reply.status}${why}`));
}
