import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';

/** Returns the memory of a process that is in RAM, MiB. */
export const residentMiB = (pid: number): number =>
  (Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4096) / 2 ** 20;

/** Returns the peak memory of a process in RAM since `forgetPeak`, or since its start, MiB. */
export const peakMiB = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 2 ** 10;
export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');

/** Returns the targets of a process's open file descriptors, sorted. */
export function descriptors(pid: number): string[] {
  const target = (fd: string) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return 'socket: gone';
    }
  };
  return readdirSync(`/proc/${pid}/fd`).map(target).sort();
}

/** Returns the open files that are not sockets, because sockets come and go with the traffic. */
export const openFiles = (pid: number): string[] => descriptors(pid).filter((name) => !name.startsWith('socket:'));

/** Returns the slope of the best line through the points, by least squares. */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (of: (point: readonly [number, number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x0, y0] = [mean(([x]) => x), mean(([, y]) => y)];
  const spread = points.reduce((sum, [x]) => sum + (x - x0) ** 2, 0);
  return points.reduce((sum, [x, y]) => sum + (x - x0) * (y - y0), 0) / spread;
}
