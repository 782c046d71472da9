import { hasSecret, SECRET_LENGTH_MIN, scrub } from './secrets.ts';

/** Figures and names of one event. Never a prompt or an answer; a secret is left out of the line. */
export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Log {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

/** Lines wait at most so long, and at most so many characters, for others to be written with. */
const WRITE_AFTER_MS = 20;
const WAITING_CHARS_MAX = 65_536;

export interface BufferedLog extends Log {
  /** Writes what waits, at once. */
  flush(): void;
}

export interface LogOptions {
  write(text: string): void;
  /** For a terminal; JSON otherwise. */
  readonly pretty: boolean;
  /** Milliseconds since 1970. */
  now(): number;
}

/** One line an event, gathered so that a busy server does not make a system call for each. */
export function createLog({ write, pretty, now }: LogOptions): BufferedLog {
  let waiting = '';
  let timer: ReturnType<typeof setTimeout> | null = null;
  const flush = () => {
    if (timer) clearTimeout(timer);
    timer = null;
    if (waiting !== '') write(waiting);
    waiting = '';
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
  const line =
    (level: string) =>
    (message: string, fields: Fields = {}) => {
      const form = pretty ? prettyLine : jsonLine;
      waiting += isClean(message, fields)
        ? form(time(), level, message, fields)
        : form(time(), level, scrub(message), scrubbed(fields));
      if (waiting.length > WAITING_CHARS_MAX) flush();
      else timer ??= setTimeout(flush, WRITE_AFTER_MS);
    };
  return { info: line('info'), warn: line('warn'), error: line('error'), flush };
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

function prettyLine(time: string, level: string, message: string, fields: Fields): string {
  const shown = Object.entries(fields).filter(([, value]) => value !== undefined);
  const tail = shown.map(([name, value]) => `  ${name}=${value}`).join('');
  return `${time.slice(11, 19)} ${level === 'info' ? '' : `${level}: `}${message}${tail}\n`;
}
