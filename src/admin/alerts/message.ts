import { createHmac } from 'node:crypto';
import { idText } from '../../core/id.ts';
import type { AlertContent } from '../../core/people/alert.ts';
import type { WebhookFormat } from '../../core/policy/alerts.ts';
import { iso } from '../../core/time/clock.ts';
import type { AlertMessage } from '../../store/alerts.ts';

/** The header with the time of a try, and a signature of that time and the body. */
const SIGNATURE_HEADER = 'signalbox-signature';

/** The public ID of a message. The ID of a message is the same in each try, so that a receiver can ignore a repeated message. */
export const alertId = (id: number): string => idText('alert_', id);

/** The whole text of a message, for people. */
export function alertText({ type, rule, lines, more }: AlertContent): string {
  const [first = '', ...others] = lines;
  const title = type === 'test' ? 'Signalbox' : `Signalbox, ${rule}`;
  if (others.length === 0 && more === 0) return `${title}: ${first}`;
  const rest = more > 0 ? [`and ${more.toLocaleString('en')} more`] : [];
  return [`${title}:`, ...[...lines, ...rest].map((line) => `• ${line}`)].join('\n');
}

/** Writes the body of a message in the format of a webhook. */
export function bodyOf(
  { id, time, content }: Pick<AlertMessage, 'id' | 'time' | 'content'>,
  format: WebhookFormat,
): string {
  const text = alertText(content);
  if (format === 'slack') return JSON.stringify({ text: escaped(text) });
  const { type, rule, on, subjects, more } = content;
  return JSON.stringify({ id: alertId(id), type, time: iso(time), rule, on, text, subjects, more });
}

/** Escapes characters that Slack would read as the beginning of a link, a mention or an entity. */
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/**
 * The headers for a body: `signalbox-signature: t=SECONDS,v1=HEX`, where HEX is an HMAC-SHA256 of `SECONDS.BODY`.
 * @param secret null if the message is not signed
 * @param now ms since 1970
 */
export function headersOf(body: string, secret: string | null, now: number): Record<string, string> {
  const headers = { 'content-type': 'application/json', 'user-agent': 'signalbox' };
  if (secret === null) return headers;
  const seconds = Math.floor(now / 1_000);
  const signature = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  return { ...headers, [SIGNATURE_HEADER]: `t=${seconds},v1=${signature}` };
}
