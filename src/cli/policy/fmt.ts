import { plural } from '../../core/text.ts';
import { UsageError } from '../../core/usage-error.ts';
import {
  type ChangedFile,
  type FormattedFile,
  formatFile,
  formatFiles,
  isChanged,
} from '../../operate/policy/format.ts';
import { diagnosticsJson } from '../../policy/diagnostics.ts';
import { maskSecrets } from '../../policy/mask.ts';
import { mask } from '../../telemetry/secrets.ts';
import { parseArguments, SWITCH } from '../arguments.ts';
import type { CommandResult } from '../result.ts';
import { jsonText } from '../text.ts';
import type { PolicyCommand } from './command.ts';
import { diffText } from './fmt-diff.ts';
import { problemsText } from './problems.ts';

/** `signalbox policy fmt`. Throws UsageError. */
export async function runFormat(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, { json: SWITCH, check: SWITCH });
  const { json, check } = values;
  const { folder, judge, terminal } = command;
  const isInput = positionals.includes('-');
  if (isInput && positionals.length > 1) throw new UsageError('policy fmt takes either - or folders and files.');
  const all = isInput
    ? [await formatFile({ path: 'standard input', text: await command.input() }, judge.env)]
    : await formatFiles(positionals.length > 0 ? positionals : [folder], judge.env, !check);
  const code = all.some((one) => one.formatted === null || (check && isChanged(one))) ? 2 : 0;
  if (json) {
    const body = { ...bodyOf(all, check), ...(isInput && !check && { formatted: all[0]!.formatted }) };
    return { text: jsonText(body), code };
  }
  const form = { check, colour: terminal };
  return { text: isInput ? inputText(all[0]!, form) : asText(all, form), code };
}

const shownText = (text: string): string => maskSecrets(mask(text));

interface Form {
  readonly check: boolean;
  readonly colour: boolean;
}

/** The output may be redirected into the file: it is the formatted text or nothing. Throws UsageError for what cannot be formatted. */
function inputText(one: FormattedFile, { check, colour }: Form): string {
  if (one.formatted === null) throw new UsageError(whyNot(one, false));
  if (!check) return one.formatted;
  return isChanged(one) ? `${wouldChange(one, colour)}\n` : '';
}

function bodyOf(all: readonly FormattedFile[], check: boolean): object {
  return {
    ...diagnosticsJson(all.flatMap(({ problems }) => problems)),
    files: all.map(({ file }) => file.path),
    [check ? 'would_change' : 'changed']: all.filter(isChanged).map(({ file }) => file.path),
    refused: all.flatMap(({ file, refused }) => {
      if (!refused) return [];
      const { line, column, message } = refused;
      return [{ file: file.path, line, column, message, hint: IN_BRACKETS }];
    }),
  };
}

function asText(all: readonly FormattedFile[], { check, colour }: Form): string {
  const changed = all.filter(isChanged);
  const left = all.filter(({ formatted }) => formatted === null);
  const parts = [
    ...left.map((one) => whyNot(one, colour)),
    ...(check ? changed.map((one) => wouldChange(one, colour)) : []),
    ...(check || changed.length === 0 ? [] : [changed.map(({ file }) => `formatted ${file.path}`).join('\n')]),
  ];
  const counts = [
    changed.length > 0 && `${changed.length} ${check ? 'would change' : 'formatted'}`,
    left.length > 0 && `${left.length} unchanged because of problems`,
  ].filter(Boolean);
  return `${[...parts, `${plural(all.length, 'file')}: ${counts.length > 0 ? counts.join(', ') : 'nothing to format'}`].join('\n\n')}\n`;
}

/** The known reason for which prettier does damage. */
const IN_BRACKETS = 'a comment inside `{ }` or `[ ]` may be the cause: move it above or after the brackets';

function whyNot({ file, problems, refused }: FormattedFile, colour: boolean): string {
  if (refused) {
    const { line, column, message } = refused;
    return `${file.path}:${line}:${column}  ${message}, so the file is unchanged\n  hint: ${IN_BRACKETS}`;
  }
  return problemsText(problems, { files: [file] }, colour);
}

function wouldChange({ file, formatted }: ChangedFile, colour: boolean): string {
  return `${file.path} would change\n${diffText(shownText(file.text ?? ''), shownText(formatted), colour)}`;
}
