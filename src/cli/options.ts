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
  /** How long running requests may finish after SIGTERM, ms. */
  readonly drainMs: number;
  /** Whether `/metrics` answers, to anybody who can reach the port. */
  readonly metrics: boolean;
}

export type Command =
  | { readonly name: 'help'; readonly text: string }
  | { readonly name: 'version' }
  | { readonly name: 'serve'; readonly options: ServeOptions }
  | { readonly name: 'keys'; readonly data: string; readonly args: readonly string[] }
  | { readonly name: 'policy'; readonly folder: string; readonly args: readonly string[] };

/** An hour. */
const DRAIN_MAX_MS = 3_600_000;

export const HELP = `signalbox: a self-hosted LLM gateway and policy engine

  signalbox serve [--port 8787] [--host 127.0.0.1] [--data ./.signalbox] [--policies DIR] [--drain-ms 25000]
                  [--metrics on|off]
      Serves the API. The environment works too: PORT, HOST, SIGNALBOX_DATA, SIGNALBOX_POLICIES,
      SIGNALBOX_METRICS, and SIGNALBOX_API_KEY, a key to install at start with all scopes.
      On SIGTERM it takes no new requests and gives those under way --drain-ms to finish.
      A change of the policy is in force within a second; SIGHUP has it looked at now.
  signalbox policy check [DIR] [--json] [--strict]
      Tells all that is wrong with the policy in DIR. It needs no provider's key. Ends with 0 when it may
      serve, 2 when not (with --strict: warnings too), 1 when there was nothing to judge.
  signalbox keys create [--name NAME] [--scope chat,route,admin] [--label K=V]... [--model ID]... [--expires-in 30d]
      Makes an API key and prints it, this once.
  signalbox keys list [--json]
  signalbox keys revoke ID
      All three take --data, as serve does; a running server follows within a second.
  signalbox version
`;

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the command line; flags win over the environment. Throws UsageError. */
export function parseCommand(argv: readonly string[], env: Environment, shippedPolicies: string): Command {
  // Flags alone are those of `serve`.
  const [name = 'serve', ...rest] = argv[0]?.startsWith('-') ? ['serve', ...argv] : argv;
  const asked = ['--help', '-h'];
  if (name === 'help' || asked.some((flag) => argv.includes(flag))) return { name: 'help', text: HELP };
  if (name === 'version' || argv[0] === '--version') return { name: 'version' };
  if (name === 'serve') return serveCommand(rest, env, shippedPolicies);
  if (name === 'keys') return keysCommand(rest, env);
  if (name === 'policy') return { name, folder: env.SIGNALBOX_POLICIES || shippedPolicies, args: rest };
  throw new UsageError(`There is no command \`${name}\`; there are serve, policy, keys, version and help.`);
}

const dataFolder = (env: Environment): string => env.SIGNALBOX_DATA || join('.', '.signalbox');

/** `--data` may stand anywhere among the arguments of the subcommand. */
function keysCommand(rest: readonly string[], env: Environment): Command {
  const at = rest.findIndex((argument) => argument === '--data' || argument.startsWith('--data='));
  if (at < 0) return { name: 'keys', data: dataFolder(env), args: rest };
  const joined = rest[at]!.startsWith('--data=');
  const data = joined ? rest[at]!.slice('--data='.length) : rest[at + 1];
  if (!data || (!joined && data.startsWith('-'))) throw new UsageError('--data needs a folder.');
  return { name: 'keys', data, args: rest.toSpliced(at, joined ? 1 : 2) };
}

function serveCommand(args: readonly string[], env: Environment, shippedPolicies: string): Command {
  const options = {
    port: { type: 'string' },
    host: { type: 'string' },
    data: { type: 'string' },
    policies: { type: 'string' },
    'drain-ms': { type: 'string', default: '25000' },
    metrics: { type: 'string' },
  } as const;
  const {
    port,
    host,
    data,
    policies,
    'drain-ms': drainMs,
    metrics,
  } = parseFlags(() => parseArgs({ args: [...args], options }).values);
  return {
    name: 'serve',
    options: {
      port: portOf(port ?? (env.PORT || '8787')),
      host: host ?? (env.HOST || '127.0.0.1'),
      data: data ?? dataFolder(env),
      policies: policies ?? (env.SIGNALBOX_POLICIES || shippedPolicies),
      apiKey: env.SIGNALBOX_API_KEY || null,
      drainMs: drainTimeOf(drainMs),
      metrics: switchOf(metrics ?? (env.SIGNALBOX_METRICS || 'on')),
    },
  };
}

/** Runs node's parser and turns its complaint into ours. */
export function parseFlags<T>(parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    const [sentence = ''] = (cause instanceof Error ? cause.message : String(cause)).split(/\.\s/);
    throw new UsageError(`${sentence.replace(/\.$/, '')}. See signalbox help.`);
  }
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new UsageError(`The port must be a number from 0 to 65535, not "${text}".`);
  return port;
}

function switchOf(text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new UsageError(`--metrics is on or off, not "${text}".`);
  return text === 'on';
}

function drainTimeOf(text: string): number {
  const ms = Number(text);
  if (!/^\d+$/.test(text) || ms > DRAIN_MAX_MS)
    throw new UsageError(`The drain time must be a number of milliseconds from 0 to ${DRAIN_MAX_MS}, not "${text}".`);
  return ms;
}
