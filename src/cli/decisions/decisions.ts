import { idText, timeOfId } from '../../core/id.ts';
import { creditsText } from '../../core/text.ts';
import { UsageError } from '../../core/usage-error.ts';
import {
  DecisionFilterError,
  type DecisionPage,
  decisionPageBody,
  decisionQuery,
  listDecisions,
} from '../../operate/decisions.ts';
import { FULL_SIGHT, type Sight } from '../../operate/sight.ts';
import { readStore } from '../../store/open.ts';
import type { RecordEntry } from '../../store/records.ts';
import { groupOf, LIST, parseFlags, SWITCH, TEXT } from '../arguments.ts';
import { table } from '../terminal.ts';
import { jsonText, minute } from '../text.ts';
import { operator } from '../user.ts';

const OPTIONS = {
  ...{ from: TEXT, to: TEXT, key: TEXT, model: TEXT, task: TEXT, status: TEXT, operation: TEXT, label: LIST },
  ...{ team: TEXT, user: TEXT, session: TEXT, after: TEXT, 'newer-than': TEXT, limit: TEXT, json: SWITCH },
};

/**
 * `signalbox decisions list`, beside a running server or without one.
 * @param file the database, which exists
 * @returns the text to print
 * @throws UsageError
 */
export const runDecisions = groupOf('decisions', { list });

async function list(args: readonly string[], file: string): Promise<string> {
  const { json, 'newer-than': newerThan, ...filters } = parseFlags(args, OPTIONS);
  const query = await queryOf({ ...filters, newerThan });
  using reader = await readStore(file, ['records', 'ledger', 'access']);
  if (!(await reader.records.isCurrent())) {
    throw new UsageError(`${file} has no records of this version yet. Start the server once to create them.`);
  }
  const { records, journal, keys } = reader;
  const source = { log: records.log, usdPerCredit: await journal.usdPerCredit() };
  const names = new Map<string, string>();
  const sight: Sight = {
    ...FULL_SIGHT,
    nameOf: (id) => FULL_SIGHT.nameOf(id) ?? names.get(id) ?? null,
    async learn(ids) {
      for (const { id, name } of await keys.names([...new Set(ids)])) names.set(id, name);
    },
  };
  const page = await listDecisions(operator(), source, query, sight);
  return json ? jsonText(decisionPageBody(page)) : pageText(page);
}

async function queryOf(filters: Parameters<typeof decisionQuery>[0]): ReturnType<typeof decisionQuery> {
  try {
    return await decisionQuery(filters);
  } catch (cause) {
    if (!(cause instanceof DecisionFilterError)) throw cause;
    throw new UsageError(`--${cause.filter === 'newerThan' ? 'newer-than' : cause.filter} ${cause.message}.`);
  }
}

const HEAD = ['DECISION', 'TIME (UTC)', 'KEY', 'OPERATION', 'STATUS', 'MODEL', 'TASK', 'CHARGED', 'MS'];

function pageText({ entries, next }: DecisionPage): string {
  const rows = entries.length === 0 ? 'No decision matches' : table([HEAD, ...entries.map(rowOf)]);
  if (next === null) return entries.length === 0 ? `${rows}.\n` : rows;
  const after = `add: --after ${idText('dec_', next)}\n`;
  return entries.length === 0
    ? `${rows} so far. To look further, ${after}`
    : `${rows}\nMore decisions exist. For the next page, ${after}`;
}

function rowOf({ id, keyId, operation, status, model, task, summary }: RecordEntry): string[] {
  const { charged = null, totalMs = null } = summary ?? {};
  const cost = charged === null ? (summary ? '-' : 'unreadable') : creditsText(charged);
  const ms = totalMs === null ? '-' : `${Math.round(totalMs)}`;
  return [idText('dec_', id), minute(timeOfId(id)), keyId, operation, status, model, task, cost, ms];
}
