import type { Paint } from '../../core/text/paint.ts';
import { visible } from '../../core/text/visible.ts';

type EventFields = Readonly<Record<string, string | number | boolean | null | undefined>>;
type Value = EventFields[string];

/** `visible` replaces control characters, because values may come from outside. */
const shown = (value: Value): string => visible(String(value));

/**
 * @param at ms since 1970, shown in local time
 * @param mark the process that writes the line, followed by a space; empty for a single process
 */
export function prettyLine(
  at: number,
  mark: string,
  level: string,
  message: string,
  fields: EventFields,
  paint: Paint,
): string {
  const time = paint.faint(new Date(at).toTimeString().slice(0, 8));
  const isRequest = (message === 'chat' || message === 'request') && typeof fields.request === 'string';
  return `${time} ${mark}${isRequest ? requestText(message, fields, paint) : eventText(level, message, fields, paint)}\n`;
}

/** The most characters of a field in a line. A longer list is written below its event, over several lines. */
const LINE_MAX = 100;

/** Matches the lines of a list, which breaks after commas. */
const LIST_LINES = new RegExp(`.{1,${LINE_MAX}}(?:, |$)|.+?(?:, |$)`, 'g');

function eventText(level: string, message: string, fields: EventFields, paint: Paint): string {
  const { stack, ...others } = fields;
  let text = level === 'info' ? '' : paint[level === 'warn' ? 'warning' : 'error'](`${level}: `);
  text += shown(message);
  let lists = '';
  for (const [name, value] of Object.entries(others)) {
    if (value === undefined) continue;
    const one = `${shown(name)}=${shown(value)}`;
    if (one.length > LINE_MAX && one.includes(', '))
      for (const line of one.match(LIST_LINES) ?? []) lists += paint.faint(`\n    ${line.trimEnd()}`);
    else text += paint.faint(`  ${one}`);
  }
  text += lists;
  // A stack trace is written with one line for each frame.
  if (typeof stack === 'string') for (const line of stack.split('\n')) text += `\n    ${shown(line.trim())}`;
  return text;
}

/**
 * Formats a request, for example `200 auto → gpt-6-luna @ openai 1204→356 tokens 0.0123 Credits ttft 312 ms total 2.1 s key k7mw2pq9x4ta`.
 */
function requestText(message: string, fields: EventFields, paint: Paint): string {
  const { key, credits, ttft_ms: ttft, total_ms: total, input_tokens: input, output_tokens: output } = fields;
  const odd = oddities(fields, paint);
  const parts = [
    `${statusText(fields.status, paint)} ${message === 'chat' ? chatText(fields) : `${shown(fields.method)} ${shown(fields.route)}`}`,
    ...odd,
    input === undefined && output === undefined ? '' : `${shown(input ?? 0)}→${shown(output ?? 0)} tokens`,
    credits === undefined ? '' : `${shown(credits)} Credits`,
    typeof ttft === 'number' ? `ttft ${timeText(ttft)}` : '',
    typeof total === 'number' ? `total ${timeText(total)}` : '',
    key === undefined ? '' : paint.faint(`key ${shown(key)}`),
    // The ID with which you can look up the request.
    odd.length === 0 ? '' : paint.faint(shown(fields.decision ?? fields.request)),
  ];
  return parts.filter((part) => part !== '').join('  ');
}

function chatText({ selector, model, endpoint }: EventFields): string {
  const provider = typeof endpoint === 'string' ? ` @ ${shown(endpoint.split('/', 1)[0])}` : '';
  const requested = selector === undefined ? 'chat' : shown(selector);
  return model === undefined ? requested : `${requested} → ${shown(model)}${provider}`;
}

function statusText(status: Value, paint: Paint): string {
  if (typeof status !== 'number') return paint.warning('---');
  return paint[status >= 500 ? 'error' : status >= 400 ? 'warning' : 'good'](String(status));
}

/** Returns everything unusual about the request. */
function oddities({ outcome, error, failures, reason, suppressed }: EventFields, paint: Paint): string[] {
  const odd: string[] = [];
  if (outcome === 'failed' || outcome === 'broken') odd.push(paint.error(outcome));
  else if (outcome !== undefined && outcome !== 'completed') odd.push(paint.warning(shown(outcome)));
  if (error !== undefined) odd.push(paint.error(shown(error)));
  const [, by] = /:(fallback|second_attempt)$/.exec(typeof reason === 'string' ? reason : '') ?? [];
  if (by !== undefined) odd.push(paint.warning(by.replace('_', ' ')));
  if (failures !== undefined) odd.push(paint.warning(`after ${shown(failures)}`));
  if (suppressed !== undefined) odd.push(paint.warning(`${shown(suppressed)} similar lines are not shown`));
  return odd;
}

const timeText = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);
