import type { DataArguments, DoctorArguments, PolicyArguments, parseCommand } from './admin/cli/options.ts';
import type { PolicyCommand } from './admin/cli/policy/command.ts';
import type { CommandOutput, CommandResult } from './admin/cli/result.ts';
import type { Operation } from './admin/kit/operation.ts';
import { commandName } from './core/command-name.ts';
import { shellWord } from './core/text/shell-word.ts';
import { visibleLines } from './core/text/visible.ts';
import { scrub } from './host/telemetry/secrets.ts';
import { type DataPlace, keysOnDisk, spoolsOf, stateOnDisk } from './server/data.ts';
import type { Host } from './server/host.ts';
import {
  copyWhole,
  defaultPolicies,
  editablePolicies,
  forgetPolicies,
  SHIPPED_POLICIES,
  unusedPolicies,
} from './server/shipped-policies.ts';
import { databaseIn, requireStore } from './store/open.ts';
import { StoreError } from './store/store.ts';

/**
 * A command line of any command except `serve`. Each command loads only the modules that it needs: loading the server takes ten times as
 * long as creating a key.
 */
export type CommandLine = Exclude<ReturnType<typeof parseCommand>, { name: 'serve' }>;

/** The parts of the process that commands use. */
export interface CommandHost extends Pick<Host, 'version' | 'env' | 'now'> {
  /** Loads the plugins that come with Signalbox. */
  readonly shipped: () => Promise<Host['shipped']>;
  /** Whether the standard output is a terminal. */
  readonly terminal: boolean;
  /** Writes to the standard output. Resolves once the reader accepted the text, so that a slow reader does not fill the memory. */
  readonly write: (text: string | Uint8Array) => Promise<void>;
  /** Writes to the standard error. */
  readonly warn: (text: string) => void;
  /** Reads the standard input to its end. */
  readonly input: () => Promise<string>;
  /** Returns a signal that Ctrl-C, SIGTERM or a closed terminal aborts, so that a running command can end properly. */
  readonly ended: PolicyCommand['ended'];
  /** Protects the standard output from a policy's plugins. A plugin that ends the process cannot fake a successful exit code. */
  readonly mindPlugins: () => void;
  /** Reports rejected promises that a plugin does not handle. */
  readonly mindDefects: () => void;
}

/** Formats an error for the standard error: `signalbox: TEXT`, with secrets masked. */
export const complaint = (text: string): string => `signalbox: ${visibleLines(scrub(text))}\n`;

/** Returns a function that writes a sentence to the standard error. */
const telling =
  ({ warn }: Pick<CommandHost, 'warn'>) =>
  (text: string): void =>
    warn(complaint(text));

/**
 * Runs a command to its end.
 * @returns its exit code
 * @throws UsageError for wrong arguments, or an Error with a message of one sentence
 */
export async function runCommand(command: CommandLine, host: CommandHost): Promise<0 | 2> {
  const { text, code, next } = resultOf(await outputOf(command, host));
  await host.write(next && 'line' in command ? text + continuation(command.line, next) : text);
  return code;
}

/** Says which command prints the next page: the same command with another position in the list. */
function continuation(line: readonly string[], [flag, value]: NonNullable<CommandResult['next']>): string {
  const at = line.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
  const others = at < 0 ? line : line.toSpliced(at, line[at] === flag ? 2 : 1);
  const words = [...others, flag, value].map(shellWord).join(' ');
  return visibleLines(`\nThe list continues. For the next page: ${commandName()} ${words}\n`);
}

const resultOf = (output: CommandOutput): CommandResult =>
  typeof output === 'string' ? { text: output, code: 0 } : output;

/** Operations by group of commands. A running server can carry them out for the command. */
const OPERATIONS: Partial<Record<CommandLine['name'], () => Promise<readonly Operation[]>>> = {
  keys: async () => (await import('./admin/keys.ts')).KEY_COMMANDS,
  alerts: async () => (await import('./admin/alerts.ts')).ALERT_OPERATIONS,
  decisions: async () => (await import('./admin/decisions.ts')).DECISION_COMMANDS,
  cache: async () => [(await import('./admin/cache.ts')).showCache],
  guards: async () => [(await import('./admin/guards.ts')).listGuards],
  instances: async () => [(await import('./admin/status.ts')).showCluster],
  endpoints: async () => [(await import('./admin/status.ts')).listEndpoints],
  learn: async () => [(await import('./admin/learning.ts')).showLearning],
  logins: async () => (await import('./admin/logins.ts')).LOGIN_OPERATIONS,
  subjects: async () => (await import('./admin/subjects.ts')).SUBJECT_OPERATIONS,
  wallets: async () => (await import('./admin/wallets.ts')).WALLET_OPERATIONS,
  teams: async () => (await import('./admin/teams.ts')).TEAM_OPERATIONS,
  users: async () => (await import('./admin/users.ts')).USER_OPERATIONS,
  policy: async () => [(await import('./admin/policy.ts')).listPushed],
  doctor: async () => [(await import('./admin/doctor.ts')).runChecks],
  traffic: async () => [(await import('./admin/traffic.ts')).showTraffic],
  trail: async () => (await import('./admin/trail.ts')).TRAIL_COMMANDS,
  ledger: async () => {
    const [{ LEDGER_COMMANDS }, { AUDIT_OPERATIONS }] = await Promise.all([
      import('./admin/usage.ts'),
      import('./admin/ledger.ts'),
    ]);
    return [...LEDGER_COMMANDS, ...AUDIT_OPERATIONS];
  },
};

