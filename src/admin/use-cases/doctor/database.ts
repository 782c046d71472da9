import { plural } from '../../../core/text/text.ts';
import { iso } from '../../../core/time/clock.ts';
import type { StoreExamination, TablesState } from '../../../store/driver.ts';
import { examineStore, placeOfStore, tablesOfStore } from '../../../store/open.ts';
import { isSound } from '../ledger/audit.ts';
import {
  type DoctorRun,
  type Finding,
  fine,
  notChecked,
  problem,
  type ServerFacts,
  sentence,
  warning,
} from './finding.ts';

/** How long tables are read in search of damage, ms. */
const EXAMINE_MS = 10_000;
/** A further server needs this many connections. */
export const CONNECTIONS_MIN = 9;

export async function checkDatabase({
  place: { database },
  noDatabase,
  command,
}: DoctorRun): Promise<readonly Finding[]> {
  const reason = await noDatabase();
  if (reason !== null) return [reason];
  const place = await placeOfStore(database);
  const [tables, examined] = await Promise.all([tablesOfStore(database), examineStore(database, EXAMINE_MS)]);
  return [tablesFinding(place, tables, command), ...examinationFindings(place, examined, command)];
}

export function tablesFinding(
  place: string,
  { version, known, serves, program }: TablesState,
  command: DoctorRun['command'],
): Finding {
  const found = `The tables of ${place} have version ${version}`;
  if (serves > known)
    return problem(
      `${found}, which ${program === null ? 'a newer program' : `Signalbox ${program}`} has written; this program knows version ${known}.`,
      `Use that version of Signalbox or a later one.`,
    );
  if (version < known)
    return warning(
      `${found}, and this program needs version ${known}.`,
      `Start the server, which updates the tables, or run \`${command('db migrate')}\`.`,
    );
  if (version > known) return fine(`${found}. This program is for version ${known} and can use them.`);
  return fine(`${found}, which is the version of this program.`);
}

export function examinationFindings(
  place: string,
  { engine, faults, tables, connections }: StoreExamination,
  command: DoctorRun['command'],
): readonly Finding[] {
  const findings = faults.map((fault) => problem(`${engine} at ${place}: ${fault}.`, tables ? DAMAGED : UNSAFE));
  if (tables && tables.read < tables.all && faults.length === 0)
    findings.push(
      notChecked(
        `${engine} found no damage in ${tables.read} of ${plural(tables.all, 'table')}; the time was over before it read the rest.`,
        `\`${command('ledger backup FILE')}\` copies and audits the whole database.`,
      ),
    );
  else if (faults.length === 0)
    findings.push(
      fine(tables ? `${engine} found no damage in ${plural(tables.all, 'table')}.` : `${engine} has safe settings.`),
    );
  if (connections) findings.push(connectionsFinding(connections));
  return findings;
}

const DAMAGED =
  'Stop the server, keep a copy of the data folder, and restore the last backup. The disk may be failing: check it first.';
const UNSAFE = 'Correct the setting of the database server and reload or restart it.';

function connectionsFinding({ used, most }: NonNullable<StoreExamination['connections']>): Finding {
  const left = Math.max(0, most - used);
  const found = `The database server has ${left} of ${plural(most, 'connection')} left.`;
  if (left >= CONNECTIONS_MIN) return fine(found);
  return warning(found, `Raise max_connections: each server needs ${CONNECTIONS_MIN}, and a command 6.`);
}

/** Reports the last audit of this server. An audit reads the whole journal, so the check makes none. */
export function checkAudit({ command }: DoctorRun, { lastAudit, options }: ServerFacts): readonly Finding[] {
  const audit = `\`${command('ledger audit')}\``;
  if (lastAudit === null) {
    // The command asks the first process.
    if ((options.process ?? 1) > 1) return [];
    return [
      notChecked('This server has not audited its ledger since it started.', `Run ${audit}, which may take minutes.`),
    ];
  }
  const { ended, report } = lastAudit;
  if (isSound(report)) return [fine(`The audit of ${iso(ended)} found the ledger right.`)];
  const what =
    report.findings_count > 0
      ? plural(report.findings_count, 'contradiction')
      : (report.ledger_fault ?? report.spool_fault);
  return [
    problem(
      sentence(`The audit of ${iso(ended)} found: ${what}`),
      `Run ${audit} to see the details, and follow the page on incidents with money.`,
    ),
  ];
}
