import { painter } from '../../core/text/paint.ts';
import { total, totalBy } from './counts.ts';
import type { Family } from './families.ts';
import { prettyLine } from './pretty.ts';
import { hasSecret, SECRET_LENGTH_MIN, scrub } from './secrets.ts';

/** The fields of one event. The fields of a log event never contain a prompt or an answer, and the log removes secrets. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

type LogLevel = 'info' | 'warn' | 'error';

export type Log = Readonly<Record<LogLevel, (message: string, fields?: LogFields) => void>>;

/** The log writes waiting lines after at most this delay (ms), or when the lines have this many characters. */
const WRITE_AFTER_MS = 20;
const WAITING_CHARS_MAX = 65_536;

export interface LogStyle {
  /** Whether the log formats lines for people; JSON otherwise. */
  readonly pretty: boolean;
  /** Colours apply only to the pretty format. */
  readonly colours?: boolean;
  /** Whether the log writes only warnings and errors. */
  readonly quiet?: boolean;
}

interface LogOptions extends LogStyle {
  /**
   * The number of this process among processes whose lines go to the same place; their metrics have the same number. `instance` is null for
   * a single process.
   */
  readonly instance?: number | null;
  /** Receives complete log lines. `write` must neither block nor throw. */
  write(lines: string): void;
  /** Milliseconds since 1970. */
  now(): number;
}

/** The formats that an operator can choose. */
export const LOG_FORMS = ['auto', 'json', 'pretty', 'off'] as const;

export type LogForm = (typeof LOG_FORMS)[number];

/** @param noColour the variable NO_COLOR; any value turns colours off */
export function styleOf(form: LogForm, isTerminal: boolean, noColour: string | undefined): LogStyle {
  const pretty = form === 'pretty' || (form !== 'json' && isTerminal);
  return { pretty, colours: isTerminal && !noColour, quiet: form === 'off' };
}

/** Writes one log line per event, in batches, so that a busy server makes few system calls. State: log. */
export function createLog({ write, pretty, colours = false, quiet = false, instance = null, now }: LogOptions) {
  const paint = painter(colours);
  const named = pretty ? `${paint.faint(`#${instance}`)} ` : `"instance":"${instance}",`;
  const mark = instance === null ? '' : named;
  let waiting = '';
  let timer: ReturnType<typeof setTimeout> | null = null;
  /** Writes the waiting lines at once. */
  const flush = () => {
    if (timer) clearTimeout(timer);
    timer = null;
    const lines = waiting;
    waiting = '';
    if (lines !== '') write(lines);
  };
  let stampedAt = Number.NaN;
  let stamp = '';
  const time = (): string => {
    const at = now();
    if (at !== stampedAt) {
      stampedAt = at;
      stamp = new Date(at).toISOString();
    }
    return stamp;
  };
  /** The number of lines at each level. */
  const counts: Record<LogLevel, number> = { info: 0, warn: 0, error: 0 };
  const put = (level: LogLevel, message: string, fields: LogFields): void => {
    counts[level]++;
    waiting += pretty
      ? prettyLine(now(), mark, level, message, fields, paint)
      : jsonLine(time(), mark, level, message, fields);
    if (waiting.length > WAITING_CHARS_MAX) flush();
    else timer ??= setTimeout(flush, WRITE_AFTER_MS);
  };
  const line =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (isClean(message, fields)) put(level, message, fields);
      else put(level, scrub(message), scrubFields(fields));
    };
  return { info: quiet ? () => {} : line('info'), warn: line('warn'), error: line('error'), flush, counts };
}

/** Runs for every line, so it checks only values that can contain a secret. Field names and numbers cannot contain a secret. */
function isClean(message: string, fields: LogFields): boolean {
  for (const name in fields) {
    const value = fields[name];
    if (typeof value === 'string' && value.length >= SECRET_LENGTH_MIN && hasSecret(value)) return false;
  }
  return !hasSecret(message);
}

function scrubFields(fields: LogFields): LogFields {
  const clean = Object.entries(fields).map(([name, value]) => [name, typeof value === 'string' ? scrub(value) : value]);
  return Object.fromEntries(clean);
}

/** `jsonLine` concatenates strings, because copying all fields into one object takes as much time as encoding them. */
function jsonLine(time: string, mark: string, level: string, message: string, fields: LogFields): string {
  const head = `{"time":"${time}",${mark}"level":"${level}","message":${JSON.stringify(message)}`;
  const rest = JSON.stringify(fields);
  return rest === '{}' ? `${head}}\n` : `${head},${rest.slice(1)}\n`;
}

/** The metrics of the log. */
export const logFamilies = (
  { counts }: Pick<ReturnType<typeof createLog>, 'counts'>,
  sink: { readonly lost: number },
): Family[] => [
  totalBy('signalbox_log_lines_total', 'Log lines by level, lost ones included.', 'level', () =>
    Object.entries(counts),
  ),
  total('signalbox_log_lines_lost_total', 'Log lines lost.', () => sink.lost),
];
