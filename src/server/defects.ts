import { pluginIn } from '../host/plugins/owners.ts';
import { counter } from '../host/telemetry/counts.ts';
import { type LineLimit, lineLimit } from '../host/telemetry/line-limit.ts';
import type { Log } from '../host/telemetry/log.ts';
import { stackOf } from '../host/telemetry/thrown.ts';
import type { Host } from './host.ts';

/** Lines a minute of each plugin, and of exceptions; all rejections are counted. */
const LINES_MAX = 10;
/** The label where no plugin's file is in the stack: code of Signalbox or of a package, or a value without a stack. */
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
 * Watches for uncaught errors. A rejected promise is logged and counted, and ends nothing: it belongs to one request.
 * An exception may leave any state behind, so it ends the process. State: defects.
 */
export function watchDefects(log: Log, { clock, err, on, exit }: Pick<Host, 'clock' | 'err' | 'on' | 'exit'>) {
  const rejections = rejectionCounter();
  const limits = new Map<string, LineLimit>();
  const report = (message: string, kind: string, plugin: string, stack: string): void => {
    const limit = limits.get(kind) ?? lineLimit(LINES_MAX);
    limits.set(kind, limit);
    // Null where another line of this kind would drown others.
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
    /** Sets how uncaught exceptions end the server; until then they end the start. */
    onException(next: () => void): void {
      end = next;
    },
  };
}
