import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Signalbox, temporaryFolder } from '../support/signalbox.ts';

/** A server with a data folder on a disk. */
type OnDisk = Pick<Signalbox, 'data' | 'pid'>;

/** A way to make the disk of a running server full. */
export interface Disk {
  /** Puts the data folder on the disk. */
  mount(folder: string, size?: string): void;
  fill(box: OnDisk): void;
  free(box: OnDisk): void;
  unmount(folder: string): void;
  /** True if blocks that a file already has can still be written. */
  readonly takesOwnBlocks: boolean;
}

function run(...command: string[]): boolean {
  return Bun.spawnSync(command, { stdout: 'ignore', stderr: 'ignore' }).success;
}

const mustRun = (...command: string[]): void => {
  if (!run(...command)) throw new Error(`${command.join(' ')} failed`);
};

/** Every write to a file fails with EFBIG, which SQLite reports as an I/O error. Bun ignores SIGXFSZ. */
const byLimit: Disk = {
  mount() {},
  fill: ({ pid }) => mustRun('prlimit', '--pid', String(pid), '--fsize=1:unlimited'),
  free: ({ pid }) => mustRun('prlimit', '--pid', String(pid), '--fsize=unlimited:unlimited'),
  unmount() {},
  takesOwnBlocks: false,
};

/** A small file system in memory. A full file system fails with ENOSPC, like a real disk. */
export const byMount: Disk = {
  mount: (folder, size = '16m') => mustRun('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder),
  fill({ data }) {
    const { bavail, bsize } = statfsSync(data);
    try {
      writeFileSync(join(data, 'filler'), new Uint8Array(bavail * bsize));
    } catch (cause) {
      // The server has written in the meantime. The disk is full enough.
      if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOSPC')) throw cause;
    }
  },
  free: ({ data }) => rmSync(join(data, 'filler')),
  // A lazy unmount, because a server in this process may keep a file open until the next garbage collection.
  unmount: (folder) => mustRun('umount', '--lazy', folder),
  takesOwnBlocks: true,
};

function mayMountHere(): boolean {
  const folder = temporaryFolder();
  const mounted = run('mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder);
  if (mounted) mustRun('umount', folder);
  rmSync(folder, { recursive: true });
  return mounted;
}

export const mayMount = mayMountHere();

export const DISKS: readonly { name: string; disk: Disk; possible: boolean }[] = [
  { name: 'no file may grow (EFBIG)', disk: byLimit, possible: run('prlimit', '--version') },
  { name: 'no space is left (ENOSPC)', disk: byMount, possible: mayMount },
];
for (const { name, possible } of DISKS) {
  if (!possible) console.log(`skipped, because neither prlimit nor a mount is available here: ${name}`);
}
