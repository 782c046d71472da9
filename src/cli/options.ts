import { join } from 'node:path';
import { parseArgs } from 'node:util';

/** A command that cannot run as given. The message is one sentence for the operator; the process exits with 1. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface ServeOptions {
  readonly port: number;
  readonly host: string;
  /** Folder of the database and of the first key. */
  readonly data: string;
  /** Folder of the policy's YAML files. */
  readonly policies: string;
  /** A whole key to install at start; for containers and CI. */
  readonly apiKey: string | null;
}

export type Command =
  | { readonly name: 'help'; readonly text: string }
  | { readonly name: 'serve'; readonly options: ServeOptions }
  | { readonly name: 'keys'; readonly data: string; readonly args: readonly string[] };

export const HELP = `signalbox: a self-hosted LLM gateway and policy engine

  signalbox serve [--port 8787] [--host 127.0.0.1] [--data ./.signalbox] [--policies DIR]
      Serves the API. The environment works too: PORT, HOST, SIGNALBOX_DATA, SIGNALBOX_POLICIES,
      and SIGNALBOX_API_KEY, a key to install at start with all scopes.
  signalbox keys create [--name NAME] [--scope chat,route,admin] [--label K=V]... [--model ID]... [--expires-in 30d]
      Makes an API key and prints it, this once.
  signalbox keys list [--json]
  signalbox keys revoke ID
`;

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the command line; flags win over the environment. Throws UsageError. */
export function parseCommand(argv: readonly string[], env: Environment, shippedPolicies: string): Command {
  const [name = 'serve', ...rest] = argv;
  if (name === 'help' || name === '--help' || name === '-h') return { name: 'help', text: HELP };
  if (name === 'serve') return serveCommand(rest, env, shippedPolicies);
  if (name === 'keys') {
    const at = rest.indexOf('--data');
    const data = at >= 0 ? rest[at + 1] : undefined;
    if (at >= 0 && data === undefined) throw new UsageError('--data needs a folder.');
    const args = at >= 0 ? rest.toSpliced(at, 2) : rest;
    return { name: 'keys', data: data ?? dataFolder(env), args };
  }
  throw new UsageError(`There is no command \`${name}\`; there are serve, keys and help.`);
}

const dataFolder = (env: Environment): string => env.SIGNALBOX_DATA || join('.', '.signalbox');

function serveCommand(args: readonly string[], env: Environment, shippedPolicies: string): Command {
  const options = {
    port: { type: 'string' },
    host: { type: 'string' },
    data: { type: 'string' },
    policies: { type: 'string' },
  } as const;
  const { port, host, data, policies } = parseFlags(() => parseArgs({ args: [...args], options }).values);
  return {
    name: 'serve',
    options: {
      port: portOf(port ?? (env.PORT || '8787')),
      host: host ?? (env.HOST || '127.0.0.1'),
      data: data ?? dataFolder(env),
      policies: policies ?? (env.SIGNALBOX_POLICIES || shippedPolicies),
      apiKey: env.SIGNALBOX_API_KEY || null,
    },
  };
}

/** Runs node's parser and turns its complaint into ours. */
export function parseFlags<T>(parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    const message = cause instanceof Error ? cause.message.split('. ')[0] : String(cause);
    throw new UsageError(`${message}. See signalbox help.`);
  }
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new UsageError(`The port must be a number from 0 to 65535, not "${text}".`);
  return port;
}