const OFFLINE = '--offline';

/**
 * Runs the command of an operation at the server that uses the data folder.
 * @returns null if no server uses this folder, or if the command is not an operation
 */
async function atRunningServer(
  name: CommandLine['name'],
  { args, data, folderFlags = [] }: DataArguments & Partial<Pick<PolicyArguments, 'folderFlags'>>,
  host: CommandHost,
): Promise<CommandOutput | null> {
  // A running server answers only with its own policy. The flag --policies therefore needs the database.
  if (args.includes(OFFLINE) || folderFlags.includes('--policies')) return null;
  // A server always has requests in progress, whose holds are no findings.
  if (name === 'ledger' && args.includes('--idle')) return null;
  const operation = (await OPERATIONS[name]?.())?.find((one) => [name, `${name} ${args[0]}`].includes(one.name));
  if (!operation) return null;
  const rest = operation.name === name ? args : args.slice(1);
  const { atServer, socketOf } = await import('./admin/cli/at-server.ts');
  const socket = await socketOf(data);
  if (socket === null) return null;
  const [{ runOperation }, { commandActor }] = await Promise.all([
    import('./admin/cli/operations.ts'),
    import('./admin/cli/user.ts'),
  ]);
  const perform = atServer(socket, operation, commandActor(), telling(host));
  if (operation.name !== 'ledger audit') return runOperation(operation, rest, perform);
  return (await import('./admin/cli/ledger/audit.ts')).auditAtServer(rest, perform, telling(host));
}

/** Removes the flag --offline, which is already read. */
const withoutOffline = (command: Extract<CommandLine, DataArguments>): Extract<CommandLine, DataArguments> =>
  command.name in OPERATIONS ? { ...command, args: command.args.filter((word) => word !== OFFLINE) } : command;

/** Runs a command that uses no data folder. */
async function outputWithoutData(
  command: Exclude<CommandLine, DataArguments>,
  { version, shipped, terminal, now }: CommandHost,
): Promise<CommandOutput> {
  switch (command.name) {
    case 'help':
      return (await import('./admin/cli/help.ts')).helpOf(command.words);
    case 'version':
      return `${version}\n`;
    case 'health':
      return (await import('./admin/cli/health.ts')).runHealth(command.args, command.port);
    case 'init':
      return (await import('./tools/init.ts')).runInit(command, {
        plugins: await shipped(),
        policies: SHIPPED_POLICIES,
        copyPolicies: (target) => copyWhole(SHIPPED_POLICIES, target),
        leavePolicies: (folder) => forgetPolicies(command.home, folder),
      });
    case 'plugin':
      return (await import('./tools/plugin/plugin.ts')).runPlugin(command.args, {
        shipped: await shipped(),
        policies: () => editablePolicies(command.used()),
        terminal,
      });
    case 'import': {
      const { runImport } = await import('./tools/import/import.ts');
      return runImport(command.args, { shippedPolicies: SHIPPED_POLICIES, shipped: await shipped(), now });
    }
  }
}

