import { OfflineDatabase } from '../admin/offline.ts';
import { commandName } from '../core/command-name.ts';
import { lazy } from '../core/lazy.ts';
import { shellWord } from '../core/text/shell-word.ts';
import { visibleLines } from '../core/text/visible.ts';
import { UsageError } from '../core/usage-error.ts';
import { scrub } from '../host/telemetry/secrets.ts';
import { keysOnDisk, spoolsOf, stateOnDisk } from '../server/data.ts';
import { defaultPolicies, unusedPolicies } from '../server/shipped-policies.ts';
import { databaseIn, requireStore } from '../store/open.ts';
import { StoreError } from '../store/store.ts';
import type { CommandContext, CommandHost, LedgerFiles } from './command.ts';
import type { CommandLine } from './command-line.ts';
import type { PolicyCommand } from './policy/command.ts';
import { operator } from './user.ts';

/** Formats an error for the standard error: `signalbox: TEXT`, with secrets masked. */
export const complaint = (text: string): string => `signalbox: ${visibleLines(scrub(text))}\n`;

/** A context whose parts are closed at the end of the scope of its `await using` declaration. */
export interface OpenContext extends CommandContext, AsyncDisposable {
  /** Whether the database is not the ledger of the data folder. */
  hasLedgerFault(): boolean;
}

/** Gives a command its parts. Each is opened when the command first needs it. */
export function openContext(line: CommandLine, host: CommandHost): OpenContext {
  const tell = (text: string): void => host.warn(complaint(text));
  let ledgerFault: string | null = null;
  const books = lazy(async (): Promise<LedgerFiles> => {
    const { data, database } = line;
    await requireStore(database);
    const fault = await (await import('../server/ledger-note.ts')).faultIn({ data, database });
    ledgerFault = fault?.reason ?? null;
    // The ledger can be valid, and be an older copy or a copy of another database.
    if (ledgerFault !== null) tell(ledgerFault);
    return { file: database, spools: spoolsOf(data), ledgerFault };
  });
  const policy = lazy(() => policyCommand(line, host, tell));
  const doctor = () => doctorHere(line, host, tell);
  const offline = new OfflineDatabase({
    database: () => line.database,
    ...{ now: host.now, warn: tell, books, policy, doctor },
  });
  return {
    ...host,
    ...{ line, offline, tell, books, policy },
    hasLedgerFault: () => ledgerFault !== null,
    [Symbol.asyncDispose]: () => offline[Symbol.asyncDispose](),
  };
}

/** The tools that check policies with the variables of this shell, and the paths of the secret files that were read. */
async function toolsHere({ shipped, now, env: variable, mindPlugins }: CommandHost, tell: CommandContext['tell']) {
  mindPlugins();
  const [{ judgeTools }, { SecretFiles }] = await Promise.all([
    import('../server/policy-reload.ts'),
    import('../policy/runtime/secret-files.ts'),
  ]);
  const { get: env, paths: secretPaths } = new SecretFiles({
    ...{ env: variable, now },
    onUnusable: (name, problem) => tell(`The file named by ${name}_FILE cannot be used: ${problem}.`),
  });
  const sources = await statedSources(variable('SIGNALBOX_CREDENTIALS') || null, tell);
  return { judge: judgeTools({ shipped: await shipped(), env, now }, sources), secretPaths };
}

/** Reads the token sources that a server in this environment would have. Commands fetch no tokens. */
async function statedSources(path: string | null, tell: CommandContext['tell']) {
  if (path === null) return undefined;
  const [{ readYaml }, { firstError }, { readCredentials, statedKeys }] = await Promise.all([
    import('../policy/yaml/reader.ts'),
    import('../policy/report/diagnostics.ts'),
    import('../policy/runtime/credentials-file.ts'),
  ]);
  const found = readCredentials(path, readYaml);
  const fault = firstError(found.problems);
  if (fault !== undefined) tell(`The credentials file cannot be used: ${fault}.`);
  return statedKeys(found);
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
async function factsFor({ args, folderFlags, data, database }: CommandLine, tell: CommandContext['tell']) {
  try {
    return await storedFacts(database);
  } catch (cause) {
    const { isFolder } = await import('../admin/use-cases/policy/tools.ts');
    const isDefault = !folderFlags.includes('--data') && database === databaseIn(data);
    const namesPolicy = folderFlags.includes('--policies') || args.slice(1).some(isFolder);
    if (!(cause instanceof StoreError) || cause.reason !== 'denied' || !isDefault || !namesPolicy) throw cause;
    tell(`${cause.message.replace(/\.$/, '')}. The policy is judged without this data.`);
    return {};
  }
}

/** Collects what commands on policies need. The policy must fit the ledger in the data folder. */
async function policyCommand(
  line: CommandLine,
  host: CommandHost,
  tell: CommandContext['tell'],
): Promise<PolicyCommand> {
  const { folder, folderFlags, data, database } = line;
  const [{ judge: tools }, stored] = await Promise.all([toolsHere(host, tell), factsFor(line, tell)]);
  const shippedFolder = defaultPolicies.forCommands(data);
  const unusedFolder = folder === shippedFolder ? unusedPolicies(folder, data) : null;
  return { ...host, judge: { ...tools, ...stored }, folder, folderFlags, shippedFolder, unusedFolder, database };
}

/** Opens the checks of a data folder without a server. A wrong variable is one of their findings. */
async function doctorHere(line: CommandLine, host: CommandHost, tell: CommandContext['tell']) {
  const { data, folder, folderFlags } = line;
  const [{ judge, secretPaths }, { openOfflineDoctor }, { tryDoor }] = await Promise.all([
    toolsHere(host, tell),
    import('../admin/use-cases/doctor/offline.ts'),
    import('../server/listen.ts'),
  ]);
  const named = valueOrFault(() => line.database);
  const database = named.value ?? databaseIn(data);
  // One of the checks reports why the database cannot be read.
  const stored = named.fault === null ? await storedFacts(database).catch(() => ({})) : {};
  const dataFlag = folderFlags.includes('--data') ? ` --data ${shellWord(data)}` : '';
  return openOfflineDoctor({
    by: operator(),
    command: (words) => `${commandName()} ${words}${dataFlag}`,
    place: { home: data, data, database },
    ...{ folder, secretPaths, databaseFault: named.fault, now: host.now },
    judge: { ...judge, ...stored },
    async door() {
      const { value: door, fault } = valueOrFault(() => line.door);
      return door === null ? { address: 'PORT', fault: fault ?? '' } : tryDoor(door.host, door.port);
    },
  });
}

/** Returns a value, or why a variable is wrong. */
function valueOrFault<T>(
  read: () => T,
): { readonly value: T; readonly fault: null } | { readonly value: null; readonly fault: string } {
  try {
    return { value: read(), fault: null };
  } catch (cause) {
    if (cause instanceof UsageError) return { value: null, fault: cause.message };
    throw cause;
  }
}
