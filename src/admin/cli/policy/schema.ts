import { join } from 'node:path';
import { policySchema, schemaText } from '../../../policy/json-schema.ts';
import { replaceFile } from '../../../policy/runtime/replace-file.ts';
import { parseArguments, SWITCH } from '../arguments.ts';
import type { CommandResult } from '../result.ts';
import { folderIn, type PolicyCommand } from './command.ts';

/** The first line of a policy file names this file, so that editors find the schema. */
const FILE = 'policy.schema.json';

/** Runs `signalbox policy schema`: prints the schema, or writes it into a policy folder. Throws UsageError. */
export async function runSchema(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, { write: SWITCH });
  const folder = folderIn(positionals, 'schema', command);
  const text = schemaText(policySchema(command.judge.shipped));
  if (!values.write) return { text, code: 0 };
  const path = join(folder, FILE);
  await replaceFile(path, text);
  const line = `# yaml-language-server: $schema=./${FILE}`;
  return {
    text: `Wrote ${path}. To let your editor check a policy file, begin the file with this line:\n${line}\n`,
    code: 0,
  };
}
