import { commandName } from '../core/command-name.ts';
import { isSubject } from '../core/subject.ts';
import { UsageError } from '../core/usage-error.ts';
import { joinedPages } from '../operate/pages.ts';
import {
  blockSubject,
  findSubject,
  listSubjects,
  SUBJECT_LIMIT,
  SUBJECT_LIMIT_MAX,
  type SubjectSource,
  subjectBody,
  unblockSubject,
} from '../operate/subjects.ts';
import type { SubjectRow } from '../store/subjects.ts';
import { groupOf, needed, onlyOne, parseArguments, parseFlags, SWITCH, TEXT, wholeOf } from './arguments.ts';
import { withTerms } from './keys/command.ts';
import { table } from './terminal.ts';
import { fieldLines, jsonText, minute } from './text.ts';
import { operator } from './user.ts';

/** `signalbox subjects list|show|block|unblock`. Returns what to print. Throws UsageError. */
export const runSubjects = withTerms(groupOf('subjects', { list, show, block, unblock }));

async function list(args: readonly string[], source: SubjectSource): Promise<string> {
  const { json, limit: text, before = null } = parseFlags(args, { json: SWITCH, limit: TEXT, before: TEXT });
  const limit = text === undefined ? SUBJECT_LIMIT : wholeOf('--limit', text, 1, SUBJECT_LIMIT_MAX);
  const first = before && checkedId(before);
  const { data } = await joinedPages(limit, (last: SubjectRow | null, left) =>
    listSubjects(operator(), source, { limit: left, before: last?.id ?? first }),
  );
  if (json) return jsonText(data);
  const rows = data.map(({ id, name, sub, last_seen_at: lastSeen, is_blocked: isBlocked }) => [
    ...[id, name, sub, minute(Date.parse(lastSeen))],
    isBlocked ? 'blocked' : 'open',
  ]);
  return table([['ID', 'ISSUER', 'SUBJECT', 'LAST SEEN', 'STATE'], ...rows]);
}

async function show(args: readonly string[], source: SubjectSource): Promise<string> {
  const { values, positionals } = parseArguments(args, { json: SWITCH });
  const id = idIn(positionals, 'show');
  const found = needed(await findSubject(operator(), source, id), noSubject(id));
  if (values.json) return jsonText(subjectBody(found));
  const { name, issuer, sub, firstSeen, lastSeen, isBlocked } = found;
  const lines: [string, string][] = [
    ['id', id],
    ['subject', sub],
    ['issuer', `${name}, ${issuer}`],
    ['state', isBlocked ? 'blocked' : 'open'],
    ['first seen', minute(firstSeen)],
    ['last seen', minute(lastSeen)],
  ];
  return fieldLines(lines, 12);
}

async function block(args: readonly string[], source: SubjectSource): Promise<string> {
  const { values, positionals } = parseArguments(args, { note: TEXT });
  const id = idIn(positionals, 'block');
  if (!(await blockSubject(operator(), source, id, values.note ?? ''))) throw new UsageError(noSubject(id));
  return `Blocked ${id}. Its tokens are refused until you run ${commandName()} subjects unblock ${id}.\n`;
}

async function unblock(args: readonly string[], source: SubjectSource): Promise<string> {
  const { positionals } = parseArguments(args, {});
  const id = idIn(positionals, 'unblock');
  if (!(await unblockSubject(operator(), source, id))) throw new UsageError(noSubject(id));
  return `Unblocked ${id}.\n`;
}

const noSubject = (id: string): string => `No subject with the ID ${id} has sent a token.`;

const idIn = (positionals: readonly string[], command: string): string =>
  checkedId(onlyOne(positionals, `subjects ${command} takes the ID of one subject. ${SEE}`));

const SEE = `Run ${commandName()} subjects list to see the IDs.`;

/** The text is not repeated: somebody may have put a token in its place. */
function checkedId(text: string): string {
  if (isSubject(text)) return text;
  throw new UsageError(`The ID of a subject is \`subject_\` and 32 hexadecimal digits. ${SEE}`);
}
