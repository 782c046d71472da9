import { readdirSync, readFileSync } from 'node:fs';
import { gauge, histogram, total } from './counts.ts';
import type { Family } from './families.ts';

/** The interval of the timer that measures event loop lag, ms. */
const LAG_EVERY_MS = 100;

/** Returns NaN if the system does not provide the value, so that the metrics page has no sample of it. */
const ifKnown = (read: () => number) => (): number => {
  try {
    return read();
  } catch {
    return Number.NaN;
  }
};

/** These metric families have the same names as in Prometheus' own client libraries. */
const PROCESS_FAMILIES: readonly Family[] = [
  total('process_cpu_seconds_total', 'CPU time used, user and system.', cpuSeconds),
  gauge('process_resident_memory_bytes', 'Memory in use.', () => process.memoryUsage.rss()),
  gauge('process_heap_bytes', 'Memory of the program’s objects.', () => process.memoryUsage().heapUsed),
  gauge('process_open_fds', 'Open files and connections, if known.', ifKnown(openFiles)),
  gauge('process_max_fds', 'Limit of open files and connections, if known.', ifKnown(filesMax)),
  gauge('process_start_time_seconds', 'Start time, Unix time.', () => performance.timeOrigin / 1000),
];

/**
 * Makes the metrics of this process. `watchProcess` measures event loop lag from now on, until `stop`, without keeping the process alive.
 */
export function watchProcess() {
  const lag = histogram({
    name: 'signalbox_event_loop_lag_seconds',
    help: 'Delay of a 100 ms timer.',
    labels: [],
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  });
  const spread = lag.at();
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    spread.observe(Math.max(0, now - last - LAG_EVERY_MS) / 1000);
    last = now;
  }, LAG_EVERY_MS);
  timer.unref();
  return { families: [...PROCESS_FAMILIES, lag.family], stop: () => clearInterval(timer) };
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Counts the open files, without the file descriptor of the listing itself. */
function openFiles(): number {
  return readdirSync('/proc/self/fd').length - 1;
}

function filesMax(): number {
  const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  return Number(soft ?? Number.NaN);
}
