import { appendFileSync, readFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';

/** The time that a worker of `bun test` spent on a file, ms. */
export interface FileTime {
  readonly file: string;
  readonly total: number;
  /** The CPU time of the worker. The time of processes that the file starts is not in it: the worker waits for them. */
  readonly computed: number;
}

const SLOWEST = 20;

/** Returns a function that appends the time since the last call to a file, as a line of JSON. @param path a file that all workers share */
export function timeWriter(path: string): (file: string) => void {
  let [since, cpu] = [performance.now(), process.cpuUsage()];
  return (file) => {
    const { user, system } = process.cpuUsage(cpu);
    const time: FileTime = {
      file: relative(process.cwd(), file),
      total: performance.now() - since,
      computed: (user + system) / 1_000,
    };
    appendFileSync(path, `${JSON.stringify(time)}\n`);
    [since, cpu] = [performance.now(), process.cpuUsage()];
  };
}

/** Reads what `timeWriter` wrote. */
export function readTimes(path: string): readonly FileTime[] {
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as FileTime);
}

/** The table of the slowest files and the sum of each folder, in seconds: in all, waited, computed. */
export function timeTable(times: readonly FileTime[]): string {
  const folders = Map.groupBy(times, ({ file }) => dirname(file).split('/').slice(0, 2).join('/'));
  const sums = [...folders].map(([file, members]) => sumOf(file, members));
  const bySize = (one: FileTime, other: FileTime) => other.total - one.total;
  const rows = (list: readonly FileTime[]) => list.toSorted(bySize).map(rowOf);
  const head = '    all    wait computed';
  return [
    `${head}  slowest files, s`,
    ...rows(times).slice(0, SLOWEST),
    `${head}  folders, s`,
    ...rows(sums),
    rowOf(sumOf('all files', times)),
  ].join('\n');
}

function sumOf(file: string, times: readonly FileTime[]): FileTime {
  const sum = (part: 'total' | 'computed') => times.reduce((before, time) => before + time[part], 0);
  return { file, total: sum('total'), computed: sum('computed') };
}

function rowOf({ file, total, computed }: FileTime): string {
  const [all, waited, own] = [total, Math.max(0, total - computed), computed].map((ms) => (ms / 1_000).toFixed(1));
  return `${all!.padStart(7)} ${waited!.padStart(7)} ${own!.padStart(8)}  ${file}`;
}
