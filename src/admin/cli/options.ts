import { join } from 'node:path';
import { UsageError } from '../../core/usage-error.ts';
import { LOG_FORMS } from '../../host/telemetry/log.ts';
import { SecretFiles } from '../../policy/runtime/secret-files.ts';
import { POLICY_ORIGINS } from '../../store/instance-reports.ts';
import { checkedUrl, databaseIn, isShared, refuseUrl } from '../../store/open.ts';
import { type DefaultPolicies, processFolder, type ServeOptions } from '../use-cases/serve-options.ts';
import { choiceOf, parseFlags, SWITCH, TEXT, wholeOf } from './arguments.ts';
import { checkWord, unknownCommand } from './unknown-command.ts';

/** Arguments of a command on a data folder, with the URL of the store. */
export interface DataArguments {
  readonly data: string;
  readonly database: string;
  readonly args: readonly string[];
  /** All words of the command line, also those that `args` leaves out. */
  readonly line: readonly string[];
}

/** Arguments of a command on a data folder and a policy. */
export interface PolicyArguments extends DataArguments {
  readonly folder: string;
  /** The flags in the arguments that name these folders. Environment variables may name the folders, too. */
  readonly folderFlags: readonly string[];
}

/** Commands that use a data folder and no policy. */
const DATA_COMMANDS = [
  'cache',
  'db',
  'decisions',
  'endpoints',
  'guards',
  'instances',
  'keys',
  'ledger',
  'restart',
  'logins',
  'subjects',
  'teams',
  'traffic',
  'trail',
  'users',
  'wallets',
] as const;
type DataCommandName = (typeof DATA_COMMANDS)[number];

/** Commands that use a data folder and a policy. */
const POLICY_COMMANDS = ['policy', 'learn', 'catalog', 'alerts'] as const;
/** Arguments of `doctor`, which reports a wrong variable as one of its findings and makes the other checks. */
export interface DoctorArguments extends PolicyArguments {
  /** Why `DATABASE_URL` cannot be used; `database` is then the database in the data folder. */
  readonly databaseFault: string | null;
  /** Where `serve` would listen in this environment; a text says why it could not. */
  readonly door: { readonly host: string; readonly port: number } | string;
}

type PolicyCommandName = (typeof POLICY_COMMANDS)[number];

export type Command =
  /** `words` names the command to explain, followed by any other arguments. */
  | { readonly name: 'help'; readonly words: readonly string[] }
  | { readonly name: 'version' }
  | { readonly name: 'serve'; readonly options: ServeOptions }
  | { readonly name: 'import'; readonly args: readonly string[] }
  /**
   * `used` is the policy folder that `serve` (`init`) or commands (`plugin`) would use in this environment, before and after a change, and
   * `home` the default data folder.
   */
  | {
      readonly name: 'init' | 'plugin';
      readonly used: () => string;
      readonly home: string;
      readonly args: readonly string[];
    }
  /** `port` is the port on which `serve` would listen in this environment. */
  | { readonly name: 'health'; readonly port: number; readonly args: readonly string[] }
  | ({ readonly name: DataCommandName } & DataArguments)
  | ({ readonly name: PolicyCommandName } & PolicyArguments)
  | ({ readonly name: 'doctor' } & DoctorArguments);

/** The default port of `serve`. */
const PORT = '8787';
/** The default host of `serve`, with which only this machine can connect. */
const HOST = '127.0.0.1';
/** The longest drain time that `serve` accepts, ms (one hour). */
const DRAIN_MAX_MS = 3_600_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** Parses the command line. Flags override environment variables. Throws UsageError. */
export function parseCommand(argv: readonly string[], env: Environment, defaultPolicies: DefaultPolicies): Command {
  // A command line of flags alone means `serve`. An empty command line prints the help, so that no one starts a server by accident.
  const [name = 'help', ...rest] = argv[0]?.startsWith('-') ? ['serve', ...argv] : argv;
  const flags = ['--help', '-h'];
  if (name === 'help' || flags.some((flag) => argv.includes(flag))) {
    return { name: 'help', words: argv.filter((word) => word !== 'help' && !word.startsWith('-')) };
  }
  if (name === 'version' || argv[0] === '--version') return { name: 'version' };
  if (name === 'serve') return serveCommand(rest, env, defaultPolicies);
  if (name === 'health') return { name, port: portOf(env.PORT || PORT), args: rest };
  if (name === 'init' || name === 'plugin') {
    const folderFor = name === 'init' ? defaultPolicies.forServe : defaultPolicies.forCommands;
    const home = dataFolder(null, env);
    return { name, home, used: () => env.SIGNALBOX_POLICIES || folderFor(home), args: rest };
  }
  if (name === 'import') return { name, args: rest };
  const onData = DATA_COMMANDS.find((one) => one === name);
  if (onData) {
    const place = dataOf(rest, env);
    checkWord(onData, place.args);
    return { name: onData, line: argv, ...place };
  }
  const onPolicy = POLICY_COMMANDS.find((one) => one === name);
  if (onPolicy) {
    const place = policyPlaceOf(rest, env, defaultPolicies);
    checkWord(onPolicy, place.args);
    return { name: onPolicy, line: argv, ...place };
  }
  if (name === 'doctor') return { name, line: argv, ...doctorArguments(rest, env, defaultPolicies) };
  throw unknownCommand('', name);
}

