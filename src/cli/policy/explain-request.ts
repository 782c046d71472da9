import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { UsageError } from '../../core/usage-error.ts';
import { taskNote } from '../../routing/advise.ts';
import { leftOutProviders } from '../../runtime/candidate.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { labelOf, pairsOf } from '../keys/terms.ts';
import { parseArguments } from '../options.ts';
import type { CommandResult } from '../result.ts';
import { isFolder, type PolicyCommand, runtimeOf } from './command.ts';
import { exactFacts } from './exact-facts.ts';
import { bodyOf, momentOf, readerOf } from './explain-body.ts';
import { explainCase } from './explain-case.ts';
import { told } from './explain-told.ts';
import { learntOf } from './learnt.ts';
import { taskBody, taskReasons, taskText } from './task-words.ts';

const FLAGS = {
  model: { type: 'string' },
  task: { type: 'string' },
  'input-tokens': { type: 'string' },
  'output-tokens': { type: 'string' },
  message: { type: 'string' },
  label: { type: 'string', multiple: true },
  metadata: { type: 'string', multiple: true },
  time: { type: 'string' },
  key: { type: 'string' },
  'key-models': { type: 'string' },
  'cost-weight': { type: 'string' },
  'quality-weight': { type: 'string' },
  case: { type: 'string' },
  here: { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

/** What is not known here of what a server would go by. */
const NOTE =
  'The figures are the policy’s own, corrected by what outcomes have taught a server with this data folder: what it has measured of endpoints is not known here, and budgets and balances are not looked at.';

/** `signalbox policy explain` of a request that nobody has sent. Throws UsageError, or SignalboxError as the API would. */
export async function explainRequest(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const { values: flags, positionals } = parseArguments(args, FLAGS);
  const { folder, file } = placesIn(positionals);
  if (flags.case !== undefined) {
    const { case: name, here = false, json = false, ...more } = flags;
    const [extra] = Object.keys(more);
    if (extra || file)
      throw new UsageError(`--case names the whole request: leave ${extra ? `--${extra}` : file} out.`);
    return explainCase(name, folder ?? command.folder, here, json, command);
  }
  if (flags.here) throw new UsageError('--here goes with --case: any other request is explained as it is here.');
  const body = bodyOf(flags, file === null ? {} : await jsonOf(file, command));
  const runtime = await runtimeOf(folder ?? command.folder, command.judge);
  const reader = readerOf(body, runtime.snapshot, command.http);
  const { user, metadata, stream, task } = reader;
  const key = {
    id: flags.key ?? 'explain',
    labels: pairsOf(flags.label ?? [], labelOf),
    models: flags['key-models'] === undefined ? null : knownModels(flags['key-models'], runtime),
  };
  const timeMs = flags.time === undefined ? command.judge.now() : momentOf('--time', flags.time);
  const failed = new Map<string, string>();
  const facts = await exactFacts(reader, { key, user, metadata, stream, timeMs }, runtime, (rule, error) =>
    failed.set(rule.name, `The condition of ${rule.name} failed and counts as true: ${reasonOf(error)}.`),
  );
  const note = taskNote(task, facts.task);
  const reasons = reader.profiled && taskReasons(reader.profiled, facts);
  const form = {
    json: flags.json ?? false,
    before: [...(note ? [note.trim()] : []), ...(reasons ? [taskText(reasons)] : [])],
    after: [...failed.values()],
    head: { task_reasons: reasons && taskBody(reasons) },
  };
  const learnt = await learntOf(facts, reader.question, runtime, command.database);
  return told(facts, learnt, runtime, { ...form, note: NOTE, missing: leftOutProviders(runtime.snapshot) }, command);
}

/** IDs of models, of which the policy has at least to know each. Throws UsageError. */
function knownModels(text: string, { snapshot }: Runtime): string[] {
  const isLeftOut = (id: string) => snapshot.leftOut.some(({ kind, name }) => kind === 'model' && name === id);
  return text.split(',').map((part) => {
    const id = part.trim();
    if (snapshot.modelIndex.has(id) || isLeftOut(id)) return id;
    throw new UsageError(`--key-models: the policy has no model \`${id}\`.`);
  });
}

/** The first line of what an expression complains of: the others draw the place. */
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split('\n')[0]!;

/** At most a folder with a policy and a file with a request, in whatever order. */
function placesIn(positionals: readonly string[]): { folder: string | null; file: string | null } {
  const isFile = (path: string) => path === '-' || path.endsWith('.json') || (existsSync(path) && !isFolder(path));
  const [folder = null, ...folders] = positionals.filter((path) => !isFile(path));
  const [file = null, ...files] = positionals.filter(isFile);
  if (folders.length + files.length > 0) {
    throw new UsageError('policy explain takes one folder and one file with a request, or - for the standard input.');
  }
  return { folder, file };
}

async function jsonOf(file: string, { input }: PolicyCommand): Promise<unknown> {
  const name = file === '-' ? 'The standard input' : file;
  let text: string;
  try {
    text = file === '-' ? await input() : await readFile(file, 'utf8');
  } catch {
    throw new UsageError(`${file} cannot be read.`);
  }
  try {
    // Some editors begin a file with a mark of its encoding.
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new UsageError(`${name} is not JSON.`);
  }
}
