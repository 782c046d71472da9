import { type DefaultPolicies, processFolder, type ServeOptions } from '../admin/use-cases/serve-options.ts';
import { UsageError } from '../core/usage-error.ts';
import { LOG_FORMS } from '../host/telemetry/log.ts';
import { POLICY_ORIGINS } from '../store/instance-reports.ts';
import { isShared } from '../store/open.ts';
import { choiceOf, parseFlags, SWITCH, TEXT, wholeOf } from './arguments.ts';
import { CommandLine, databaseAt, dataFolder, doorIn, type Environment, numberOf, portOf } from './command-line.ts';
import { type GroupName, isGroup } from './table.ts';
import { checkWord, folderFlags, unknownCommand } from './unknown-command.ts';

export type Command =
  /** `words` names the command to explain, followed by any other arguments. */
  | { readonly name: 'help'; readonly words: readonly string[] }
  | { readonly name: 'serve'; readonly options: ServeOptions }
  | CommandLine<GroupName>;

/** The longest drain time that `serve` accepts, ms (one hour). */
const DRAIN_MAX_MS = 3_600_000;

/** Parses the command line. Flags override environment variables. Throws UsageError. */
export function parseCommand(words: readonly string[], env: Environment, defaultPolicies: DefaultPolicies): Command {
  // A command line of flags alone means `serve`. An empty command line prints the help, so that no one starts a server by accident.
  const [name = 'help', ...rest] = words[0]?.startsWith('-') ? ['serve', ...words] : words;
  const flags = ['--help', '-h'];
  if (name === 'help' || flags.some((flag) => words.includes(flag))) {
    return { name: 'help', words: words.filter((word) => word !== 'help' && !word.startsWith('-')) };
  }
  if (words[0] === '--version') return parseCommand(['version'], env, defaultPolicies);
  if (name === 'serve') return serveCommand(rest, env, defaultPolicies);
  if (!isGroup(name)) throw unknownCommand('', name);
  const named = { data: null as string | null, policies: null as string | null };
  let args: readonly string[] = rest;
  for (const flag of folderFlags(name)) {
    const found = folderOf(`--${flag}`, args);
    named[flag] = found.folder;
    args = found.args;
  }
  checkWord(name, args);
  // A URL in place of the data folder is refused before the command begins.
  if (folderFlags(name).length > 0) dataFolder(named.data, env);
  return new CommandLine({ name, args, words }, named, env, defaultPolicies);
}

/** Reads the flag of a folder, which may be anywhere among the arguments of the command. */
function folderOf(flag: string, rest: readonly string[]): { folder: string | null; args: readonly string[] } {
  const isIt = (argument: string) => argument === flag || argument.startsWith(`${flag}=`);
  const at = rest.findIndex(isIt);
  if (at !== rest.findLastIndex(isIt)) throw new UsageError(`${flag} is given twice. Give one folder.`);
  if (at < 0) return { folder: null, args: rest };
  const joined = rest[at]!.startsWith(`${flag}=`);
  const folder = joined ? rest[at]!.slice(flag.length + 1) : rest[at + 1];
  if (!folder || (!joined && folder.startsWith('-'))) throw new UsageError(`${flag} needs a folder.`);
  return { folder, args: rest.toSpliced(at, joined ? 1 : 2) };
}

/** No machine needs more processes. A database accepts 128 servers. */
const PROCESSES_MAX = 64;

/** How many processes serve, and the number of this process. Throws UsageError if the store is for one server only. */
function processesOf(count: string | undefined, number: string | undefined, database: string) {
  // A process that replaces another process has a number above PROCESSES_MAX, as does the folder of an earlier process.
  if (number) return { processes: null, process: wholeOf('--process', number, 1, 2 * PROCESSES_MAX) };
  if (!count) return { processes: null, process: null };
  const processes = wholeOf('--processes', count, 1, PROCESSES_MAX);
  if (isShared(database)) return { processes, process: null };
  throw new UsageError(
    'Several processes need a database that they can share. Set DATABASE_URL to a PostgreSQL database, because only one server can use a SQLite database.',
  );
}

function serveCommand(args: readonly string[], env: Environment, defaultPolicies: DefaultPolicies): Command {
  const options = {
    port: TEXT,
    host: TEXT,
    data: TEXT,
    policies: TEXT,
    'drain-ms': TEXT,
    metrics: TEXT,
    log: TEXT,
    'allow-policy-writes': SWITCH,
    'policies-from': TEXT,
    credentials: TEXT,
    processes: TEXT,
    'metrics-port': TEXT,
    // The parent process passes this number to each of several processes.
    process: TEXT,
  };
  const flags = parseFlags(args, options);
  const { policies, 'drain-ms': drainMs = '25000', metrics, log } = flags;
  const home = dataFolder(flags.data ?? null, env);
  const database = databaseAt(home, env);
  const processes = processesOf(flags.processes ?? env.SIGNALBOX_PROCESSES, flags.process, database);
  const door = doorIn(env, flags);
  const { port } = door;
  const metricsAt = flags['metrics-port'] ?? env.SIGNALBOX_METRICS_PORT;
  const metricsPort = metricsAt ? portOf(metricsAt) : nextPort(port);
  if (processes.processes && metricsPort === port && port !== 0)
    throw new UsageError('--metrics-port must differ from --port.');
  return {
    name: 'serve',
    options: {
      ...door,
      home,
      data: processes.process === null ? home : processFolder(home, processes.process),
      database,
      ...processes,
      metricsPort,
      policies: policies ?? (env.SIGNALBOX_POLICIES || defaultPolicies.forServe(home)),
      policiesFrom: choiceOf(
        '--policies-from',
        flags['policies-from'] ?? (env.SIGNALBOX_POLICIES_FROM || 'files'),
        POLICY_ORIGINS,
      ),
      credentials: flags.credentials ?? (env.SIGNALBOX_CREDENTIALS || null),
      drainMs: numberOf('The drain time must be a number of milliseconds', drainMs, DRAIN_MAX_MS),
      metrics: choiceOf('--metrics', metrics ?? (env.SIGNALBOX_METRICS || 'on'), ['on', 'off']) === 'on',
      allowsPolicyWrites: flags['allow-policy-writes'] || env.SIGNALBOX_ALLOW_POLICY_WRITES === 'on',
      log: choiceOf('--log', log ?? (env.SIGNALBOX_LOG || 'auto'), LOG_FORMS),
    },
  };
}

/** For port 0 the system picks a free port, and port 65535 has no next port. */
const nextPort = (port: number): number => (port === 0 || port === 65_535 ? 0 : port + 1);