async function outputOf(given: CommandLine, host: CommandHost): Promise<CommandOutput> {
  if (!('data' in given)) return outputWithoutData(given, host);
  const answer = await atRunningServer(given.name, given, host);
  if (answer !== null) return answer;
  const command = withoutOffline(given);
  const { version, now } = host;
  switch (command.name) {
    case 'policy':
      host.mindPlugins();
      return (await import('./admin/cli/policy/policy.ts')).runPolicy(
        command.args.filter((word) => word !== OFFLINE),
        await policyCommand(command, host),
      );
    case 'catalog':
      host.mindPlugins();
      return (await import('./admin/cli/catalog/catalog.ts')).runCatalog(
        command.args,
        await policyCommand(command, host),
      );
    case 'learn':
      await existing(command);
      host.mindDefects();
      return (await import('./admin/cli/learn.ts')).runLearn(command.args, { ...host, ...command });
    case 'decisions':
    case 'guards':
    case 'cache': {
      const { runDecisions } = await import('./admin/cli/decisions/decisions.ts');
      return runDecisions(command.name, command.args, await existing(command), { now, warn: telling(host) });
    }
    case 'instances': {
      const file = await existing(command);
      const [{ isStoreLocked, readStore }, { runInstances }] = await Promise.all([
        import('./store/open.ts'),
        import('./admin/cli/instances.ts'),
      ]);
      using reader = await readStore(file, ['instances']);
      return await runInstances(command.args, reader, await isStoreLocked(file));
    }
    case 'endpoints':
      return (await import('./admin/cli/endpoints.ts')).runEndpoints(command.args, { now });
    case 'alerts':
      host.mindDefects();
      return (await import('./admin/cli/alerts.ts')).runAlerts(command.args, {
        now,
        ...(await policyCommand(command, host)),
      });
    case 'doctor':
      host.mindPlugins();
      return doctor(command, host);
    case 'restart': {
      const [{ runRestart }, { restartAt }] = await Promise.all([
        import('./admin/cli/restart.ts'),
        import('./server/processes/control.ts'),
      ]);
      return runRestart(command.args, { restart: () => restartAt(command.data), write: host.write });
    }
    case 'ledger':
      return ledger(command, host);
    case 'db':
      return (await import('./admin/cli/database.ts')).runDatabase(command.args, {
        ...{ url: command.database, data: command.data, program: version },
      });
    case 'traffic':
      return traffic(command, host);
    case 'trail':
      return trail(command, host);
    case 'keys':
    case 'logins':
    case 'subjects':
    case 'teams':
    case 'users':
    case 'wallets':
      return changing(command.name, command, host);
  }
}

/** The tools that check policies with the variables of this shell, and the paths of the secret files that were read. */
async function toolsHere(host: CommandHost) {
  const [{ judgeTools }, { SecretFiles }] = await Promise.all([
    import('./server/policy-reload.ts'),
    import('./policy/runtime/secret-files.ts'),
  ]);
  const { shipped, now, warn } = host;
  const { get: env, paths: secretPaths } = new SecretFiles({
    ...host,
    onUnusable: (variable, problem) =>
      warn(complaint(`The file named by ${variable}_FILE cannot be used: ${problem}.`)),
  });
  return { judge: judgeTools({ shipped: await shipped(), env, now }), secretPaths };
}

/** The state of the database that a policy must fit. */
async function storedFacts(database: string) {
  const [{ ledger, teams }, keys] = await Promise.all([stateOnDisk(database), keysOnDisk(database)]);
  return { ledger, ...keys, teams: () => teams };
}

/**
 * Returns the state that the policy of a command must fit. A command that names a policy and no data folder also works for a user who may
 * not read the default data folder.
 */
async function factsFor({ args, folderFlags, data, database }: PolicyArguments, host: CommandHost) {
  try {
    return await storedFacts(database);
  } catch (cause) {
    const { isFolder } = await import('./admin/use-cases/policy/tools.ts');
    const isDefault = !folderFlags.includes('--data') && database === databaseIn(data);
    const namesPolicy = folderFlags.includes('--policies') || args.slice(1).some(isFolder);
    if (!(cause instanceof StoreError) || cause.reason !== 'denied' || !isDefault || !namesPolicy) throw cause;
    telling(host)(`${cause.message.replace(/\.$/, '')}. The policy is judged without this data.`);
    return {};
  }
}

/** Collects what commands on policies need. The policy must fit the ledger in the data folder. */
async function policyCommand(command: PolicyArguments, host: CommandHost): Promise<PolicyCommand> {
  const { folder, folderFlags, data, database } = command;
  const [{ judge: tools }, stored] = await Promise.all([toolsHere(host), factsFor(command, host)]);
  const judge = { ...tools, ...stored };
  const shippedFolder = defaultPolicies.forCommands(data);
  const unusedFolder = folder === shippedFolder ? unusedPolicies(folder, data) : null;
  return { ...host, judge, folder, folderFlags, shippedFolder, unusedFolder, database };
}

async function doctor(
  { args, folder, folderFlags, data, database, databaseFault, door }: DoctorArguments,
  host: CommandHost,
): Promise<CommandOutput> {
  const [{ judge, secretPaths }, { runDoctorHere }, { tryDoor }] = await Promise.all([
    toolsHere(host),
    import('./admin/cli/doctor.ts'),
    import('./server/listen.ts'),
  ]);
  // One of the checks reports why the database cannot be read.
  const stored = databaseFault === null ? await storedFacts(database).catch(() => ({})) : {};
  const place = { home: data, data, database };
  const dataFlag = folderFlags.includes('--data') ? ` --data ${shellWord(data)}` : '';
  return runDoctorHere(args, {
    command: (words) => `${commandName()} ${words}${dataFlag}`,
    ...{ place, folder, secretPaths, databaseFault, now: host.now },
    judge: { ...judge, ...stored },
    door: async () => (typeof door === 'string' ? { address: 'PORT', fault: door } : tryDoor(door.host, door.port)),
  });
}

