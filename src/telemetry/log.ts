/** Figures and names of one event. Never a prompt, an answer or a secret. */
export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Log {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

/** One line an event: readable on a terminal, JSON otherwise. */
export function createLog(write: (line: string) => void, pretty: boolean, now: () => number): Log {
  const line =
    (level: string) =>
    (message: string, fields: Fields = {}) => {
      const time = new Date(now()).toISOString();
      write(
        pretty ? prettyLine(time, level, message, fields) : `${JSON.stringify({ time, level, message, ...fields })}\n`,
      );
    };
  return { info: line('info'), warn: line('warn'), error: line('error') };
}

function prettyLine(time: string, level: string, message: string, fields: Fields): string {
  const shown = Object.entries(fields).filter(([, value]) => value !== undefined);
  const tail = shown.map(([name, value]) => `  ${name}=${value}`).join('');
  return `${time.slice(11, 19)} ${level === 'info' ? '' : `${level}: `}${message}${tail}\n`;
}