function policyPlaceOf(rest: readonly string[], env: Environment, defaultPolicies: DefaultPolicies) {
  // The default is the policy folder of the server. A folder among the arguments overrides it.
  const { folder, args } = folderOf('--policies', rest);
  const own = dataOf(args, env);
  const folderFlags = [
    ...(folder === null ? [] : ['--policies']),
    ...(own.args.length === args.length ? [] : ['--data']),
  ];
  return { folder: folder ?? (env.SIGNALBOX_POLICIES || defaultPolicies.forCommands(own.data)), folderFlags, ...own };
}

/** Throws UsageError for wrong flags. A wrong variable of the database or the port is part of the result. */
function doctorArguments(
  rest: readonly string[],
  env: Environment,
  defaultPolicies: DefaultPolicies,
): Omit<DoctorArguments, 'line'> {
  const database = valueOrFault(() => namedDatabase(env));
  const usable = database.fault === undefined ? env : { ...env, DATABASE_URL: undefined, DATABASE_URL_FILE: undefined };
  const port = valueOrFault(() => portOf(env.PORT || PORT));
  return {
    ...policyPlaceOf(rest, usable, defaultPolicies),
    databaseFault: database.fault ?? null,
    door: port.fault ?? { host: env.HOST || HOST, port: port.value },
  };
}

function valueOrFault<T>(
  read: () => T,
): { readonly value: T; readonly fault?: undefined } | { readonly fault: string } {
  try {
    return { value: read() };
  } catch (cause) {
    if (cause instanceof UsageError) return { fault: cause.message };
    throw cause;
  }
}

/**
 * The data folder: the flag, or else the environment variable. Throws UsageError for a URL, and shows only the scheme of the URL, since the
 * rest may be secret.
 */
function dataFolder(flag: string | null | undefined, env: Environment): string {
  const folder = flag ?? (env.SIGNALBOX_DATA || join('.', '.signalbox'));
  refuseUrl(folder);
  return folder;
}

function dataOf(rest: readonly string[], env: Environment): Omit<DataArguments, 'line'> {
  const { folder, args } = folderOf('--data', rest);
  return { ...placeOf(folder, env), args };
}

/** The data folder and the URL of the store. The store is `DATABASE_URL`, or else the database file in the data folder. */
function placeOf(flag: string | null | undefined, env: Environment) {
  const data = dataFolder(flag, env);
  return { data, database: namedDatabase(env) ?? databaseIn(data) };
}

/** Returns the URL in `DATABASE_URL` or in its file; null without one. Throws UsageError. */
function namedDatabase(env: Environment): string | null {
  const secrets = new SecretFiles({ env: (name) => env[name], now: Date.now, onUnusable: () => {} });
  return checkedUrl(secrets.fixed('DATABASE_URL') ?? '');
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
    processes: TEXT,
    'metrics-port': TEXT,
    // The parent process passes this number to each of several processes.
    process: TEXT,
  };
  const flags = parseFlags(args, options);
  const { port, host, policies, 'drain-ms': drainMs = '25000', metrics, log } = flags;
  const { data: home, database } = placeOf(flags.data, env);
  const processes = processesOf(flags.processes ?? env.SIGNALBOX_PROCESSES, flags.process, database);
  const at = portOf(port ?? (env.PORT || PORT));
  const metricsAt = flags['metrics-port'] ?? env.SIGNALBOX_METRICS_PORT;
  const metricsPort = metricsAt ? portOf(metricsAt) : nextPort(at);
  if (processes.processes && metricsPort === at && at !== 0)
    throw new UsageError('--metrics-port must differ from --port.');
  return {
    name: 'serve',
    options: {
      port: at,
      host: host ?? (env.HOST || HOST),
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
      drainMs: numberOf('The drain time must be a number of milliseconds', drainMs, DRAIN_MAX_MS),
      metrics: choiceOf('--metrics', metrics ?? (env.SIGNALBOX_METRICS || 'on'), ['on', 'off']) === 'on',
      allowsPolicyWrites: flags['allow-policy-writes'] || env.SIGNALBOX_ALLOW_POLICY_WRITES === 'on',
      log: choiceOf('--log', log ?? (env.SIGNALBOX_LOG || 'auto'), LOG_FORMS),
    },
  };
}

/** For port 0 the system picks a free port, and port 65535 has no next port. */
const nextPort = (port: number): number => (port === 0 || port === 65_535 ? 0 : port + 1);

const portOf = (text: string): number => numberOf('The port must be a number', text, 65_535);

function numberOf(claim: string, text: string, max: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= max) return number;
  throw new UsageError(`${claim} from 0 to ${max}, not "${text}".`);
}
