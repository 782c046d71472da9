import { total } from './counts.ts';
import type { Family } from './families.ts';
import { prettyLine } from './pretty.ts';
import { hasSecret, SECRET_LENGTH_MIN, scrub } from './secrets.ts';

/** Figures and names of one event. Never a prompt or an answer; a secret is left out of the line. */
export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type Level = 'info' | 'warn' | 'error';

export interface Log {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

/** Lines wait at most so long, and at most so many characters, for others to be written with. */
const WRITE_AFTER_MS = 20;
const WAITING_CHARS_MAX = 65_536;

export interface BufferedLog extends Log {
  /** Hands over what waits, at once. */
  flush(): void;
  /** Lines so far. */
  readonly counts: Readonly<Record<Level, number>>;
}

export interface LogLooks {
  /** For people; JSON otherwise. */
  readonly pretty: boolean;
  /** Of the pretty form alone. */
  readonly colours?: boolean;
  /** Warnings and errors, and nothing else. */
  readonly quiet?: boolean;
}

export interface LogOptions extends LogLooks {
  /** Takes whole lines. Must not wait, nor throw. */
  write(lines: string): void;
  /** Milliseconds since 1970. */
  now(): number;
}

/** How lines look, as an operator names it. */
export const LOG_FORMS = ['auto', 'json', 'pretty', 'off'] as const;

export type LogForm = (typeof LOG_FORMS)[number];

/** `noColour` is the variable NO_COLOR: whoever sets it wants none. */
export function looksOf(form: LogForm, isTerminal: boolean, noColour: string | undefined): LogLooks {
  const pretty = form === 'pretty' || (form !== 'json' && isTerminal);
  return { pretty, colours: isTerminal && !noColour, quiet: form === 'off' };
}

/** One line an event, gathered so that a busy server does not make a system call for each. */
export function createLog({ write, pretty, colours = false, quiet = false, now }: LogOptions): BufferedLog {
  let waiting = '';
  let timer: ReturnType<typeof setTimeout> | null = null;
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
  const counts = { info: 0, warn: 0, error: 0 };
  const put = (level: Level, message: string, fields: Fields): void => {
    counts[level]++;
    waiting += pretty ? prettyLine(now(), level, message, fields, colours) : jsonLine(time(), level, message, fields);
    if (waiting.length > WAITING_CHARS_MAX) flush();
    else timer ??= setTimeout(flush, WRITE_AFTER_MS);
  };
  const line =
    (level: Level) =>
    (message: string, fields: Fields = {}) => {
      if (isClean(message, fields)) put(level, message, fields);
      else put(level, scrub(message), scrubbed(fields));
    };
  return { info: quiet ? () => {} : line('info'), warn: line('warn'), error: line('error'), flush, counts };
}

/** Asked of every line, so by the values that can hold a secret rather than by the line: names and figures cannot. */
function isClean(message: string, fields: Fields): boolean {
  for (const name in fields) {
    const value = fields[name];
    if (typeof value === 'string' && value.length >= SECRET_LENGTH_MIN && hasSecret(value)) return false;
  }
  return !hasSecret(message);
}

function scrubbed(fields: Fields): Fields {
  const clean = Object.entries(fields).map(([name, value]) => [name, typeof value === 'string' ? scrub(value) : value]);
  return Object.fromEntries(clean);
}

/** The head is written as text: to copy the fields into one object with it costs as much as to encode them. */
function jsonLine(time: string, level: string, message: string, fields: Fields): string {
  const head = `{"time":"${time}","level":"${level}","message":${JSON.stringify(message)}`;
  const rest = JSON.stringify(fields);
  return rest === '{}' ? `${head}}\n` : `${head},${rest.slice(1)}\n`;
}

/** What the page of metrics has of the log. */
export function logFamilies({ counts }: Pick<BufferedLog, 'counts'>, sink: { readonly lost: number }): Family[] {
  return [
    {
      name: 'signalbox_log_lines_total',
      help: 'Lines of the log by their level, those included that were lost.',
      type: 'counter',
      labels: ['level'],
      samples: () => [
        [{ level: 'info' }, counts.info],
        [{ level: 'warn' }, counts.warn],
        [{ level: 'error' }, counts.error],
      ],
    },
    total(
      'signalbox_log_lines_lost_total',
      'Lines of the log that could not be written, since nobody read them in time or the disk is full.',
      () => sink.lost,
    ),
  ];
}
