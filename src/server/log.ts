import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { createLog, logFamilies, styleOf } from '../host/telemetry/log.ts';
import type { Host } from './host.ts';

/** The time to wait at shutdown until the last lines are read, ms. */
const LAST_LINES_MS = 1_000;

/**
 * Opens the log of a server. On a terminal, the log first prints the program's name and version. If the program that reads the log ends,
 * the server goes on.
 */
export function openServerLog(
  { log: form, process: instance }: ServeOptions,
  { out, env, now, openSink, on, version }: Host,
) {
  const sink = openSink();
  if (out.isTerminal) sink.write(`Signalbox ${version}\n`);
  const looks = styleOf(form, out.isTerminal, env('NO_COLOR'));
  const log = createLog({ write: (lines) => sink.write(lines), ...looks, instance, now });
  sink.onResume((lines) => log.warn('log lines were lost: the reader of standard output is too slow', { lines }));
  on('exit', () => {
    log.flush();
    sink.flushNow();
  });
  return {
    log,
    families: logFamilies(log, sink),
    /** Resolves once all log lines until now are written, or their reader is gone. */
    written(): Promise<void> {
      log.flush();
      return sink.drain(LAST_LINES_MS);
    },
  };
}
