import type { People } from '../access/people.ts';
import { policyEvent } from '../admin/use-cases/events.ts';
import type { PolicyHome } from '../admin/use-cases/policy/home.ts';
import { rehearse } from '../admin/use-cases/policy/rehearse.ts';
import { buildOf } from '../core/policy/build.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { plural } from '../core/text/text.ts';
import { type Timers, within } from '../core/time/timers.ts';
import { UsageError } from '../core/usage-error.ts';
import type { Records } from '../gateway/records/records.ts';
import { createPluginLoader } from '../host/plugins/load.ts';
import type { Log } from '../host/telemetry/log.ts';
import { mask } from '../host/telemetry/secrets.ts';
import type { EventFeed } from '../http/event-feed.ts';
import type { X402Gateway } from '../http/x402/services.ts';
import type { LedgerTerms } from '../ledger/ledger.ts';
import type { PolicyFile } from '../policy/load.ts';
import { type Diagnostic, errorsIn, formatDiagnostics } from '../policy/report/diagnostics.ts';
import {
  compileCandidate,
  findsModels,
  isRejected,
  type PolicyCandidate,
  type PolicyTools,
  rehearseCandidate,
} from '../policy/runtime/candidate.ts';
import type { ModelServers } from '../policy/runtime/discovery/model-servers.ts';
import { parseFiles } from '../policy/runtime/parse-files.ts';
import { createParser } from '../policy/runtime/parser.ts';
import { pushedBundle } from '../policy/runtime/pushed.ts';
import { Reloader } from '../policy/runtime/reload.ts';
import { PastPolicies } from '../policy/runtime/replay.ts';
import type { SecretFiles } from '../policy/runtime/secret-files.ts';
import { readBundle } from '../policy/runtime/source.ts';
import { StoredRuntimes } from '../policy/runtime/stored-runtimes.ts';
import type { TokenSources } from '../policy/runtime/token-sources.ts';
import { watchPolicies } from '../policy/runtime/watch.ts';
import type { UpstreamNetwork } from '../providers/connection/network.ts';
import type { Health } from '../providers/health/health.ts';
import type { PushedPolicy } from '../store/pushed-policies.ts';
import { logReload } from './events.ts';
import type { Host, Terminal } from './host.ts';
import { notePolicy, type PolicyTrail } from './policy-trail.ts';
import { PriceClock } from './price-clock.ts';
import type { RehearsalNote } from './rehearsal-note.ts';

/** The tools for checks of policies. The tools parse a policy on the calling thread. */
export function judgeTools(
  { shipped, env, now }: Pick<Host, 'shipped' | 'env' | 'now'>,
  sources?: Pick<TokenSources, 'find'>,
): Omit<PolicyTools, 'folder'> {
  const variables = { get: env, sourced: sources?.find };
  return { shipped, loader: createPluginLoader(), env: variables, now, parse: parseFiles, rehearse };
}

/** The tools with which a server checks policies. */
export type ServerPolicyTools = PolicyTools & {
  readonly health: Health;
  readonly network: UpstreamNetwork;
  readonly dataFolder: string;
  readonly secrets: SecretFiles;
  readonly sources: TokenSources;
  readonly rehearsed: RehearsalNote;
  /** The servers of the operator whose models Signalbox finds. */
  readonly servers?: ModelServers;
};

/**
 * Adds the budgets of keys, teams and users to the terms that a policy sets for the ledger. `at` is the earliest moment for which the terms
 * must be right, ms since 1970.
 */
export type TermsOf = (
  snapshot: Pick<PolicySnapshot, 'budgets' | 'ledger' | 'usdPerCredit' | 'organization' | 'rateLimits' | 'gateway'>,
  at?: number,
) => LedgerTerms;

