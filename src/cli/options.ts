import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { LOG_FORMS, type LogForm } from '../telemetry/log.ts';

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
  /** How lines of the log look; `off`: warnings and errors alone. */
  readonly log: LogForm;
}

export type Command =
  | { readonly name: 'help'; readonly text: string }
  | { readonly name: 'version' }
  | { readonly name: 'serve'; readonly options: ServeOptions }
  | { readonly name: 'keys' | 'wallets' | 'ledger'; readonly data: string; readonly args: readonly string[] }
  | {
      readonly name: 'policy' | 'learn';
      readonly folder: string;
      readonly data: string;
      readonly args: readonly string[];
    };

/** An hour. */
const DRAIN_MAX_MS = 3_600_000;

const HELP = `signalbox: a self-hosted LLM gateway and policy engine

  signalbox serve [--port 8787] [--host 127.0.0.1] [--data ./.signalbox] [--policies DIR] [--drain-ms 25000]
                  [--metrics on|off] [--log auto|json|pretty|off]
      Serves the API. The environment works too: PORT, HOST, SIGNALBOX_DATA, SIGNALBOX_POLICIES,
      SIGNALBOX_METRICS, SIGNALBOX_LOG, and SIGNALBOX_API_KEY, a key to install at start with all scopes.
      The log is pretty on a terminal and JSON elsewhere; with off, warnings and errors are all of it.
      On SIGTERM it takes no new requests and gives those under way --drain-ms to finish.
      A change of the policy is in force within a second; SIGHUP has it looked at now.
  signalbox policy check [DIR] [--json] [--strict] [--data DIR]
      Tells all that is wrong with the policy in DIR (or --policies DIR). It needs no provider's key. Ends with 0
      when it may serve, 2 when not (with --strict: warnings too), 1 when there was nothing to judge. Where there
      is a ledger in --data, the policy must fit to it.
  signalbox policy explain [DIR] [REQUEST.json | -] [--model auto] [--task T] [--message TEXT] [--input-tokens N]
                           [--output-tokens N] [--cost-weight N] [--quality-weight N] [--label K=V]...
                           [--metadata K=V]... [--key ID] [--key-models ID,ID] [--time 2026-11-20T08:00:00Z] [--json]
      Tells which model a request would get, and why: every model with its estimates and utility, or what is against
      it, with the rule and its place. REQUEST.json is a body of a chat or of /v1/route; flags go before it. Ends with
      0 for a decision, 2 for a refusal, 1 when there was nothing to decide.
  signalbox policy explain --decision ID [DIR] [--json] [--data DIR]
      The same of a decision that was made, decided again from its record, with its attempts and receipt. DIR is where
      the policy's own plugins are. Ends with 0 when it comes to the same, 2 when not or when it cannot be done again.
  signalbox learn status [--json]
      What outcomes have taught: how many there are, of whom, and for each model and task what is declared and learnt.
  signalbox learn replay [--json] [--write]
      Learns anew from all outcomes that are kept, judging each before it is learnt: tells whether mode on would help.
      With --write, and no server running, it is what is remembered from then on.
  signalbox learn export [--from T] [--to T] [--time-zone UTC] [--key ID] [--model ID] [--source caller|checks|retry]
                         [--format jsonl|csv]
      Writes every outcome; T is as of ledger export.
  signalbox learn reset [--model ID] --yes
      Has all forgotten that was learnt, or what was learnt of a model. A running server follows within a second.
      All four take --data and --policies, as serve does.
  signalbox keys create [--name NAME] [--scope chat,route,admin] [--label K=V]... [--model ID]... [--expires-in 30d]
                        [--rpm N] [--tpm N] [--streams N] [--wallet 0x...]...
                        [--budget CREDITS/WINDOW[@ZONE][:downgrade]]...
      Makes an API key and prints it, this once. It may be limited to so many requests and tokens a minute and
      streams at once, and by budgets: 500/month, 20/day@Europe/Berlin, 500/total:downgrade. A window is day, week,
      month or total, in UTC unless a zone is named; with :downgrade cheaper models are taken before it says 402.
      With --wallet its requests may name these wallets alone as agent_wallet.
  signalbox keys list [--json]
  signalbox keys show ID [--json]
      All that is known of a key: state, last use, limits, budgets with what is spent and when they renew, balance.
  signalbox keys grant ID CREDITS [--note TEXT]
      Adds to what a key may spend (-5 takes back). From its first grant on a key is prepaid: 402 once it is used up.
  signalbox keys rotate ID [--overlap 24h]
      Gives a key another secret and prints it, this once; spend, budgets and balance go on. The old secret works as
      long as --overlap says, 30d at most; with 0, and when it is rotated again, it ends at once.
  signalbox keys revoke ID
  signalbox keys log [--key ID] [--limit 100] [--json]
      Who did what to which key, newest first, by command and by /admin/keys.
      All of these take --data, as serve does; a running server follows within a second.
  signalbox wallets list [--json]
  signalbox wallets show ADDRESS [--json]
      What agents have paid in and spent; of one wallet its keys and its last payments, too.
  signalbox wallets credit ADDRESS CREDITS [--note TEXT]
      Adds to the balance of a wallet (-5 takes back). A wallet is shut out by POST /admin/wallets/{address}/block.
      All three take --data, as serve does.
  signalbox ledger audit [--json] [--idle]
      Proves from the journal that no budget was overspent and every sum is right, beside a running server or
      without one. Ends with 2 when something is wrong; with --idle an open reservation is wrong, too.
  signalbox ledger export [--from T] [--to T] [--time-zone UTC] [--key ID] [--label K=V]... [--model ID]
                          [--by day,month,key,label:team,model,provider,selector] [--format csv|json]
      Writes every charge, or sums of them. T is 2026-11, 2026-11-20 or 2026-11-20T08:00Z; --to is exclusive, and
      --from 2026-11 alone is that month.
  signalbox ledger backup FILE
      Copies the database while it is used, and audits the copy.
  signalbox ledger refund DECISION [CREDITS] [--note TEXT]
      Gives back what a request was charged, or a part of it.
      All four take --data, as serve does.
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
  if (name === 'keys' || name === 'wallets' || name === 'ledger') return { name, ...dataOf(rest, env) };
  if (name === 'policy' || name === 'learn') {
    // As `serve` has it; a folder among the arguments wins.
    const { folder, args } = folderOf('--policies', rest);
    return { name, folder: folder ?? (env.SIGNALBOX_POLICIES || shippedPolicies), ...dataOf(args, env) };
  }
  throw new UsageError(
    `There is no command \`${name}\`; there are serve, policy, learn, keys, wallets, ledger, version and help.`,
  );
}

