import { openKeys } from '../access/keys.ts';
import { openPeople } from '../access/people.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { messageOf } from '../core/thrown.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { StoreLock } from '../store/driver.ts';
import { dataFolders, isShared, lockStore } from '../store/open.ts';
import { type DataPlace, makeDataFolder } from './data.ts';
import type { Host } from './host.ts';
import { LedgerNote, refuseOtherLedger } from './ledger-note.ts';
import type { ServerLife } from './life.ts';
import { notePolicies } from './shipped-policies.ts';
import { closeStore, openDataStore } from './store.ts';

/** The interval at which keys write when they were last used, and try again to apply changes that failed, ms. */
export const REFRESH_MS = 400;

interface DataParts {
  readonly host: Host;
  readonly log: Log;
  readonly life: ServerLife;
  /** The policy folder. */
  readonly folder: string;
  /** The API key that the operator wants to install; null for none. */
  readonly apiKey: string | null;
}

/** Takes the data folder and the database for this server, and opens the store with the keys and people in it. */
export async function openServerData(options: ServeOptions, { host, log, life, folder, apiKey }: DataParts) {
  const { timers } = host;
  const lock = await takePlace(options, folder);
  life.closes.defer(() => lock.release());
  const note = new LedgerNote(options.data, host.now, log);
  const store = await (host.openStore ?? openDataStore)(options, log, note, host);
  life.closes.defer(async () => {
    life.exitCode = await closeStore(options, store, log);
  });
  life.closes.defer(() => note.close());
  const { now } = store.instance;
  let onBudgets = async () => {};
  const onChange = () => onBudgets();
  const people = await openPeople({ store, now, onChange });
  const keys = await openKeys({
    ...{ store, now, refreshMs: REFRESH_MS, timers, onChange },
    isOut: (user) => people.isOut(user),
  });
  if (apiKey !== null) await keys.install(apiKey).catch(notInstalled);
  return {
    ...{ store, people, keys, note },
    /** Calls `recount` after each change of budgets, until the keys are closed. That is before the ledger is closed. */
    followBudgets(recount: () => Promise<void>): void {
      onBudgets = recount;
      life.closes.defer(() => keys.close());
    },
  };
}

/**
 * Locks the data folder and the store for this server, and notes its policy folder for commands. `takePlace` throws an Error with one clear
 * sentence.
 */
async function takePlace(place: DataPlace & Pick<ServeOptions, 'home'>, policies: string): Promise<StoreLock> {
  makeDataFolder(place.data);
  const { data, database } = place;
  const lock = await (isShared(database) ? (await dataFolders()).lockFolder(data) : lockStore(database));
  await refuseOtherLedger(place);
  notePolicies(place.home, policies);
  return lock;
}

/** The error names the variable, because the reader of the error may not have set it. */
function notInstalled(error: unknown): never {
  throw new Error(`SIGNALBOX_API_KEY cannot be installed. ${messageOf(error)}`);
}
