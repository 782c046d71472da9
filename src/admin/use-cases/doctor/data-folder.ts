import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { messageOf } from '../../../core/thrown.ts';
import { isShared, placeOfStore, storeExists } from '../../../store/open.ts';
import { type DoctorSources, type Finding, faultFinding, notChecked, problem } from './finding.ts';

/** Files that every server leaves in its data folder, also if the database is elsewhere. */
const OWN = ['server.lock', 'ledger.id'];

/** Whether a name in a folder says nothing about its use: a new disk or a new user has it, or a first start that failed. */
const isCommon = (name: string): boolean => name.startsWith('.') || name === 'lost+found' || name === 'policies';

/**
 * Whether a folder belongs to something else than Signalbox: it has files, and neither the database nor a file of a server. A folder that
 * is missing, empty or unreadable counts as a data folder.
 * @param database the path of the database in this folder; null if the database is elsewhere
 */
export function isForeign(folder: string, database: string | null): boolean {
  const names = namesIn(folder);
  const own = database === null ? OWN : [...OWN, basename(database)];
  return names.some((name) => !isCommon(name)) && !names.some((name) => own.includes(name));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

export const foreignFinding = (folder: string, isNamed: boolean): Finding =>
  problem(
    `${folder} has no data of Signalbox.`,
    isNamed
      ? 'Correct the path of the database in DATABASE_URL, or start a server, which creates it.'
      : 'Name the data folder with --data, or start a server, which creates it.',
  );

export const missingFolder = (folder: string): Finding =>
  notChecked(
    `There is no folder ${folder} yet.`,
    'Start the server, which creates it, or name another folder with --data.',
  );

const OTHERWISE = 'Use a URL such as postgres://USER@HOST:PORT/DATABASE, or see the log of the database.';

/** Says why the database cannot be examined. @returns null if it can */
export async function findNoDatabase({
  place: { home, database },
  databaseFault,
}: Pick<DoctorSources, 'place' | 'databaseFault'>): Promise<Finding | null> {
  if (databaseFault !== null) return faultFinding(databaseFault);
  try {
    if (await storeExists(database)) return null;
    const place = await placeOfStore(database);
    if (isShared(database))
      return notChecked(`The database ${place} has no tables yet.`, 'Start the server, which creates them.');
    const folder = dirname(place);
    if (!existsSync(folder)) return missingFolder(folder);
    if (isForeign(folder, place)) return foreignFinding(folder, folder !== resolve(home));
    return notChecked(
      `There is no database in ${folder} yet.`,
      'Start the server, which creates it, or name another folder with --data.',
    );
  } catch (cause) {
    if (!isShared(database)) return faultFinding(messageOf(cause));
    const { found, advice } = faultFinding(messageOf(cause), null, OTHERWISE);
    return problem(found, `${advice} DATABASE_URL has the URL.`);
  }
}
