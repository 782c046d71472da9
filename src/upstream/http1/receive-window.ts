import { dlopen, type Pointer, ptr } from 'bun:ffi';

/**
 * Requested bytes. The kernel doubles them, which bounds one read. At a round trip of 150 ms a stream still gets about
 * 200 kB/s; with less, the loopback's packets of 64 KiB would stall.
 */
const WINDOW = 24_576;

type SetOption = (fd: number, level: number, option: number, value: Pointer, size: number) => number;

/** SOL_SOCKET, SO_RCVBUF and the C library's names. */
const SYSTEMS: Partial<Record<NodeJS.Platform, { libraries: string[]; level: number; option: number }>> = {
  linux: { libraries: ['libc.so.6', 'libc.so'], level: 1, option: 8 },
  darwin: { libraries: ['libSystem.B.dylib'], level: 0xffff, option: 0x1002 },
};
const system = SYSTEMS[process.platform];
const value = new Int32Array([WINDOW]);
let setOption: SetOption | null | undefined;

/**
 * Bounds a socket's receive buffer in the kernel. By default the kernel buffers several megabytes from a fast sender
 * and Bun reads up to 512 KiB at once, so each caller who stops reading would cost half a megabyte. Does nothing on
 * systems without the call.
 */
export function boundReceiveWindow(fd: number): void {
  setOption ??= load();
  if (setOption && system && fd >= 0) setOption(fd, system.level, system.option, ptr(value), 4);
}

function load(): SetOption | null {
  for (const library of system?.libraries ?? []) {
    try {
      const { symbols } = dlopen(library, {
        setsockopt: { args: ['int', 'int', 'int', 'ptr', 'u32'], returns: 'int' },
      });
      return symbols.setsockopt;
    } catch {
      // Try the next name.
    }
  }
  return null;
}
