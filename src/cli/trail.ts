import { readFileSync } from 'node:fs';
import { exportedTrail, verifyTrail } from '../admin/use-cases/trail.ts';
import { headsIn, type TrailReport } from '../admin/use-cases/trail-check.ts';
import { messageOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import { notedHeads } from '../server/trail-head.ts';
import type { TrailHead } from '../store/trail.ts';
import { LIST, parseFlags, SWITCH, TEXT } from './arguments.ts';
import type { CommandContext, CommandDefinition } from './command.ts';
import { flagPeriod, MOMENT } from './ledger/period.ts';
import type { CommandResult } from './result.ts';
import { count, jsonText } from './text.ts';
import { operator } from './user.ts';

/** `signalbox trail verify` */
export const trailVerify: CommandDefinition = {
  use: 'to show an auditor that the record of changes is complete.',
  example: 'trail verify --against trail-october.jsonl',
  usage: '[--against FILE]... [--json] [--data DIR]',
  summary: 'Prove that no entry of the audit trail was changed, removed, added or cut off.',
  details: `Compares the trail with trail.head in the data folder, and with each FILE. A FILE has lines with the id
and the hash of an entry: an earlier export, or the server's log.
Exit code: 0 if the trail is unchanged, 2 if something is wrong.`,
  run: verify,
};

/** `signalbox trail export` */
export const trailExport: CommandDefinition = {
  use: 'to keep a copy of the audit trail outside the database.',
  example: 'trail export --from 2026-11 > trail.jsonl',
  usage: '[--from T] [--to T] [--time-zone UTC] [--data DIR]',
  summary: 'Write the audit trail as JSON lines. The last line is the head of its hash chain.',
  details: MOMENT,
  run: exportTrail,
};

/** The exit code is 2 if the trail differs from what was written. */
async function verify(args: readonly string[], { offline, line }: CommandContext): Promise<CommandResult> {
  const { against = [], json } = parseFlags(args, { against: LIST, json: SWITCH });
  const known = [...notedHeads(line.data), ...against.flatMap(headsOf)];
  const { trail } = await offline.store();
  const report = await verifyTrail(operator(), trail, known);
  const isWhole = report.faults.length === 0;
  const body = { object: 'trail.report', is_whole: isWhole, ...report };
  return { text: json ? jsonText(body) : reportText(report, known), code: isWhole ? 0 : 2 };
}
function headsOf(file: string): TrailHead[] {
  const heads = headsIn(fileText(file));
  if (heads.length === 0) throw new UsageError(`${file} has no line with the id and hash of an entry.`);
  return heads;
}

function fileText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`Cannot read ${file}: ${messageOf(cause)}.`);
  }
}

function reportText(
  { entries, first, head, erased, confirmed, faults, more }: TrailReport,
  known: readonly TrailHead[],
) {
  const found = faults.length + more;
  const which = head ? ` (${first} to ${head.id})` : '';
  const lines = [
    `${count(entries, 'entry', 'entries')}${which}: ${found === 0 ? 'nothing wrong' : count(found, 'fault')}`,
  ];
  if (head) lines.push(`Head: ${head.id} ${head.hash}`);
  lines.push(
    known.length === 0
      ? 'No head of the hash chain was noted outside the database, so the check cannot notice entries that were cut from the end.'
      : `${count(confirmed, 'entry', 'entries')} confirmed by ${count(known.length, 'noted hash', 'noted hashes')}.`,
  );
  if (erased > 0) lines.push(`Personal data in ${count(erased, 'entry', 'entries')} was erased.`);
  if (found > 0) lines.push('', 'Faults:', ...faults.map(({ id, problem }) => `  entry ${id}: ${problem}`));
  if (more > 0) lines.push(`  and ${more.toLocaleString('en')} more`);
  return `${lines.join('\n')}\n`;
}

/** Writes JSON lines, oldest first, and then the head of the hash chain. */
async function exportTrail(args: readonly string[], { offline, now, write }: CommandContext): Promise<string> {
  const { from, to, 'time-zone': timeZone = 'UTC' } = parseFlags(args, { from: TEXT, to: TEXT, 'time-zone': TEXT });
  const period = flagPeriod(from, to, timeZone);
  const { trail } = await offline.store();
  for await (const line of exportedTrail(operator(), trail, period, now())) await write(line);
  return '';
}
