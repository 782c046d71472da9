import { expect, test } from 'bun:test';
import { tempFolder } from '../store/support.ts';
import { findingsOf } from './audit-support.ts';
import { type Opened, type OpenOptions, open } from './support.ts';

/** The folder of a test, and the ledgers that the test opens in the folder. */
export interface TestFolder {
  readonly path: string;
  readonly file: string;
  open(options?: OpenOptions): Promise<Opened>;
  /** Resolves once everything that was woken in the latest ledger has been written and answered. */
  turn(): Promise<void>;
  /** Closes the latest ledger, and expects that the audit finds nothing wrong. */
  prove(): Promise<void>;
}

/** Defines a test with a folder of its own. After the test, all open ledgers are closed. */
export function ledgerTest(name: string, run: (folder: TestFolder) => Promise<void>): void {
  test(name, async () => {
    using folder = tempFolder();
    const running = new Set<Opened>();
    let last: Opened | null = null;
    await run({
      ...folder,
      async open(options) {
        const opened = await open(folder.file, options);
        const { store } = opened;
        const close = store.close.bind(store);
        store.close = () => {
          running.delete(opened);
          return close();
        };
        running.add(opened);
        last = opened;
        return opened;
      },
      async turn() {
        await Bun.sleep(0);
        await last?.store.flush();
        await Bun.sleep(0);
      },
      async prove() {
        await last?.ledger.close();
        await last?.store.close();
        expect(await findingsOf(folder.file)).toEqual([]);
      },
    });
    for (const { store } of running) await store.close();
  });
}
