import { readFileSync } from 'node:fs';
import { messageOf } from '../../core/thrown.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { Store } from '../../store/store.ts';
import type { TrailHead, TrailTable } from '../../store/trail.ts';
import { TRAIL_COMMANDS, type TrailEraser, type TrailReader } from '../trail.ts';
import type { Writer } from '../use-cases/csv.ts';
import { exportedTrail, verifyTrail } from '../use-cases/trail.ts';
import { headsIn, type TrailReport } from '../use-cases/trail-check.ts';
import { groupOf, LIST, parseFlags, SWITCH, TEXT } from './arguments.ts';
import { flagPeriod } from './ledger/period.ts';
import { commandsOf, NO_WORTH } from './operations.ts';
import type { CommandOutput, CommandResult } from './result.ts';
import { count, jsonText } from './text.ts';
import { operator } from './user.ts';

/** The inputs of commands on the audit trail. */
export interface TrailCommand {
  readonly store: Pick<Store, 'commit'> & { readonly trail: TrailTable };
  /** The heads of the hash chain that the server wrote to the data folder. */
  readonly noted: readonly TrailHead[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly write: Writer;
}

/** Runs `signalbox trail list|verify|export|erase`. Throws UsageError. */
export const runTrail = groupOf<TrailCommand, CommandOutput>('trail', {
  ...commandsOf<TrailReader & TrailEraser, TrailCommand>(TRAIL_COMMANDS, ({ store }) => ({ store, ...NO_WORTH })),
  verify,
  export: exportTrail,
});

/** Runs `trail verify [--against FILE]... [--json]`. The exit code is 2 if the trail differs from what was written. */
async function verify(args: readonly string[], { store: { trail }, noted }: TrailCommand): Promise<CommandResult> {
  const { against = [], json } = parseFlags(args, { against: LIST, json: SWITCH });
  const known = [...noted, ...against.flatMap(headsOf)];
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

/** Runs `trail export [--from T] [--to T] [--time-zone UTC]`: writes JSON lines, oldest first, and then the head of the hash chain. */
async function exportTrail(args: readonly string[], { store: { trail }, now, write }: TrailCommand): Promise<string> {
  const { from, to, 'time-zone': timeZone = 'UTC' } = parseFlags(args, { from: TEXT, to: TEXT, 'time-zone': TEXT });
  const period = flagPeriod(from, to, timeZone);
  for await (const line of exportedTrail(operator(), trail, period, now())) await write(line);
  return '';
}
