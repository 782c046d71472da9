import { join } from 'node:path';
import { policySchema, schemaText } from '../../policy/json-schema.ts';
import { replaceFile } from '../../policy/runtime/replace-file.ts';
import { parseArguments, SWITCH } from '../arguments.ts';
import type { CommandDefinition } from '../command.ts';
import type { CommandResult } from '../result.ts';
import { folderIn, type PolicyCommand } from './command.ts';

/** The first line of a policy file names this file, so that editors find the schema. */
const FILE = 'policy.schema.json';

/** `signalbox policy schema` */
export const policySchemaCommand: CommandDefinition = {
  usesPolicies: true,
  use: 'to get completion and checks of policy files in your editor.',
  example: 'policy schema --write',
  usage: '[DIR] [--write]',
  summary: 'Print the JSON Schema of the policy language for editors.',
  details: `The schema includes the options of the strategies and adapters that come with Signalbox.
--write saves the schema as DIR/policy.schema.json. The command does not read the policy in DIR.`,
  run: async (args, context) => runSchema(args, await context.policy()),
};

/** Prints the schema, or writes it into a policy folder. Throws UsageError. */
async function runSchema(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
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
