import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { createLog, logFamilies, styleOf } from '../host/telemetry/log.ts';
import type { Host } from './host.ts';

/** Time for the last lines to be read, ms. */
const LAST_LINES_MS = 1_000;

/** The log of a server. On a terminal, the name and version of the program come first. The server goes on without a reader. */
export function openServerLog(
  { log: form, process: instance }: ServeOptions,
  { out, env, now, openSink, on, version }: Host,
) {
  const sink = openSink();
  if (out.isTerminal) sink.write(`Signalbox ${version}\n`);
  const looks = styleOf(form, out.isTerminal, env('NO_COLOR'));
  const log = createLog({ write: (lines) => sink.write(lines), ...looks, instance, now });
  sink.onResume((lines) => log.warn('log lines were lost: they were not read fast enough', { lines }));
  on('exit', () => {
    log.flush();
    sink.flushNow();
  });
  return {
    log,
    families: logFamilies(log, sink),
    /** Resolves once all lines so far are written, or their reader is gone. */
    written(): Promise<void> {
      log.flush();
      return sink.drain(LAST_LINES_MS);
    },
  };
}
