import type { AlertWebhook } from '../../core/policy/alerts.ts';
import { messageOf } from '../../core/thrown.ts';
import { OutboundError, outbound } from '../../host/outbound.ts';
import { registerSecrets } from '../../host/telemetry/secrets.ts';
import type { AlertMessage } from '../../store/alerts.ts';
import { bodyOf, headersOf } from './message.ts';

/** The time limit of a whole try, ms. */
const TRY_MS = 10_000;
/** The most bytes that are read from an answer. Only the status of the answer matters. */
const ANSWER_MAX = 4_096;

export interface SenderHost {
  /** Reads environment variables, including secrets from files. Throws UsageError for a variable that is set twice. */
  readonly env: (name: string) => string | undefined;
  /** ms since 1970 */
  readonly now: () => number;
  /** The time limit of a whole try, ms. */
  readonly timeoutMs?: number;
}

/**
 * Tries once to send a message. Never rejects.
 * @returns why the message was not sent, in one sentence without secrets; null if it was sent
 */
export async function sendOnce(
  message: Pick<AlertMessage, 'id' | 'time' | 'content'>,
  webhook: AlertWebhook,
  { env, now, timeoutMs = TRY_MS }: SenderHost,
): Promise<string | null> {
  try {
    const { urlEnv, secretEnv, format, allowPrivate } = webhook;
    const url = variableOf(env, urlEnv);
    const secret = secretEnv === null ? null : variableOf(env, secretEnv);
    registerSecrets([secret, ...secretsOf(url)]);
    const body = bodyOf(message, format);
    const headers = headersOf(body, secret, now());
    const { status } = await outbound({
      url,
      method: 'POST',
      headers,
      body,
      allowPrivate,
      timeoutMs,
      bytesMax: ANSWER_MAX,
    });
    if (status >= 200 && status < 300) return null;
    return status >= 300 && status < 400
      ? `the webhook answered with status ${status}, and redirects are not followed`
      : `the webhook answered with status ${status}`;
  } catch (cause) {
    if (!(cause instanceof OutboundError && cause.isPrivate)) return messageOf(cause);
    return `${cause.message}: set \`allow_private_network\` of the webhook to allow this address`;
  }
}

function variableOf(env: SenderHost['env'], variable: string): string {
  const value = env(variable)?.trim();
  if (!value) throw new Error(`the variable \`${variable}\` is not set`);
  return value;
}

/**
 * The secret parts of a webhook URL: the segments of its path and its query. Anyone who has the secret parts of the URL can post to the
 * webhook.
 */
function secretsOf(address: string): string[] {
  const url = URL.parse(address);
  return url ? [...url.pathname.split('/'), ...url.searchParams.values()] : [];
}
