import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineStrategy, Type } from '../../src/contract/plugin.ts';
import type { LedgerState } from '../../src/core/budget.ts';
import { type CaseFailure, caseDiagnostics } from '../../src/policy/case-diagnostics.ts';
import type { Diagnostic } from '../../src/policy/diagnostics.ts';
import type { LoadedPlugin, PolicyFile } from '../../src/policy/load.ts';
import { load } from './support.ts';

/** Each folder of `golden/` is a policy with something wrong, and `expected.txt` what is said about it. */
export const GOLDEN = join(import.meta.dir, 'golden');
export const BASE: PolicyFile = { path: 'base.yaml', text: readFileSync(join(GOLDEN, 'base.yaml'), 'utf8') };

/** What a case may say beside its policy files. */
interface Surroundings {
  readonly variables?: Record<string, string>;
  readonly today?: string;
  /** False: `base.yaml` is not loaded beside it. */
  readonly base?: boolean;
  /** Files that cannot be read. */
  readonly problems?: PolicyFile[];
  /** Specifier → the message of an error, or the names of the strategies that it brings. */
  readonly plugins?: Record<string, string | string[]>;
  /** Specifier → the file outside the policy's folder. */
  readonly outside?: Record<string, string>;
  /** The state of the ledger. */
  readonly ledger?: LedgerState;
  /** What a rehearsal found. */
  readonly failures?: CaseFailure[];
}

const strategy = (name: string) =>
  defineStrategy({
    name,
    status: 'alpha',
    options: Type.Object({ greed: Type.Number({ minimum: 0, maximum: 1, default: 0.5 }) }),
    prepare: () => ({ reason: name, score: () => {} }),
  });

export interface Judged {
  readonly files: readonly PolicyFile[];
  readonly diagnostics: readonly Diagnostic[];
}

/** What is said about a folder, with its texts as they are or changed. */
export function judgeGolden(folder: string, change: (text: string) => string = (text) => text): Judged {
  const names = readdirSync(join(GOLDEN, folder)).filter((name) => name.endsWith('.yaml'));
  const at = join(GOLDEN, folder, 'env.json');
  const around: Surroundings = existsSync(at) ? JSON.parse(readFileSync(at, 'utf8')) : {};
  const files: PolicyFile[] = [
    ...names.map((name) => ({ path: name, text: change(readFileSync(join(GOLDEN, folder, name), 'utf8')) })),
    ...(around.problems ?? []),
    ...(around.base === false ? [] : [BASE]),
  ];
  const loaded = Object.entries(around.plugins ?? {}).map(([specifier, brings]): [string, LoadedPlugin] => [
    specifier,
    typeof brings === 'string' ? new Error(brings) : brings.map(strategy),
  ]);
  const outside = new Map(Object.entries(around.outside ?? {}));
  const more = {
    plugins: new Map(loaded),
    outside,
    ...(around.today && { today: around.today }),
    ledger: around.ledger,
  };
  const { diagnostics } = load(files, around.variables ?? {}, more);
  return { files, diagnostics: [...diagnostics, ...caseDiagnostics(around.failures ?? [])] };
}