async function ledger({ args, ...place }: DataArguments, host: CommandHost): Promise<CommandOutput> {
  const file = await existing(place);
  const { now, write, warn } = host;
  const { runLedger } = await import('./admin/cli/ledger/ledger.ts');
  const fault = await (await import('./server/ledger-note.ts')).faultIn(place);
  // The ledger can be valid, and be an older copy or a copy of another database.
  if (fault !== null) warn(`signalbox: ${fault.reason}\n`);
  const ledgerFault = fault?.reason ?? null;
  const output = await runLedger(args, { file, spools: spoolsOf(place.data), ledgerFault, now, write, warn });
  return fault === null ? output : { ...resultOf(output), code: 2 };
}

async function traffic({ args, ...place }: DataArguments, { now }: CommandHost): Promise<CommandOutput> {
  const file = await existing(place);
  const [{ openStore }, { openKeys }, { openPeople }, { runTraffic }] = await Promise.all([
    import('./store/open.ts'),
    import('./access/keys.ts'),
    import('./access/people.ts'),
    import('./admin/cli/traffic.ts'),
  ]);
  const store = await openStore(file, { mode: 'beside', rooms: ['access', 'ledger', 'people', 'records', 'traffic'] });
  const [keys, people] = await Promise.all([openKeys({ store, now }), openPeople({ store, now })]);
  try {
    return await runTraffic(args, { store, keys, people, now });
  } finally {
    keys.close();
    people.close();
    await store.close();
  }
}

async function trail({ args, ...place }: DataArguments, { now, write }: CommandHost): Promise<CommandOutput> {
  const file = await existing(place);
  const [{ openStore }, { runTrail }, { notedHeads }] = await Promise.all([
    import('./store/open.ts'),
    import('./admin/cli/trail.ts'),
    import('./server/trail-head.ts'),
  ]);
  const store = await openStore(file, { mode: 'beside', rooms: ['access'] });
  try {
    return await runTrail(args, { store, noted: notedHeads(place.data), now, write });
  } finally {
    await store.close();
  }
}

/** Commands that change what a running server uses. */
const CHANGING = {
  keys: async () => (await import('./admin/cli/keys/keys.ts')).runKeys,
  logins: async () => (await import('./admin/cli/logins.ts')).runLogins,
  subjects: async () => (await import('./admin/cli/subjects.ts')).runSubjects,
  teams: async () => (await import('./admin/cli/people.ts')).runTeams,
  users: async () => (await import('./admin/cli/people.ts')).runUsers,
  wallets: async () => (await import('./admin/cli/wallets.ts')).runWallets,
};

async function changing(
  name: keyof typeof CHANGING,
  { args, ...place }: DataArguments,
  { now, write, warn }: CommandHost,
): Promise<CommandOutput> {
  const file = await existing(place);
  const [{ isStoreLocked, openStore, readStore }, { openKeys }, { openPeople }, { loadBlocklist }, served, run] =
    await Promise.all([
      import('./store/open.ts'),
      import('./access/keys.ts'),
      import('./access/people.ts'),
      import('./payments/blocklist.ts'),
      import('./admin/use-cases/served.ts'),
      CHANGING[name](),
    ]);
  // Opening the ledger checks its version, so that a newer database is refused before the command writes anything.
  (await readStore(file, ['ledger'])).close();
  const store = await openStore(file, {
    mode: 'beside',
    rooms: ['access', 'logins', 'payments', 'people', 'subjects'],
  });
  const [keys, people] = await Promise.all([openKeys({ store, now }), openPeople({ store, now })]);
  const blocklist = await loadBlocklist(store, now);
  try {
    const isServed = () => isStoreLocked(file);
    const { result, behind } = await served.followed(store, isServed, async () => {
      const tell = (text: string) => warn(complaint(text));
      const output = await run(args, { keys, people, store, blocklist, file, now, warn: tell, log: { warn() {} } });
      const { text, ...rest } = resultOf(output);
      // Print before waiting for the servers. A new key is shown only once, and the user can interrupt the wait.
      await write(text);
      return { text: '', ...rest };
    });
    if (behind.length > 0) warn(complaint(`The change is saved. ${served.notServed(behind)}`));
    return result;
  } finally {
    keys.close();
    people.close();
    blocklist.close();
    await store.close();
  }
}

/**
 * @returns the URL of the store
 * @throws UsageError if there is no database
 */
async function existing({ database }: DataPlace): Promise<string> {
  await requireStore(database);
  return database;
}
