import { join } from 'node:path';
import { fileSchema, policySchema, schemaText } from '../../policy/json-schema.ts';
import { CredentialsText } from '../../policy/runtime/credentials-file.ts';
import { replaceFile } from '../../policy/runtime/replace-file.ts';
import { parseArguments, SWITCH } from '../arguments.ts';
import type { CommandDefinition } from '../command.ts';
import type { CommandResult } from '../result.ts';
import { folderIn, type PolicyCommand } from './command.ts';

/** The first line of a policy file names this file, so that editors find the schema. */
const POLICY_FILE = 'policy.schema.json';
/** The same for the credentials file. */
const CREDENTIALS_FILE = 'credentials.schema.json';

/** `signalbox policy schema` */
export const policySchemaCommand: CommandDefinition = {
  usesPolicies: true,
  use: 'to get completion and checks of policy files in your editor.',
  example: 'policy schema --write',
  usage: '[DIR] [--credentials] [--write]',
  summary: 'Print the JSON Schema of the policy language for editors.',
  details: `The schema includes the options of the strategies and adapters that come with Signalbox.
--write saves the schema as DIR/policy.schema.json. The command does not read the policy in DIR.
--credentials is for the file of serve --credentials: with --write, as DIR/credentials.schema.json.`,
  run: async (args, context) => runSchema(args, await context.policy()),
};

/** Prints the schema, or writes it into a policy folder. Throws UsageError. */
async function runSchema(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, { write: SWITCH, credentials: SWITCH });
  const folder = folderIn(positionals, 'schema', command);
  const schema = values.credentials
    ? fileSchema('urn:signalbox:credentials:1', CredentialsText)
    : policySchema(command.judge.shipped);
  const text = schemaText(schema);
  if (!values.write) return { text, code: 0 };
  const name = values.credentials ? CREDENTIALS_FILE : POLICY_FILE;
  const path = join(folder, name);
  await replaceFile(path, text);
  const line = `# yaml-language-server: $schema=./${name}`;
  return {
    text: `Wrote ${path}. To let your editor check a ${values.credentials ? 'credentials' : 'policy'} file, begin the file with this line:\n${line}\n`,
    code: 0,
  };
}
