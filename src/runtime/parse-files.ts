import { type ParsedPolicy, type PolicyFile, parsePolicy } from '../policy/load.ts';
import { diffPolicies, type PolicyChange } from './diff.ts';

/** A policy's text, read: the part of loading that costs most and needs nothing else. It crosses from a worker. */
export interface ParsedFiles {
  /** Without its outline. */
  readonly policy: ParsedPolicy;
  /** The bare data of the policy as JSON: one text crosses at no cost, where its thousands of objects would not. */
  readonly outline: string;
  /** What makes it of the policy that it was compared with. */
  readonly changes: readonly PolicyChange[];
}

/** Reads the files, and compares them with the outline of a policy before; null for none. */
export function parseFiles(files: readonly PolicyFile[], before: string | null): ParsedFiles {
  const { outline: data, ...policy } = parsePolicy(files);
  const outline = JSON.stringify(data);
  const changes = before === null ? [] : diffPolicies(JSON.parse(before), JSON.parse(outline));
  return { policy: { ...policy, outline: {} }, outline, changes };
}