/**
 * Loads the policy to start with: the pushed policy if there is one, else the policy of the folder. The server skips its test cases if it
 * passed them when it was last active. `firstPolicy` prints its diagnostics.
 * @throws UsageError if the policy cannot be used
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
  const judged = await withExitWarning(judge, err);
  const found = isRejected(judged) ? judged.problems : judged.warnings;
  printDiagnostics(found, bundle.files, err);
  if (isRejected(judged)) {
    const where = pushed ? `The pushed policy ${pushed.id}` : `The policy in ${tools.folder}`;
    const why = judged.message ?? `${where} has ${plural(errorsIn(found), 'error')}`;
    throw new UsageError(`${why.replace(/\.$/, '')}; the server did not start.`);
  }
  return judged;
}

/** Adds the models that were found to the policy to start with. If that fails, the policy starts without them. */
export async function withFound(plain: PolicyCandidate, tools: PolicyTools): Promise<PolicyCandidate> {
  if (!tools.found?.() || !findsModels(plain.runtime.snapshot)) return plain;
  const built = await compileCandidate(plain.bundle, tools);
  return isRejected(built) ? plain : { ...built, isRehearsed: plain.isRehearsed };
}

/** Runs a plugin's code for the first time. If a plugin ends the process, the exit code must not look like a normal stop. */
async function withExitWarning<T>(work: () => Promise<T>, err: Terminal): Promise<T> {
  const tell = (code: number) => {
    err.write(
      'signalbox: A plugin of the policy ended the process while the policy was loaded. Remove the call that exits from the plugin.\n',
    );
    if (code === 0) process.exitCode = 1;
  };
  process.on('exit', tell);
  try {
    return await work();
  } finally {
    process.off('exit', tell);
  }
}

/** The parts of a server that change at a reload. */
export interface ReloadServices extends PolicyTrail, Pick<X402Gateway, 'ledger' | 'payments' | 'records' | 'log'> {
  readonly people: People;
  readonly terms: TermsOf;
  readonly err: Terminal;
  readonly timers: Timers;
  readonly feed: EventFeed;
  /** Where the policy is kept. */
  readonly home: PolicyHome;
  /** Called after each attempt to reload the policy. */
  readonly onAttempt: () => void;
}

/**
 * The longest time that an answer waits until limits apply on all servers, ms. Without this bound, an unreachable database would block the
 * answer.
 */
const ENFORCED_MS = 5_000;

/**
 * Resolves once limits apply on all servers, or after `ENFORCED_MS`.
 * @param told the promise that the function from `Ledger.prepare` returns
 */
export const untilEnforced = (timers: Timers, told: unknown): Promise<unknown> =>
  within(timers, ENFORCED_MS, Promise.allSettled([told]), null);

/**
 * Prepares the parts of the server that change at a reload. Returns a function that applies the policy to these parts. The returned
 * function returns a promise that resolves once the limits apply on all servers.
 */
async function prepare(candidate: PolicyCandidate, services: ReloadServices) {
  const { ledger, payments, people, terms, records, timers } = services;
  const { snapshot } = candidate.runtime;
  await saveRevision(records, candidate);
  const takePayments = await payments.prepare(snapshot.payments);
  // The server declares teams before it prepares the ledger, because the budgets of teams are part of the ledger's terms.
  await people.declare(snapshot.teams);
  const useTerms = await ledger.prepare(terms(snapshot));
  return () => {
    people.useOrganization(snapshot.organization);
    takePayments();
    return untilEnforced(timers, useTerms());
  };
}

/**
 * Environment variables that the server reads only at the start, in addition to private keys for gas. After the start, the store has the
 * API key, and the tracer keeps its address.
 */
const FIXED = ['SIGNALBOX_API_KEY', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];

const fixedIn = ({ payments }: PolicySnapshot): ReadonlySet<string> =>
  new Set([
    ...FIXED,
    ...(payments?.networks ?? []).flatMap(({ facilitator: by }) => (by.mode === 'local' ? [by.privateKeyEnv] : [])),
  ]);

