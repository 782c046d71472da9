import { join, resolve } from 'node:path';
import { UsageError } from '../../core/usage-error.ts';
import type { Plugin } from '../../plugin-host/registry.ts';
import { policySchema as schemaOf, schemaText } from '../../policy/json-schema.ts';
import { parseArguments } from '../options.ts';
import type { CommandResult } from '../result.ts';
import { type PolicyCommand, readPolicy } from './command.ts';
import { replaceFile } from './fmt-files.ts';

/** What files name in their first line, so that editors find it. */
const FILE = 'policy.schema.json';

/** `signalbox policy schema`: of a policy that is wrong, too, for it is made better with it. Throws UsageError. */
export async function policySchema(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, { write: { type: 'boolean' } });
  if (positionals.length > 1) throw new UsageError('policy schema takes one folder.');
  const folder = positionals[0] ?? command.folder;
  const text = schemaText(await schemaFor(folder, command));
  if (!values.write) return { text, code: 0 };
  const path = join(folder, FILE);
  await replaceFile(path, text);
  const line = `# yaml-language-server: $schema=./${FILE}`;
  return {
    text: `Wrote ${path}. Files of the policy that begin with this line are checked by it:\n${line}\n`,
    code: 0,
  };
}

async function schemaFor(folder: string, { judge }: PolicyCommand) {
  const { files } = await readPolicy(folder);
  const { policy } = await judge.parse(files, null);
  const specifiers = policy.plugins.map(({ specifier }) => specifier);
  const own: Plugin[] = [];
  for (const [specifier, found] of await judge.loader.load(specifiers, resolve(folder))) {
    if (found instanceof Error)
      throw new UsageError(`${folder}: plugin \`${specifier}\` cannot be used: ${found.message}`);
    own.push(...found.plugins);
  }
  const names = (named: readonly { readonly name: string }[]) => named.map(({ name }) => name);
  return schemaOf([...judge.shipped, ...own], {
    models: [...policy.modelIds.keys()],
    providers: names(policy.providers),
    selectors: names(policy.selectors),
    tasks: names(policy.tasks),
    constraints: names(policy.constraints),
  });
}
