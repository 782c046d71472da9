import { isObject, listOf, objectsIn, parseJson, textOf } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import { expressionsOf } from './lexicon/data.ts';
import file from './lexicon/progress.json' with { type: 'json' };
import { EMPTY_HASH, edgesOf, hashOn, textHash } from './text-hash.ts';

const { probes, questions, undoes, viewers, waits } = expressionsOf(file);

/** The arguments of a tool call, as numbers without text. */
export interface ToolArguments {
  /** A hash of the arguments without notes for people. */
  readonly hash: number;
  /**
   * A hash of the command that decides whether the call fails: the last command of a chain, without filters of its output; or of the edited
   * files; or of the arguments.
   */
  readonly target: number;
  readonly edits: readonly TextEdit[];
  /** Whether the call runs something, so that marks in the middle of its result report failures. */
  readonly runs: boolean;
  /** Whether the call undoes edits, such as `git checkout a.ts`. */
  readonly undoes: boolean;
  /** Whether the call waits for something, so that it may be repeated. */
  readonly waits: boolean;
  /** Whether the call only looks at something outside, such as a service: it may be repeated, and its exit code alone is no failure. */
  readonly probes: boolean;
  /** Whether the call runs a command whose result may change by itself: any command except for views, searches and comparisons of files. */
  readonly polls: boolean;
  /** Whether exit code 1 is an answer and no failure, as for `diff`. */
  readonly asks: boolean;
}

/** An edit of a file. All values are hashes. */
export interface TextEdit {
  readonly file: number;
  /** The removed text; null if the whole file was written. */
  readonly removed: number | null;
  readonly added: number;
  /** Whether the edit only removes text, such as output that was added to find a fault. */
  readonly onlyRemoves: boolean;
}

/** The names that tools of agents give to their arguments. */
const PATHS = ['file_path', 'filePath', 'path', 'target_file', 'filename', 'file'] as const;
const OLD_TEXTS = ['old_string', 'oldString', 'old_str', 'oldText', 'old', 'search'] as const;
const NEW_TEXTS = ['new_string', 'newString', 'new_str', 'newText', 'new', 'replace'] as const;
const WHOLE_TEXTS = ['content', 'contents', 'file_text'] as const;
const PATCHES = ['patch', 'diff', 'input', 'patchText', 'patch_text'] as const;
const COMMANDS = ['command', 'cmd', 'commands', 'script', 'code'] as const;
/** Arguments that change from call to call and say nothing about what the call does. */
const NOTES = ['description', 'timeout', 'timeout_ms', 'explanation', 'justification', 'yield_time_ms'] as const;

/** Longer arguments are only compared, not read. */
const CHARS_MAX = 65_536;

/** The marks of a call whose arguments are not read. */
const NO_MARKS = { undoes: false, waits: false, probes: false, polls: false, asks: false } as const;

export function argumentsOf(text: string): ToolArguments {
  const args = text.length > CHARS_MAX ? undefined : parseJson(text);
  if (!isObject(args)) return { ...NO_MARKS, hash: textHash(text), target: textHash(text), edits: [], runs: true };
  const command = commandOf(args);
  const edits = editsOf(args, command);
  const hash = NOTES.some((name) => name in args) ? hashWithout(args, NOTES) : textHash(text);
  const filed = edits.reduce((all, one) => Math.imul(all, 31) + one.file, 0);
  const read = edgesOf(command);
  const decisive = command === '' ? '' : decisiveCommand(read);
  const target = edits.length > 0 ? filed : command === '' ? hash : textHash(decisive);
  const runs = command === '' ? firstText(args, PATHS) === '' : !viewers.test(decisive);
  const marks = {
    undoes: undoes.test(read),
    waits: waits.test(edgesOf(text)),
    probes: probes.test(decisive),
    polls: command !== '' && runs && !questions.test(decisive),
    asks: questions.test(decisive),
  };
  return { hash, target, edits, runs, ...marks };
}

function hashWithout(args: Members, names: readonly string[]): number {
  let hash = EMPTY_HASH;
  for (const name in args) {
    if (names.includes(name)) continue;
    const value = args[name];
    hash = hashOn(hashOn(hash, textHash(name)), textHash(typeof value === 'string' ? value : JSON.stringify(value)));
  }
  return hash;
}

function firstText(args: Members, names: readonly string[]): string {
  for (const name of names) if (typeof args[name] === 'string') return textOf(args[name]);
  return '';
}