/** Reloads the policy when its folder or its secrets change, and can rebuild earlier policies. */
export function keepReloading(first: PolicyCandidate, tools: ServerPolicyTools, services: ReloadServices) {
  const { log, err } = services;
  const { health, secrets, sources, rehearsed, servers } = tools;
  if (first.isRehearsed) rehearsed.keep(first);
  // If the test cases of a policy end the process, the next start must run them before it serves that policy again.
  else rehearsed.forget();
  const parser = createParser();
  const loader: PolicyTools['loader'] = {
    ...tools.loader,
    load: (specifiers, folder) => withExitWarning(() => tools.loader.load(specifiers, folder), err),
  };
  // The policy reload uses a separate parser, so that rebuilding an earlier policy cannot delay an edit.
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
    secrets: {
      reread: () => [...secrets.reread(fixedIn(reloader.lease().snapshot)), ...sources.reread()],
      list: () => [...secrets.list(), ...sources.list()],
    },
    prepare: async (candidate) => {
      const swap = await prepare(candidate, services);
      return () => {
        stored.forget();
        const { snapshot, accountOf } = candidate.runtime;
        if (snapshot.found) health.adopt(snapshot, accountOf);
        priceClock.follow(snapshot);
        return swap();
      };
    },
    onRehearsed: (candidate) => rehearsed.keep(candidate),
    onAttempt: (attempt, bundle, by) => {
      const { snapshot, accountOf } = reloader.lease();
      logReload(log, attempt, snapshot);
      services.feed.tell(() => policyEvent(attempt));
      services.onAttempt();
      servers?.follow(reloader.lease());
      // The push of a policy already entered its revision in the audit trail for all servers.
      if (attempt.result === 'applied' && !bundle?.pushed) {
        notePolicy(services, attempt, reloader.status().previous?.revision ?? null, by);
      }
      // The operator may have fixed the provider's fault before this reload, so endpoints are tried again.
      if (attempt.result !== 'refused') {
        health.reloaded(snapshot, accountOf);
        health.declarations.review(snapshot);
      }
      printDiagnostics(attempt.diagnostics, bundle?.files ?? [], err);
    },
  });
  const priceClock = new PriceClock({
    timers: services.timers,
    now: tools.now,
    renew: reloader.followPrices,
    active: () => reloader.lease().snapshot,
  });
  priceClock.follow(first.runtime.snapshot);
  const watch = watchPolicies({
    folder: tools.folder,
    busyFolder: tools.dataFolder,
    more: () => [...tools.loader.files(), ...secrets.paths(), ...sources.paths()],
    onFirstEvent: parser.warm,
    onEdit: () => void reloader.reload('edit'),
    timers: services.timers,
  });
  const past = new PastPolicies({ ...tools, parse: pastParser.parse, active: reloader.lease });
  /** Finds a revision as the reloader does, and also revisions of other instances. */
  const leaseOf = (revision: string) => reloader.leaseOf(revision) ?? stored.find(revision);
  health.unknownNames.onUnknown = (origin) => servers?.missed(origin);
  const stop = () => {
    servers?.close();
    priceClock.close();
    watch.close();
    quotedParser.close();
    parser.close();
    pastParser.close();
  };
  return { reloader, leaseOf, past, rehearse: () => rehearseFirst(reloader, log), stop };
}

/**
 * Runs the test cases of the first policy unless they already ran. If the test cases of the first policy fail, the server goes on.
 * `rehearseFirst` never rejects.
 */
async function rehearseFirst(reloader: Reloader, log: Log): Promise<void> {
  if (reloader.active.isRehearsed) return;
  const begun = performance.now();
  const { result, revision } = await reloader.reload('start');
  if (result === 'refused') return;
  log.info('the test cases of the policy passed after the start', {
    revision,
    took_ms: Math.round(performance.now() - begun),
  });
}

/** Stores the text of a policy under its revision, with everything that is needed to build it again. */
export function saveRevision(records: Records, { bundle, runtime, surroundings }: PolicyCandidate): Promise<void> {
  const { models } = runtime.snapshot;
  const revision = buildOf(runtime.snapshot);
  const source = JSON.stringify(bundle.files.map(masked));
  return records.saveRevision({ revision, source, models: models.map(({ id }) => id), surroundings });
}

/** Masks secrets, because a comment in a policy file can contain one. */
const masked = (file: PolicyFile): PolicyFile => ({ ...file, ...(file.text && { text: mask(file.text) }) });

function printDiagnostics(found: readonly Diagnostic[], files: readonly PolicyFile[], err: Terminal): void {
  if (found.length === 0) return;
  err.write(`${formatDiagnostics(found, files.map(masked), { colour: err.isTerminal })}\n`);
}
