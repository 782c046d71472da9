import type { People } from '../access/people.ts';
import { policyEvent } from '../admin/use-cases/events.ts';
import type { PolicyHome } from '../admin/use-cases/policy/home.ts';
import { rehearse } from '../admin/use-cases/policy/rehearse.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { plural } from '../core/text.ts';
import { type Timers, within } from '../core/timers.ts';
import { UsageError } from '../core/usage-error.ts';
import type { Records } from '../gateway/records/records.ts';
import { createPluginLoader } from '../host/plugins/load.ts';
import type { Log } from '../host/telemetry/log.ts';
import { mask } from '../host/telemetry/secrets.ts';
import type { EventFeed } from '../http/event-feed.ts';
import type { X402Gateway } from '../http/x402/services.ts';
import type { LedgerTerms } from '../ledger/ledger.ts';
import { type Diagnostic, errorsIn, formatDiagnostics } from '../policy/diagnostics.ts';
import type { PolicyFile } from '../policy/load.ts';
import {
  compileCandidate,
  isRejected,
  type PolicyCandidate,
  type PolicyTools,
  rehearseCandidate,
} from '../policy/runtime/candidate.ts';
import { parseFiles } from '../policy/runtime/parse-files.ts';
import { createParser } from '../policy/runtime/parser.ts';
import { pushedBundle } from '../policy/runtime/pushed.ts';
import { Reloader } from '../policy/runtime/reload.ts';
import { PastPolicies } from '../policy/runtime/replay.ts';
import type { SecretFiles } from '../policy/runtime/secret-files.ts';
import { readBundle } from '../policy/runtime/source.ts';
import { StoredRuntimes } from '../policy/runtime/stored-runtimes.ts';
import { watchPolicies } from '../policy/runtime/watch.ts';
import type { UpstreamNetwork } from '../providers/connection/network.ts';
import type { Health } from '../providers/health/health.ts';
import type { PushedPolicy } from '../store/pushed-policies.ts';
import { logReload } from './events.ts';
import type { Host, Terminal } from './host.ts';
import { notePolicy, type PolicyTrail } from './policy-trail.ts';
import type { RehearsalNote } from './rehearsal-note.ts';

/** The tools that judge policies, which are parsed on this thread. */
export function judgeTools({ shipped, env, now }: Pick<Host, 'shipped' | 'env' | 'now'>): Omit<PolicyTools, 'folder'> {
  return { shipped, loader: createPluginLoader(), env: { get: env }, now, parse: parseFiles, rehearse };
}

/** The tools of a server that judges policies. */
export type ServerPolicyTools = PolicyTools & {
  readonly health: Health;
  readonly network: UpstreamNetwork;
  readonly dataFolder: string;
  readonly secrets: SecretFiles;
  readonly rehearsed: RehearsalNote;
};

/** Adds the budgets of keys to a policy's terms of the ledger. */
export type TermsOf = (
  snapshot: Pick<PolicySnapshot, 'budgets' | 'ledger' | 'usdPerCredit' | 'organization' | 'rateLimits' | 'gateway'>,
) => LedgerTerms;

/**
 * The policy to start with: a pushed one, else that of the folder. Its cases do not run if it passed them when it served last.
 * Prints diagnostics; throws UsageError when it cannot serve.
 */
export async function firstPolicy(
  tools: PolicyTools & Partial<Pick<ServerPolicyTools, 'rehearsed'>>,
  err: Terminal,
  pushed: PushedPolicy | null = null,
): Promise<PolicyCandidate> {
  const bundle = pushed ? pushedBundle(pushed) : await readBundle(tools.folder);
  const judge = async () => {
    const found = await compileCandidate(bundle, tools);
    return isRejected(found) || tools.rehearsed?.isOf(found) ? found : rehearseCandidate(found, tools);
  };
  const judged = await minded(judge, err);
  const found = isRejected(judged) ? judged.problems : judged.warnings;
  printDiagnostics(found, bundle.files, err);
  if (isRejected(judged)) {
    const where = pushed ? `The pushed policy ${pushed.id}` : `The policy in ${tools.folder}`;
    const why = judged.message ?? `${where} has ${plural(errorsIn(found), 'error')}`;
    throw new UsageError(`${why.replace(/\.$/, '')}; the server did not start.`);
  }
  return judged;
}

/** Runs a plugin's code for the first time. If that ends the process, the exit code must not look like a normal stop. */
async function minded<T>(work: () => Promise<T>, err: Terminal): Promise<T> {
  const tell = (code: number) => {
    err.write('signalbox: A plugin of the policy ended the process while the policy was loaded.\n');
    if (code === 0) process.exitCode = 1;
  };
  process.on('exit', tell);
  try {
    return await work();
  } finally {
    process.off('exit', tell);
  }
}

/** The parts of a server that follow a reload. */
export interface ReloadServices extends PolicyTrail, Pick<X402Gateway, 'ledger' | 'payments' | 'records' | 'log'> {
  readonly people: People;
  readonly terms: TermsOf;
  readonly err: Terminal;
  readonly timers: Timers;
  readonly feed: EventFeed;
  /** Where the policy is kept. */
  readonly home: PolicyHome;
  /** Called after each attempt. */
  readonly onAttempt: () => void;
}

/** An answer waits so long for limits to hold at all servers, ms: the database may be away. */
const ENFORCED_MS = 5_000;

/** Resolves once limits hold at all servers, or behind `ENFORCED_MS`. @param told what `Ledger.prepare` gives for them */
export const untilEnforced = (timers: Timers, told: unknown): Promise<unknown> =>
  within(timers, ENFORCED_MS, Promise.allSettled([told]), null);

