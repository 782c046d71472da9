import { dlopen, type Pointer, ptr } from 'bun:ffi';

/**
 * Bytes asked for. The kernel doubles them for its own needs, and so much comes with one read at most. With 150 ms
 * there and back, a stream still runs at about 200 kB a second; with less, the loopback's packets of 64 KiB would stall.
 */
const WINDOW = 24_576;

type SetOption = (fd: number, level: number, option: number, value: Pointer, size: number) => number;

/** SOL_SOCKET and SO_RCVBUF, and where the C library is. */
const SYSTEMS: Partial<Record<NodeJS.Platform, { libraries: string[]; level: number; option: number }>> = {
  linux: { libraries: ['libc.so.6', 'libc.so'], level: 1, option: 8 },
  darwin: { libraries: ['libSystem.B.dylib'], level: 0xffff, option: 0x1002 },
};
const system = SYSTEMS[process.platform];
const value = new Int32Array([WINDOW]);
let setOption: SetOption | null | undefined;

/**
 * Bounds what the kernel takes in for a socket before it is read. Bun reads all that there is at once, up to 512 KiB,
 * and left to itself the kernel lets a fast sender have several megabytes; so without this, each caller who stops to
 * read costs half a megabyte of memory. Does nothing where the system cannot be asked: then it costs that.
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
      // Another name, or none.
    }
  }
  return null;
}
