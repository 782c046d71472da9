import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineStrategy, Type } from '../../src/contract/plugin.ts';
import type { LedgerState } from '../../src/core/money/budget.ts';
import type { NamedTeam } from '../../src/core/people/people.ts';
import { type CaseFailure, caseDiagnostics } from '../../src/policy/cases/failures.ts';
import type { StartSettings } from '../../src/policy/define/installation.ts';
import type { LoadedPlugin, PolicyFile } from '../../src/policy/load.ts';
import type { Diagnostic } from '../../src/policy/report/diagnostics.ts';
import { load } from './support.ts';

/** Each folder in `golden/` contains a policy with mistakes, and its diagnostics in `expected.txt`. */
export const GOLDEN = join(import.meta.dir, 'golden');
export const BASE: PolicyFile = { path: 'base.yaml', text: readFileSync(join(GOLDEN, 'base.yaml'), 'utf8') };

/** The content of `env.json`. */
interface GoldenEnvironment {
  readonly variables?: Record<string, string>;
  /** Variables with token sources, and the hosts that may receive their tokens. */
  readonly sources?: Record<string, string[]>;
  readonly today?: string;
  /** False: `base.yaml` is not loaded in addition. */
  readonly base?: boolean;
  /** Files that cannot be read. */
  readonly problems?: PolicyFile[];
  /** Specifier → an error message, or the names of its strategies. */
  readonly plugins?: Record<string, string | string[]>;
  /** Maps a specifier to the names of its estimators. */
  readonly estimators?: Record<string, string[]>;
  /** Specifier → the file outside the policy's folder. */
  readonly outside?: Record<string, string>;
  readonly ledger?: LedgerState;
  /** Existing teams: a current or former name → the team. */
  readonly teams?: Record<string, NamedTeam>;
  /** IDs of teams. */
  readonly teamsWithKeys?: string[];
  readonly started?: StartSettings;
  /** Failed test cases. */
  readonly failures?: CaseFailure[];
}

const strategy = (name: string) =>
  defineStrategy({
    name,
    status: 'alpha',
    options: Type.Object({ greed: Type.Number({ minimum: 0, maximum: 1, default: 0.5 }) }),
    // It writes no score, so it fails for any models.
    prepare: () => ({ per: 'build', reason: name, margin: 0, strongMargin: 0, score: () => {} }),
  });

export interface GoldenResult {
  readonly files: readonly PolicyFile[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Returns the diagnostics of a folder. @param change alters the texts before they are loaded */
export function loadGolden(folder: string, change: (text: string) => string = (text) => text): GoldenResult {
  const names = readdirSync(join(GOLDEN, folder)).filter((name) => name.endsWith('.yaml'));
  const at = join(GOLDEN, folder, 'env.json');
  const environment: GoldenEnvironment = existsSync(at) ? JSON.parse(readFileSync(at, 'utf8')) : {};
  const files: PolicyFile[] = [
    ...names.map((name) => ({ path: name, text: change(readFileSync(join(GOLDEN, folder, name), 'utf8')) })),
    ...(environment.problems ?? []),
    ...(environment.base === false ? [] : [BASE]),
  ];
  const loaded = Object.entries(environment.plugins ?? {}).map(([specifier, brings]): [string, LoadedPlugin] => [
    specifier,
    typeof brings === 'string' ? new Error(brings) : brings.map(strategy),
  ]);
  const outside = new Map(Object.entries(environment.outside ?? {}));
  const { variables = {}, sources = {} } = environment;
  const sourced = (variable: string) => {
    const hosts = sources[variable];
    return hosts && { variable, hosts, file: 'credentials.yaml', token: () => null, problem: () => '' };
  };
  const more = {
    env: { get: (name: string) => variables[name], sourced },
    plugins: new Map(loaded),
    outside,
    estimators: new Map(Object.entries(environment.estimators ?? {})),
    ...(environment.today && { today: environment.today }),
    ledger: environment.ledger,
    started: environment.started,
    ...(environment.teamsWithKeys && { teamsWithKeys: new Set(environment.teamsWithKeys) }),
    teams: environment.teams ? new Map(Object.entries(environment.teams)) : null,
  };
  const { diagnostics } = load(files, variables, more);
  const { failures = [] } = environment;
  return {
    files,
    diagnostics: [...diagnostics, ...caseDiagnostics(failures)],
  };
}