/** Prepares the parts that follow a reload. Returns a function that puts the policy in force there, and a promise of it everywhere. */
async function prepare(candidate: PolicyCandidate, services: ReloadServices) {
  const { ledger, payments, people, terms, records, timers } = services;
  const { snapshot } = candidate.runtime;
  await saveRevision(records, candidate);
  const takePayments = await payments.prepare(snapshot.payments);
  // Their budgets are terms of the ledger.
  await people.declare(snapshot.teams);
  const useTerms = await ledger.prepare(terms(snapshot));
  return () => {
    people.useOrganization(snapshot.organization);
    takePayments();
    return untilEnforced(timers, useTerms());
  };
}

/** Variables that are used at the start alone, beside gas keys: the key is in the store by then, and a tracer keeps its address. */
const FIXED = ['SIGNALBOX_API_KEY', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];

const fixedIn = ({ payments }: PolicySnapshot): ReadonlySet<string> =>
  new Set([
    ...FIXED,
    ...(payments?.networks ?? []).flatMap(({ facilitator: by }) => (by.mode === 'local' ? [by.privateKeyEnv] : [])),
  ]);

/** Keeps the policy in step with its folder and its secrets, and can rebuild former policies. */
export function keepReloading(first: PolicyCandidate, tools: ServerPolicyTools, services: ReloadServices) {
  const { log, err } = services;
  const { health, secrets, rehearsed } = tools;
  if (first.isRehearsed) rehearsed.keep(first);
  // A policy whose cases end the process must not serve again before they have run.
  else rehearsed.forget();
  const parser = createParser();
  const loader: PolicyTools['loader'] = {
    ...tools.loader,
    load: (specifiers, folder) => minded(() => tools.loader.load(specifiers, folder), err),
  };
  // Another parser: a policy of the past must not keep an edit waiting.
  const pastParser = createParser();
  const quotedParser = createParser();
  const stored = new StoredRuntimes({
    tools: { ...tools, loader, parse: quotedParser.parse },
    find: services.records.findRevision,
  });
  const reloader = new Reloader(first, {
    tools: {
      ...tools,
      loader,
      parse: parser.parse,
      ledger: () => services.ledger.state(),
      teams: () => services.people.teamNames(),
      started: first.runtime.snapshot.gateway,
    },
    read: services.home.read,
    secrets: { reread: () => secrets.reread(fixedIn(reloader.lease().snapshot)), list: secrets.list },
    prepare: async (candidate) => {
      const swap = await prepare(candidate, services);
      return () => {
        stored.forget();
        return swap();
      };
    },
    onRehearsed: (candidate) => rehearsed.keep(candidate),
    onAttempt: (attempt, bundle, by) => {
      const { snapshot, originOf } = reloader.lease();
      logReload(log, attempt, snapshot);
      services.feed.tell(() => policyEvent(attempt));
      services.onAttempt();
      // A push has noted its revision for all servers.
      if (attempt.result === 'applied' && !bundle?.pushed) {
        notePolicy(services, attempt, reloader.status().previous?.revision ?? null, by);
      }
      // The operator may have fixed the fault at the provider.
      if (attempt.result !== 'refused') {
        health.reloaded(snapshot, originOf);
        health.declarations.review(snapshot);
      }
      printDiagnostics(attempt.diagnostics, bundle?.files ?? [], err);
    },
  });
  const watch = watchPolicies({
    folder: tools.folder,
    busyFolder: tools.dataFolder,
    more: () => [...tools.loader.files(), ...secrets.paths()],
    onFirstEvent: parser.warm,
    onEdit: () => void reloader.reload('edit'),
    timers: services.timers,
  });
  const past = new PastPolicies({ ...tools, parse: pastParser.parse, inForce: reloader.lease });
  /** As the reloader's, but for the revisions of other instances, too. */
  const leaseOf = (revision: string) => reloader.leaseOf(revision) ?? stored.find(revision);
  const stop = () => {
    watch.close();
    quotedParser.close();
    parser.close();
    pastParser.close();
  };
  return { reloader, leaseOf, past, rehearse: () => rehearseFirst(reloader, log), stop };
}

/** Runs the cases of the first policy if nothing has yet. The server goes on if they fail. Never rejects. */
async function rehearseFirst(reloader: Reloader, log: Log): Promise<void> {
  if (reloader.inForce.isRehearsed) return;
  const begun = performance.now();
  const { result, revision } = await reloader.reload('start');
  if (result === 'refused') return;
  log.info('the cases of the policy passed after the start', {
    revision,
    took_ms: Math.round(performance.now() - begun),
  });
}

/** Keeps the text of a policy under its revision, with all that is needed to build it again. */
export function saveRevision(records: Records, { bundle, runtime, surroundings }: PolicyCandidate): Promise<void> {
  const { revision, models } = runtime.snapshot;
  const source = JSON.stringify(bundle.files.map(masked));
  return records.saveRevision({ revision, source, models: models.map(({ id }) => id), surroundings });
}

/** Masks secrets: a comment can hold one. */
const masked = (file: PolicyFile): PolicyFile => ({ ...file, ...(file.text && { text: mask(file.text) }) });

function printDiagnostics(found: readonly Diagnostic[], files: readonly PolicyFile[], err: Terminal): void {
  if (found.length === 0) return;
  err.write(`${formatDiagnostics(found, files.map(masked), { colour: err.isTerminal })}\n`);
}
