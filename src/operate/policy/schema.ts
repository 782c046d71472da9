import { resolve } from 'node:path';
import type { Plugin } from '../../contract/kinds.ts';
import { UsageError } from '../../core/usage-error.ts';
import { policySchema } from '../../policy/json-schema.ts';
import type { PolicyBundle } from '../../runtime/source.ts';
import { type JudgeTools, readPolicy } from './tools.ts';

/** Returns the JSON schema of a policy with its own plugins and names; the policy may have errors. Throws UsageError. */
export const schemaFor = async (folder: string, judge: JudgeTools) => schemaOf(await readPolicy(folder), folder, judge);

/** The same of files that were read. @param folder that of relative plugins */
export async function schemaOf({ files }: PolicyBundle, folder: string, judge: JudgeTools) {
  const { policy } = await judge.parse(files, null);
  const specifiers = policy.plugins.map(({ specifier }) => specifier);
  const own: Plugin[] = [];
  for (const [specifier, found] of await judge.loader.load(specifiers, resolve(folder))) {
    if (found instanceof Error)
      throw new UsageError(`${folder}: plugin \`${specifier}\` cannot be used: ${found.message}`);
    own.push(...found.plugins);
  }
  const names = (named: readonly { readonly name: string }[]) => named.map(({ name }) => name);
  return policySchema([...judge.shipped, ...own], {
    models: [...policy.modelIds.keys()],
    providers: names(policy.providers),
    selectors: names(policy.selectors),
    aliases: policy.aliases,
    tasks: names(policy.tasks),
    constraints: names(policy.constraints),
  });
}