const SHELL = /^(?:.*\/)?(?:ba|z|da)?sh$|^(?:powershell|pwsh|cmd)(?:\.exe)?$/;

/** Returns the command that a call runs; '' for none. */
function commandOf(args: Members): string {
  for (const name of COMMANDS) {
    const value = args[name];
    if (typeof value === 'string') return value;
    if (!Array.isArray(value)) continue;
    const words = value.map(textOf);
    return words.length > 2 && SHELL.test(words[0]!) ? words.at(-1)! : words.join(' ');
  }
  return '';
}

const FILTER = /(?:\d?>&?\s*\S+|\|\s*(?:tail|head|grep|rg|sed|awk|tee|cat|less|wc|sort|uniq)\b.*)/g;
const SETTING = /^(?:\w+=(?:"[^"]*"|'[^']*'|\S*)\s+|time\s+|sudo\s+|timeout\s+\S+\s+)+/;
const CHAIN = /&&|\|\||;|\n/;
/** Words that end a loop or a block of a shell, and commands that only print. */
const NO_COMMAND = /^(?:done|fi|esac|\}|echo\b.*|true|)$/;

/** Returns the last command of a chain such as `cd app && CI=1 npm test 2>&1 | tail`: `npm test`. */
function decisiveCommand(command: string): string {
  if (/\b(?:for|while|until|if|case)\b/.test(command)) return command;
  const commands = command.split(CHAIN).map((one) => one.replace(FILTER, '').trim().replace(SETTING, '').trim());
  return commands.findLast((one) => !NO_COMMAND.test(one)) ?? command;
}

function editsOf(args: Members, command: string): readonly TextEdit[] {
  const path = firstText(args, PATHS);
  const patch = command.includes('*** Begin Patch') ? command : firstText(args, PATCHES);
  if (patch !== '') {
    const edits = patchEdits(patch, path);
    if (edits.length > 0) return edits;
  }
  const listed = objectsIn(args.edits).flatMap((edit) => replacementIn(edit, path));
  if (listed.length > 0) return listed;
  const replacement = replacementIn(args, path);
  if (replacement.length > 0) return replacement;
  const whole = WHOLE_TEXTS.find((name) => typeof args[name] === 'string');
  return path === '' || whole === undefined
    ? []
    : [{ file: textHash(path), removed: null, added: textHash(textOf(args[whole])), onlyRemoves: false }];
}

function replacementIn(args: Members, path: string): readonly TextEdit[] {
  const removed = OLD_TEXTS.find((name) => typeof args[name] === 'string');
  const added = NEW_TEXTS.find((name) => typeof args[name] === 'string');
  if (removed === undefined || added === undefined) return [];
  return [textEdit(firstText(args, PATHS) || path, textOf(args[removed]), textOf(args[added]))];
}

const textEdit = (file: string, removed: string, added: string): TextEdit => ({
  file: textHash(file),
  removed: textHash(removed),
  added: textHash(added),
  onlyRemoves: removed.includes(added),
});

const FILE_LINE = /^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b\/)?)(.*)$/;

/** Reads a patch: for each file, the removed and the added lines. */
function patchEdits(patch: string, path: string): readonly TextEdit[] {
  const edits: TextEdit[] = [];
  let file = path;
  let removed = '';
  let added = '';
  const flush = (): void => {
    if (removed !== '' || added !== '') edits.push(textEdit(file, removed, added));
    removed = '';
    added = '';
  };
  for (const line of patch.split('\n')) {
    const named = FILE_LINE.exec(line)?.[1];
    if (named !== undefined) {
      flush();
      file = named;
    } else if (line.startsWith('--- ')) flush();
    else if (line.startsWith('-')) removed += `${line.slice(1)}\n`;
    else if (line.startsWith('+')) added += `${line.slice(1)}\n`;
  }
  flush();
  return edits;
}

/** Returns the arguments of a call in a form of its own dialect, such as a local shell; '' if it has none. */
export function nativeArguments(call: unknown): string {
  if (!isObject(call)) return '';
  const own = call.action ?? call.operation;
  return isObject(own) ? JSON.stringify(own) : '';
}

/** Returns the result of such a call; '' if it has none. */
export function nativeOutput(result: unknown): string {
  if (!isObject(result)) return '';
  const { output } = result;
  return typeof output === 'string'
    ? output
    : listOf(output)
        .map((one) => JSON.stringify(one))
        .join('\n');
}
