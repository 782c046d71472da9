import { existsSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isShared, placeOfStore } from '../../../store/open.ts';
import { reasonOf } from '../../../store/reason.ts';
import { missingFolder } from './data-folder.ts';
import { type DoctorRun, type Finding, fine, notChecked, problem, warning } from './finding.ts';

const MIB = 2 ** 20;
/** With less room, a migration or a long export can fill the disk: the spool then takes the settlements, and requests get 503. */
export const FREE_PROBLEM_BYTES = 256 * MIB;
/** At ten requests a second, the ledger and the decisions of two days need this much. */
export const FREE_WARNING_BYTES = 2_048 * MIB;
/** SQLite usually empties its log at 8 MiB. A much larger log means that a reader has kept it from that for a long time. */
export const LOG_WARNING_BYTES = 256 * MIB;

/** Writes a number of bytes: `350 MiB`, `12.5 GiB`. */
export const sizeText = (bytes: number): string =>
  bytes < 1_024 * MIB
    ? `${Math.floor(bytes / MIB)} MiB`
    : `${(bytes / (1_024 * MIB)).toLocaleString('en', { maximumFractionDigits: 1 })} GiB`;

export function freeFinding(folder: string, free: number): Finding {
  const found = `The disk of ${folder} has ${sizeText(free)} left.`;
  if (free >= FREE_WARNING_BYTES) return fine(found);
  const advice = 'Make room, enlarge the disk, or lower `records.retention_days` in the policy.';
  return free < FREE_PROBLEM_BYTES ? problem(found, advice) : warning(found, advice);
}

export function logFinding(bytes: number): Finding {
  const found = `The write-ahead log of the database has ${bytes < MIB ? 'less than 1 MiB' : sizeText(bytes)}.`;
  if (bytes < LOG_WARNING_BYTES) return fine(found);
  return warning(
    found,
    'End programs that read the database for a long time, such as an export or a copy, or restart the server.',
  );
}

export async function checkDisk({ place, noDatabase }: DoctorRun): Promise<readonly Finding[]> {
  const { database } = place;
  const home = resolve(place.home);
  const findings: Finding[] = [];
  if (!existsSync(home)) return [missingFolder(home)];
  try {
    const { bavail, bsize } = await statfs(home);
    findings.push(freeFinding(home, bavail * bsize));
  } catch (cause) {
    findings.push(
      notChecked(`The data folder ${home} cannot be read: ${reasonOf(cause)}.`, 'Name another folder with --data.'),
    );
  }
  const log =
    isShared(database) || (await noDatabase()) !== null
      ? null
      : statSync(`${await placeOfStore(database)}-wal`, { throwIfNoEntry: false });
  return log ? [...findings, logFinding(log.size)] : findings;
}
