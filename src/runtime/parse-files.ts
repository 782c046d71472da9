import { type ParsedPolicy, type PolicyFile, parsePolicy } from '../policy/load.ts';
import { diffPolicies, type PolicyChange } from './diff.ts';

/** The result of parsing a policy's files: the most expensive part of loading. Plain data: a worker sends it. */
export interface ParsedFiles {
  /** Its `outline` is empty. */
  readonly policy: ParsedPolicy;
  /** The bare data of the policy as JSON: sending one text from a worker is cheap, sending thousands of objects is not. */
  readonly outline: string;
  /** The changes from the policy that it was compared with. */
  readonly changes: readonly PolicyChange[];
}

/** Parses the files, and compares them with the outline of an earlier policy, if there is one. */
export function parseFiles(files: readonly PolicyFile[], before: string | null): ParsedFiles {
  const { outline: data, ...policy } = parsePolicy(files);
  const outline = JSON.stringify(data);
  const changes = before === null ? [] : diffPolicies(JSON.parse(before), JSON.parse(outline));
  return { policy: { ...policy, outline: {} }, outline, changes };
}
