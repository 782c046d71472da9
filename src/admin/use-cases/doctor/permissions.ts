import { accessSync, constants, existsSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { shellWord } from '../../../core/text/shell-word.ts';
import { codeOf } from '../../../core/thrown.ts';
import { isShared, placeOfStore } from '../../../store/open.ts';
import { reasonOf } from '../../../store/reason.ts';
import { policyName } from '../policy/folder-words.ts';
import { foreignFinding, isForeign, missingFolder } from './data-folder.ts';
import { type DoctorRun, type Finding, fine, notChecked, problem, warning } from './finding.ts';
import { namesText } from './providers.ts';

/** The bits of a mode with which users other than the owner and the group may read, write and enter. */
const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;
const OTHERS_ENTER = 0o001;
/** The bit with which users cannot replace the files of others in a folder. */
const STICKY = 0o1000;
/** Windows has no such modes and owners. */
const HAS_MODES = process.platform !== 'win32';

const octal = (mode: number): string => `0${(mode & 0o777).toString(8).padStart(3, '0')}`;

export async function checkPermissions(run: DoctorRun): Promise<readonly Finding[]> {
  const { place, folder, secretPaths, policy, server } = run;
  const credentials = server?.options.credentials ?? null;
  if (!HAS_MODES)
    return [
      notChecked(
        'This system has no owners and modes as Unix has.',
        'Let only the user of the server read the data folder.',
      ),
    ];
  // Loading the policy reads the files with its secrets.
  await policy();
  const home = resolve(place.home);
  const database = isShared(place.database) ? null : await placeOfStore(place.database);
  const folders = [...new Set([home, ...(database === null ? [] : [dirname(database)])])];
  return [
    ...folders.flatMap((one) => folderFindings(one, database !== null && dirname(database) === one ? database : null)),
    ...readable(folder, 'Name the folder of the policy with --policies.', () => [
      policyFinding(folder, writableIn(folder)),
    ]),
    ...secretPaths().flatMap((path) =>
      readable(path, 'Correct the path in the variable that names this file.', () => [
        secretFinding(path, isForOthers(path)),
      ]),
    ),
    ...(credentials === null
      ? []
      : readable(credentials, 'Name the file with --credentials.', () => [credentialsFinding(credentials)])),
  ];
}

/** Checks the folder of the data. A folder of something else gets no advice to change it. @param database the database in the folder */
function folderFindings(folder: string, database: string | null): readonly Finding[] {
  if (!existsSync(folder)) return [missingFolder(folder)];
  if (isForeign(folder, database))
    return [
      database === null ? foreignFinding(folder, false) : notChecked(NO_DATA, 'See the finding on the database.'),
    ];
  const check = () => [dataFinding(folder, statSync(folder)), ...unwritableFindings(folder, unwritableIn(folder))];
  return readable(folder, 'Name another data folder with --data.', check);
}

const NO_DATA = 'This check needs the data folder.';

/** Runs a check of a path, which may be missing or unreadable. @param ifMissing what to do if it is missing */
function readable(path: string, ifMissing: string, check: () => readonly Finding[]): readonly Finding[] {
  try {
    return check();
  } catch (cause) {
    const found = `It cannot be read: ${reasonOf(cause)}.`;
    if (codeOf(cause) === 'ENOENT') return [notChecked(found, ifMissing, path)];
    return [problem(found, 'Let the user of the server read it, or run the command as that user.', path)];
  }
}

/** The folder has the whole database, and the socket with which commands act as the operator. */
function dataFinding(folder: string, { mode }: Pick<Stats, 'mode'>): Finding {
  if ((mode & (OTHERS_READ | OTHERS_WRITE | OTHERS_ENTER)) === 0)
    return fine('Only its owner and group can use the data folder.', folder);
  return problem(
    `Every user of this machine can ${(mode & OTHERS_WRITE) === 0 ? 'read' : 'change'} the data folder (mode ${octal(mode)}).`,
    `Run \`chmod 700 ${shellWord(folder)}\`.`,
    folder,
  );
}

/** Returns the files of a folder that this user cannot write. */
const unwritableIn = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !mayWrite(join(folder, entry.name)))
    .map(({ name }) => name);

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** A command that another user ran may have left files that the server cannot write. */
export const unwritableFindings = (folder: string, unwritable: readonly string[]): readonly Finding[] =>
  unwritable.length === 0
    ? []
    : [
        problem(
          `This user cannot write files of the data folder: ${namesText(unwritable)}.`,
          `Give them to the user of the server with chown, and run commands as that user.`,
          folder,
        ),
      ];

/** Plugins in the folder are code that the server runs, and its files say where requests go. */
function policyFinding(folder: string, writable: readonly string[]): Finding {
  if (writable.length === 0)
    return fine('The policy folder can be read, and other users cannot change it.', policyName(folder));
  return problem(
    `Every user of this machine can change the policy: ${writable.join(', ')}.`,
    `Run \`chmod -R o-w ${shellWord(folder)}\`.`,
    policyName(folder),
  );
}

/** The file names hosts that receive tokens, and programs that the server runs. */
function credentialsFinding(path: string): Finding {
  const writable = [path, dirname(resolve(path))].filter(
    (one) => (statSync(one).mode & (OTHERS_WRITE | STICKY)) === OTHERS_WRITE,
  );
  if (writable.length === 0) return fine('Other users cannot change the credentials file.', path);
  return problem(
    `Every user of this machine can change the credentials file: ${writable.join(', ')}.`,
    `Run \`chmod o-w ${writable.map(shellWord).join(' ')}\`.`,
    path,
  );
}

/** Returns the folder and its files that every user may change. Throws the system's error if the folder cannot be read. */
function writableIn(folder: string): readonly string[] {
  accessSync(folder, constants.R_OK | constants.X_OK);
  const paths = [folder, ...readdirSync(folder).map((name) => join(folder, name))];
  return paths.filter((path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & OTHERS_WRITE) !== 0);
}

/** Whether every user may read a file: the file itself, and all folders on the way to it. */
function isForOthers(path: string): boolean {
  const real = realpathSync(path);
  if ((statSync(real).mode & OTHERS_READ) === 0) return false;
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & OTHERS_ENTER) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

const secretFinding = (path: string, isOpen: boolean): Finding =>
  isOpen
    ? warning(
        'Every user of this machine can read this file with a secret.',
        `Run \`chmod o-rwx ${shellWord(path)}\`. In a container in which no other user runs, you can leave it.`,
        path,
      )
    : fine('Other users cannot read this file with a secret.', path);
