import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Signalbox, temporaryFolder } from '../support/signalbox.ts';

/** A server on a disk. */
type OnDisk = Pick<Signalbox, 'data' | 'pid'>;

/** A way to let the disk of a running server be full. */
export interface Disk {
  /** Puts the data folder there. */
  mount(folder: string, size?: string): void;
  fill(box: OnDisk): void;
  free(box: OnDisk): void;
  unmount(folder: string): void;
  /** Whether blocks that a file has already can still be written. */
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

/** A small file system in memory: ENOSPC, as a real disk says it. */
export const byMount: Disk = {
  mount: (folder, size = '16m') => mustRun('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder),
  fill({ data }) {
    const { bavail, bsize } = statfsSync(data);
    try {
      writeFileSync(join(data, 'filler'), new Uint8Array(bavail * bsize));
    } catch (cause) {
      // The server took some of it meanwhile: the disk is as full as it gets.
      if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOSPC')) throw cause;
    }
  },
  free: ({ data }) => rmSync(join(data, 'filler')),
  // Lazily: a server of this process may leave a file open until the next collection of garbage.
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
  if (!possible) console.log(`left out, for neither prlimit nor a mount may be had here: ${name}`);
}
