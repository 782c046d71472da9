import { join } from 'node:path';
import { shipped } from '../../plugins/index.ts';
import type { PolicyCommand } from '../../src/cli/policy/command.ts';
import { runPolicy } from '../../src/cli/policy/policy.ts';
import { rehearse } from '../../src/operate/policy/rehearse.ts';
import { createPluginLoader } from '../../src/plugin-host/load.ts';
import { parseFiles } from '../../src/runtime/parse-files.ts';

export interface Surroundings {
  /** The folder of the policy unless the arguments name one. */
  readonly folder: string;
  readonly data: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What comes in by the standard input. */
  readonly input?: string;
}

/** A command on policies without a process of its own, where it matters neither from where nor how it ends. */
export async function policyHere(args: readonly string[], { folder, data, env, input = '' }: Surroundings) {
  const told: string[] = [];
  const command: PolicyCommand = {
    judge: {
      shipped,
      loader: createPluginLoader(),
      env: { get: (name) => env[name] },
      now: () => 0,
      parse: parseFiles,
      rehearse,
    },
    folder,
    shippedFolder: join(import.meta.dir, '../../policies'),
    database: join(data, 'signalbox.db'),
    terminal: false,
    input: async () => input,
    write: async (text) => void told.push(text),
    ended: () => ({ signal: new AbortController().signal, forget() {} }),
  };
  try {
    const { text, code } = await runPolicy(args, command);
    return { out: told.join('') + text, err: '', code };
  } catch (error) {
    return { out: told.join(''), err: error instanceof Error ? error.message : String(error), code: 1 };
  }
}