const dataFolder = (env: Environment): string => env.SIGNALBOX_DATA || join('.', '.signalbox');

function dataOf(rest: readonly string[], env: Environment): { data: string; args: readonly string[] } {
  const { folder, args } = folderOf('--data', rest);
  return { data: folder ?? dataFolder(env), args };
}

/** The flag of a folder may stand anywhere among the arguments of the subcommand. */
function folderOf(flag: string, rest: readonly string[]): { folder: string | null; args: readonly string[] } {
  const at = rest.findIndex((argument) => argument === flag || argument.startsWith(`${flag}=`));
  if (at < 0) return { folder: null, args: rest };
  const joined = rest[at]!.startsWith(`${flag}=`);
  const folder = joined ? rest[at]!.slice(flag.length + 1) : rest[at + 1];
  if (!folder || (!joined && folder.startsWith('-'))) throw new UsageError(`${flag} needs a folder.`);
  return { folder, args: rest.toSpliced(at, joined ? 1 : 2) };
}

function serveCommand(args: readonly string[], env: Environment, shippedPolicies: string): Command {
  const options = {
    port: { type: 'string' },
    host: { type: 'string' },
    data: { type: 'string' },
    policies: { type: 'string' },
    'drain-ms': { type: 'string', default: '25000' },
    metrics: { type: 'string' },
    log: { type: 'string' },
  } as const;
  const {
    port,
    host,
    data,
    policies,
    'drain-ms': drainMs,
    metrics,
    log,
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
      log: logFormOf(log ?? (env.SIGNALBOX_LOG || 'auto')),
    },
  };
}

/** Takes a negative amount out of the arguments, where node's parser would see an option. A note that begins like one is written `--note=-5`. */
export function takeNegative(args: readonly string[]): { rest: string[]; amount: string | null } {
  const at = args.findIndex((argument, i) => /^-[\d.]/.test(argument) && args[i - 1] !== '--note');
  return at < 0 ? { rest: [...args], amount: null } : { rest: args.toSpliced(at, 1), amount: args[at]! };
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

function logFormOf(text: string): LogForm {
  const form = LOG_FORMS.find((one) => one === text);
  if (!form) throw new UsageError(`--log is auto, json, pretty or off, not "${text}".`);
  return form;
}

function drainTimeOf(text: string): number {
  const ms = Number(text);
  if (!/^\d+$/.test(text) || ms > DRAIN_MAX_MS)
    throw new UsageError(`The drain time must be a number of milliseconds from 0 to ${DRAIN_MAX_MS}, not "${text}".`);
  return ms;
}
