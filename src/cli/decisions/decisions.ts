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
import { readStore } from '../../store/open.ts';
import type { RecordEntry } from '../../store/records.ts';
import { groupOf, LIST, parseFlags, SWITCH, TEXT } from '../arguments.ts';
import { table } from '../terminal.ts';
import { jsonText, minute } from '../text.ts';
import { operator } from '../user.ts';

const OPTIONS = {
  ...{ from: TEXT, to: TEXT, key: TEXT, model: TEXT, task: TEXT, status: TEXT, operation: TEXT, label: LIST },
  ...{ team: TEXT, user: TEXT, session: TEXT, after: TEXT, limit: TEXT, json: SWITCH },
};

/**
 * `signalbox decisions list`, beside a running server or without one.
 * @param file the database, which exists
 * @returns the text to print
 * @throws UsageError
 */
export const runDecisions = groupOf('decisions', { list });

async function list(args: readonly string[], file: string): Promise<string> {
  const { json, ...filters } = parseFlags(args, OPTIONS);
  const query = queryOf(filters);
  using reader = await readStore(file, ['records']);
  if (!(await reader.records.isCurrent())) {
    throw new UsageError(`${file} has no records of this version yet. Start the server once to create them.`);
  }
  const page = await listDecisions(operator(), reader.records.log, query);
  return json ? jsonText(decisionPageBody(page)) : pageText(page);
}

function queryOf(filters: Parameters<typeof decisionQuery>[0]): ReturnType<typeof decisionQuery> {
  try {
    return decisionQuery(filters);
  } catch (cause) {
    if (!(cause instanceof DecisionFilterError)) throw cause;
    throw new UsageError(`--${cause.filter} ${cause.message}.`);
  }
}

const HEAD = ['DECISION', 'TIME (UTC)', 'KEY', 'OPERATION', 'STATUS', 'MODEL', 'TASK', 'CHARGED', 'MS'];

function pageText({ entries, hasMore }: DecisionPage): string {
  if (entries.length === 0) return 'No decision matches.\n';
  const last = idText('dec_', entries.at(-1)!.id);
  return `${table([HEAD, ...entries.map(rowOf)])}${hasMore ? `\nMore decisions exist. For the next page, add: --after ${last}\n` : ''}`;
}

function rowOf({ id, keyId, operation, status, model, task, record }: RecordEntry): string[] {
  const outcome = record?.outcome;
  const charged = outcome ? creditsText(outcome.charged) : record ? '-' : 'unreadable';
  const ms = outcome ? `${Math.round(outcome.totalMs)}` : '-';
  return [idText('dec_', id), minute(timeOfId(id)), keyId, operation, status, model, task, charged, ms];
}
