import { afterEach, expect, test } from 'bun:test';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import { watchPolicies } from '../../../src/policy/runtime/watch.ts';

const data = mkdtempSync(join(tmpdir(), 'signalbox-watch-'));
let watch: ReturnType<typeof watchPolicies> | null = null;

afterEach(() => {
  watch?.close();
  rmSync(data, { recursive: true, force: true });
});

function makePolicies(name: string, text: string): string {
  const folder = join(data, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'policy.yaml'), text);
  return folder;
}

/** Returns the inodes that this process watches, from Linux's own list. */
const watchedInodes = (): readonly number[] =>
  readdirSync('/proc/self/fdinfo').flatMap((fd) => {
    try {
      const info = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
      return Array.from(info.matchAll(/^inotify wd:\S+ ino:([0-9a-f]+)/gm), ([, inode]) => Number.parseInt(inode!, 16));
    } catch {
      // The descriptor of the listing itself is already closed.
      return [];
    }
  });

test.skipIf(process.platform !== 'linux')(
  'writes to the data folder trigger no watch of a policy folder inside it, and that policy folder may still be replaced',
  async () => {
    const folder = makePolicies('policies', 'models: {}');
    let edited = Promise.withResolvers<void>();
    const onEdit = () => edited.resolve();
    watch = watchPolicies({
      folder,
      busyFolder: data,
      more: () => [],
      onFirstEvent: () => {},
      onEdit,
      timers: processTimers,
    });
    expect(watchedInodes()).toContain(statSync(folder).ino);
    expect(watchedInodes()).not.toContain(statSync(data).ino);
    // The first poll must find the edit, because the start may have read the folder long ago. The start may have read the folder long ago.
    await edited.promise;
    edited = Promise.withResolvers();
    writeFileSync(join(folder, 'policy.yaml'), 'models: {} # edited');
    await edited.promise;
    edited = Promise.withResolvers();
    const other = makePolicies('other', 'models: {} # of another folder');
    renameSync(folder, join(data, 'former'));
    renameSync(other, folder);
    await edited.promise;
  },
);
