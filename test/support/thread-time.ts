import { dlopen, ptr } from 'bun:ffi';

const { library, clock } =
  process.platform === 'darwin' ? { library: 'libSystem.dylib', clock: 16 } : { library: 'libc.so.6', clock: 3 };
const { symbols: libc } = dlopen(library, { clock_gettime: { args: ['int32_t', 'ptr'], returns: 'int32_t' } });

/** Seconds and nanoseconds. */
const time = new BigInt64Array(2);

/** Returns the CPU time of this thread, ms. Other work on the machine adds little to it. `process.threadCpuUsage` is too coarse. */
export function threadMs(): number {
  if (libc.clock_gettime(clock, ptr(time)) !== 0) throw new Error('the clock of the thread cannot be read');
  return Number(time[0]) * 1_000 + Number(time[1]) / 1_000_000;
}
