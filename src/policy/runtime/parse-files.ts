import type { ParsedPolicy, PolicyFile } from '../load.ts';
import { parseWith } from '../parse.ts';
import type { YamlReader } from '../yaml/parse.ts';
import { diffPolicies, type PolicyChange } from './diff.ts';

/**
 * The result of parsing a policy's files, which is the most expensive part of loading. Parsed files are plain data, because a worker sends
 * them.
 */
export interface ParsedFiles {
  /** The parsed policy. The `outline` of this parsed policy is empty. */
  readonly policy: ParsedPolicy;
  /** The bare data of the policy as JSON. A worker can send one text cheaply, but not thousands of objects. */
  readonly outline: string;
  /** The changes compared with the earlier policy. */
  readonly changes: readonly PolicyChange[];
}

/** Parses the files, and compares them with the outline of an earlier policy, if there is one. */
export async function parseFiles(files: readonly PolicyFile[], before: string | null): Promise<ParsedFiles> {
  const { outline: data, ...policy } = await parsePolicy(files);
  const outline = JSON.stringify(data);
  const changes = before === null ? [] : diffPolicies(JSON.parse(before), JSON.parse(outline));
  return { policy: { ...policy, outline: {} }, outline, changes };
}

/** Parses plain files directly, and loads the YAML library for other files. */
async function parsePolicy(files: readonly PolicyFile[]): Promise<ParsedPolicy> {
  try {
    return parseWith(withoutLibrary, files);
  } catch (thrown) {
    if (thrown !== needsLibrary) throw thrown;
    const { readYaml } = await import('../yaml/reader.ts');
    return parseWith(readYaml, files);
  }
}

const needsLibrary = new Error('not plain YAML');
const withoutLibrary: YamlReader = () => {
  throw needsLibrary;
};
