import { readFileSync } from 'node:fs';
import { addressOf } from '../core/holder-address.ts';
import { isEmpty } from '../core/object.ts';
import { messageOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import type { Writer } from '../operate/csv.ts';
import { joinedPages } from '../operate/pages.ts';
import { eraseWords, exportedTrail, listTrail, verifyTrail } from '../operate/trail.ts';
import { headsIn, type TrailReport } from '../operate/trail-check.ts';
import type { Store } from '../store/store.ts';
import {
  TRAIL_ACTIONS,
  TRAIL_LIMIT,
  TRAIL_LIMIT_MAX,
  type TrailEntry,
  type TrailHead,
  type TrailQuery,
  type TrailTable,
} from '../store/trail.ts';
import { choiceOf, groupOf, LIST, parseFlags, SWITCH, TEXT, wholeOf } from './arguments.ts';
import { periodOf } from './ledger/period.ts';
import type { CommandOutput, CommandResult } from './result.ts';
import { table } from './terminal.ts';
import { count, jsonText, minute } from './text.ts';
import { operator } from './user.ts';

/** The inputs of every command on the trail. */
export interface TrailCommand {
  readonly store: Pick<Store, 'commit'> & { readonly trail: TrailTable };
  /** The heads that the server has noted in the data folder. */
  readonly noted: readonly TrailHead[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly write: Writer;
}

/** `signalbox trail list|verify|export|erase`. Throws UsageError. */
export const runTrail = groupOf<TrailCommand, CommandOutput>('trail', { list, verify, export: exportTrail, erase });

/** `trail list [--subject ID] [--by NAME] [--action ACTION] [--from T] [--to T] …`: changes, newest first. */
async function list(args: readonly string[], { store }: TrailCommand): Promise<string> {
  const { subject = null, ...flags } = parseFlags(args, {
    ...{ subject: TEXT, by: TEXT, action: TEXT, from: TEXT, to: TEXT },
    ...{ limit: TEXT, before: TEXT, json: SWITCH },
  });
  return listed(store, subject, flags);
}

type TrailFilters = Pick<TrailQuery, 'actor' | 'action' | 'from' | 'to'>;

/** Throws UsageError. */
function filtersOf({ by, action, from, to }: Omit<ListFlags, 'limit' | 'before' | 'json'>): TrailFilters {
  const period = periodOf(from, to, 'UTC');
  return {
    ...(by !== undefined && { actor: addressOf(by) ?? by }),
    ...(action !== undefined && { action: choiceOf('--action', action, TRAIL_ACTIONS) }),
    ...(from !== undefined && { from: period.from }),
    ...(Number.isFinite(period.to) && { to: period.to }),
  };
}

interface ListFlags {
  readonly by?: string | undefined;
  readonly action?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly limit?: string | undefined;
  /** The ID of the last entry of the page before. */
  readonly before?: string | undefined;
  readonly json: boolean;
}

/** The entries of the trail as a table, or as `GET /admin/trail` returns them. Throws UsageError. */
export async function listed(
  { trail }: { readonly trail: Pick<TrailTable, 'list'> },
  keyId: string | null,
  { limit: text, before, json, ...flags }: ListFlags,
): Promise<string> {
  const limit = text === undefined ? TRAIL_LIMIT : wholeOf('--limit', text, 1, TRAIL_LIMIT_MAX);
  const place = before === undefined ? {} : { before: wholeOf('--before', before, 0, Number.MAX_SAFE_INTEGER) };
  const query = { keyId, ...place, ...filtersOf(flags) };
  const page = await joinedPages<TrailEntry, object>(limit, (last, left) =>
    listTrail(operator(), trail, { ...query, ...(last && { before: last.id }), limit: left }),
  );
  const { rows: entries, hasMore } = page;
  if (json) return jsonText(page.data);
  const rows = entries.map((entry) => [
    `${minute(entry.time)} UTC`,
    actorText(entry),
    entry.from ?? '-',
    entry.action,
    subjectText(entry),
    detailsText(entry),
  ]);
  const more = hasMore ? `\nOlder entries exist. For the next page, add: --before ${entries.at(-1)?.id}\n` : '';
  return `${table([['TIME', 'BY', 'FROM', 'ACTION', 'SUBJECT', 'DETAILS'], ...rows])}${more}`;
}

/** `cli alice`, `key k7mw2pq9x4ta (req_0a4x1wm3zk0)`, `wallet 0x…`, `server`. */
function actorText({ actor: { kind, name }, requestId }: TrailEntry): string {
  return `${kind}${name === null ? '' : ` ${name}`}${requestId === null ? '' : ` (${requestId})`}`;
}

const subjectText = ({ subject: { kind, id } }: TrailEntry): string => `${kind} ${id}`.trim();

/** Characters of a detail in the table: the patch of a policy has thousands. */
const DETAIL_MAX = 500;

/** The details of a change, without the empty ones. `--json` has them whole. */
function detailsText({ details }: TrailEntry): string {
  const isSaid = (value: unknown) => value !== '' && !(typeof value === 'object' && isEmpty(value));
  return Object.entries(details)
    .filter(([, value]) => isSaid(value))
    .map(([name, value]) => `${name}=${shortText(typeof value === 'string' ? value : JSON.stringify(value))}`)
    .join(' ');
}

/** A text in one line, cut where it is long. */
function shortText(text: string): string {
  const [line = '', ...more] = text.slice(0, DETAIL_MAX).split('\n');
  return more.length > 0 || text.length > DETAIL_MAX ? `${line} …` : line;
}

/** `trail verify [--against FILE]... [--json]`. The code is 2 where the trail is not as it was written. */
async function verify(args: readonly string[], { store: { trail }, noted }: TrailCommand): Promise<CommandResult> {
  const { against = [], json } = parseFlags(args, { against: LIST, json: SWITCH });
  const known = [...noted, ...against.flatMap(headsOf)];
  const report = await verifyTrail(operator(), trail, known);
  return { text: json ? jsonText(report) : reportText(report, known), code: report.faults.length > 0 ? 2 : 0 };
}

function headsOf(file: string): TrailHead[] {
  const heads = headsIn(textOf(file));
  if (heads.length === 0) throw new UsageError(`${file} has no line with the id and hash of an entry.`);
  return heads;
}

function textOf(file: string): string {
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
      ? 'No head was noted outside the database, so entries cut from the end would not be found.'
      : `${count(confirmed, 'entry', 'entries')} confirmed by ${count(known.length, 'noted hash', 'noted hashes')}.`,
  );
  if (erased > 0) lines.push(`Personal words of ${count(erased, 'entry', 'entries')} were erased.`);
  if (found > 0) lines.push('', 'Faults:', ...faults.map(({ id, problem }) => `  entry ${id}: ${problem}`));
  if (more > 0) lines.push(`  and ${more.toLocaleString('en')} more`);
  return `${lines.join('\n')}\n`;
}

/** `trail export [--from T] [--to T] [--time-zone UTC]`: JSON lines, oldest first, and then the head. */
async function exportTrail(args: readonly string[], { store: { trail }, now, write }: TrailCommand): Promise<string> {
  const { from, to, 'time-zone': timeZone = 'UTC' } = parseFlags(args, { from: TEXT, to: TEXT, 'time-zone': TEXT });
  const period = periodOf(from, to, timeZone);
  for await (const line of exportedTrail(operator(), trail, period, now())) await write(line);
  return '';
}

const ERASE_USAGE = 'trail erase takes --by NAME, or --subject ID, and --yes.';

/** `trail erase --by NAME | --subject ID --yes`. */
async function erase(args: readonly string[], { store, now }: TrailCommand): Promise<string> {
  const { by, subject, yes } = parseFlags(args, { by: TEXT, subject: TEXT, yes: SWITCH });
  if ((by === undefined) === (subject === undefined)) throw new UsageError(ERASE_USAGE);
  if (!yes) throw new UsageError(`Erased words cannot be restored. ${ERASE_USAGE}`);
  const words = by === undefined ? { subject: subject ?? '' } : { actorName: by };
  if (!(await eraseWords(operator(), store, words, now()))) throw new UsageError('The trail has no such words.');
  return by === undefined
    ? 'Erased the names, notes and labels in the changes of the subject. The chain is whole.\n'
    : 'Erased the name of the actor and where it was, in all its changes. The chain is whole.\n';
}
