import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Timer, Timers } from '../../core/time/timers.ts';
import { isPolicyFile, signatureOf } from './source.ts';

/** The longest pause between two writes of one edit, ms. */
const QUIET_MS = 100;
/** Continuous writes count as one edit after this time, ms. */
const PATIENCE_MS = 500;
/** Interval of polls, ms. Polls find changes for which the file system sends no events. */
const POLL_MS = 2_000;
/** Interval of polls if the folder's parent is not watched, ms. With this interval, an edit is active within a second. */
const POLL_BLIND_MS = 500;

interface WatchOptions {
  readonly folder: string;
  /**
   * A folder to which this process writes all the time; null for none. If the busy folder is the parent of `folder`, Signalbox only polls
   * the parent.
   */
  readonly busyFolder: string | null;
  /** Returns other files, such as plugin code. Signalbox only polls these other files. */
  readonly more: () => readonly string[];
  /** Called at the first event of an edit of the policy, to prepare for it. */
  readonly onFirstEvent: () => void;
  /** Called once for each edit of the policy, after its last write. */
  readonly onEdit: () => void;
  readonly timers: Timers;
}

/** Watches directories, never files, because a watch on a file that is replaced by renaming gets no more events. State: policy folder. */
export function watchPolicies({ folder, busyFolder, more, onFirstEvent, onEdit, timers }: WatchOptions) {
  const net = watchDirectories(resolve(folder), busyFolder, noticed);
  let first = 0;
  let timer: Timer | null = null;
  let lastSignature: string | null = null;
  let closed = false;

  function noticed(): void {
    if (closed) return;
    const time = performance.now();
    if (timer) timer.close();
    else {
      first = time;
      onFirstEvent();
    }
    timer = timers.after(Math.max(0, Math.min(QUIET_MS, first + PATIENCE_MS - time)), () => {
      timer = null;
      void look(true);
    });
  }

  /**
   * Reports an edit if the folder has changed since the last poll, and always after an event. The first poll also reports an edit, because
   * a start can take long, and the files may have changed since the start read them.
   */
  async function look(afterEvent: boolean): Promise<void> {
    await net.mend();
    const signature = await signatureOf(folder, more());
    const changed = signature !== lastSignature;
    lastSignature = signature;
    if (!closed && (afterEvent || changed)) onEdit();
  }

  const poll = timers.every(net.isBlindAbove ? POLL_BLIND_MS : POLL_MS, () => void (timer ?? look(false)));
  void look(false);
  return {
    close(): void {
      closed = true;
      poll.close();
      timer?.close();
      net.close();
    },
  };
}

interface DirectoryWatch {
  readonly watcher: FSWatcher;
  /** Identifies the directory, because its path may later name another directory. */
  readonly inode: string;
}

/**
 * Watches all directories of a possible edit: the folder itself, its parent (because the folder may be replaced), and the targets of its
 * links.
 */
function watchDirectories(folder: string, busyFolder: string | null, onEvent: () => void) {
  const watched = new Map<string, DirectoryWatch>();
  let isClosed = false;
  const own = (): string[] => [...new Set([folder, realOf(folder)])];
  const isBusy = (path: string): boolean => busyFolder !== null && inodeOf(path) === inodeOf(busyFolder);
  const near = (): string[] => [
    ...own(),
    ...own()
      .map(dirname)
      .filter((path) => !isBusy(path)),
  ];

  function watchAll(wanted: ReadonlySet<string>): void {
    for (const [path, { watcher, inode }] of watched) {
      if (wanted.has(path) && inodeOf(path) === inode) continue;
      watcher.close();
      watched.delete(path);
    }
    for (const path of wanted) {
      if (watched.has(path)) continue;
      const inode = inodeOf(path);
      const watcher = inode === null ? null : open(path);
      if (inode !== null && watcher !== null) watched.set(path, { watcher, inode });
    }
  }

  function open(path: string): FSWatcher | null {
    const isAbove = !own().includes(path);
    const names = own().map((one) => basename(one));
    try {
      const watcher = watch(path, (_, name) => {
        const matters = name !== null && (isAbove ? names.includes(name) : isPolicyFile(name) || name === '..data');
        if (name === null || matters) onEvent();
      });
      // An error of a watcher means that its directory was removed. The next poll finds the directory that replaced it.
      watcher.on('error', onEvent);
      return watcher;
    } catch {
      return null;
    }
  }

  watchAll(new Set(near()));
  return {
    /** Whether a parent is too busy to be watched. Each write in a busy parent folder would be an event, which wakes a thread. */
    isBlindAbove: own().some((path) => isBusy(dirname(path))),
    /** Opens missing watches, closes obsolete watches, and reopens the watches of replaced directories. */
    async mend(): Promise<void> {
      const wanted = new Set(near());
      const names = await readdir(folder).catch(() => []);
      for (const name of names.filter(isPolicyFile)) {
        const real = await realpath(join(folder, name)).catch(() => null);
        if (real !== null) wanted.add(dirname(real));
      }
      if (!isClosed) watchAll(wanted);
    },
    close(): void {
      isClosed = true;
      for (const { watcher } of watched.values()) watcher.close();
      watched.clear();
    },
  };
}

/** Returns a path with its links resolved; the path itself if nothing exists at the path. */
export function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function inodeOf(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.dev} ${found.ino}` : null;
}
