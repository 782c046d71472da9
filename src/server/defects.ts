import { pluginIn } from '../host/plugins/owners.ts';
import { counter } from '../host/telemetry/counts.ts';
import { type LineLimit, lineLimit } from '../host/telemetry/line-limit.ts';
import type { Log } from '../host/telemetry/log.ts';
import { stackOf } from '../host/telemetry/thrown.ts';
import type { Host } from './host.ts';

/**
 * The most log lines a minute for each plugin, and for exceptions. The metric counts every rejection, also if its log line is suppressed.
 */
const LINES_MAX = 10;
/** The metric's label if the stack names no plugin file: the code belongs to Signalbox or a package, or the thrown value has no stack. */
const NO_PLUGIN = 'none';

/** Counts unhandled promise rejections. */
export function rejectionCounter() {
  const rejections = counter({
    name: 'signalbox_unhandled_rejections_total',
    help: 'Unhandled promise rejections, by plugin.',
    labels: ['plugin'],
  });
  rejections.at(NO_PLUGIN);
  return rejections;
}

/**
 * Watches for uncaught errors. The server logs and counts a rejected promise and goes on, because the rejection belongs to one request. An
 * exception may leave any state inconsistent, so an exception ends the process. State: defects.
 */
export function watchDefects(log: Log, { clock, err, on, exit }: Pick<Host, 'clock' | 'err' | 'on' | 'exit'>) {
  const rejections = rejectionCounter();
  const limits = new Map<string, LineLimit>();
  const report = (message: string, kind: string, plugin: string, stack: string): void => {
    const limit = limits.get(kind) ?? lineLimit(LINES_MAX);
    limits.set(kind, limit);
    // The number of suppressed lines; null once this kind of line has reached its limit, so that its lines do not hide other lines.
    const before = limit(clock());
    if (before !== null) log.error(message, { plugin, suppressed: before || undefined, stack });
  };
  let end = (): void => {
    err.write('signalbox: An uncaught exception stopped the start. The log has the stack trace.\n');
    exit(1);
  };
  on('unhandledRejection', (reason) => {
    const stack = stackOf(reason);
    const plugin = pluginIn(stack) ?? NO_PLUGIN;
    rejections.at(plugin).value++;
    report('unhandled promise rejection', `rejection ${plugin}`, plugin, stack);
  });
  on('uncaughtException', (thrown) => {
    const stack = stackOf(thrown);
    report('uncaught exception: the server stops', 'exception', pluginIn(stack) ?? NO_PLUGIN, stack);
    end();
  });
  return {
    families: [rejections.family],
    /** Sets how uncaught exceptions end the server. Before this call, an uncaught exception ends the start of the server. */
    onException(next: () => void): void {
      end = next;
    },
  };
}
