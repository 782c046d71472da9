import { buildOf } from '../../core/policy/build.ts';
import { plural } from '../../core/text/text.ts';
import { messageOf } from '../../core/thrown.ts';
import { type Actor, SERVER } from '../../store/trail.ts';
import { type Diagnostic, errorsIn } from '../report/diagnostics.ts';
import {
  buildCandidate,
  compileCandidate,
  isRejected,
  type PolicyCandidate,
  type PolicyTools,
  type RejectedPolicy,
  rehearseCandidate,
} from './candidate.ts';
import type { PolicyChange } from './diff.ts';
import { QuotedRuntimes } from './quoted-runtimes.ts';
import type { Runtime } from './runtime.ts';
import type { SecretFiles } from './secret-files.ts';
import { SupersededError } from './slices.ts';
import { type PolicyBundle, PolicySourceError, readBundle } from './source.ts';
import { mostExplicit, type PolicyStatus, type ReloadAttempt, type ReloadCause, StaleRevision } from './status.ts';

interface ReloaderOptions {
  readonly tools: PolicyTools;
  /** Reads the policy. Without `read`, the reloader reads the files of the folder. `read` rejects with PolicySourceError or StoreError. */
  readonly read?: () => Promise<PolicyBundle>;
  /** The secrets in files. Without `secrets`, no secrets are in files. `reread` returns the variables whose values have changed. */
  readonly secrets?: Pick<SecretFiles, 'list'> & { reread(): readonly string[] };
  /**
   * Prepares a revision before it serves, for example saves its text. Resolves with a function that the reloader calls at the swap. The
   * answer to a reload waits for the promise of that function, which never rejects. If the preparation of a revision fails, the revision is
   * refused.
   */
  prepare(candidate: PolicyCandidate): Promise<() => unknown>;
  /** Called after each attempt. @param bundle null if the files could not be read @param by who requested the attempt */
  onAttempt(attempt: ReloadAttempt, bundle: PolicyBundle | null, by: Actor): void;
  /** Called when an active policy has passed its own test cases, except for the first policy if it passed them earlier. */
  onRehearsed?(candidate: PolicyCandidate): void;
}

/** How long an incomplete or wrong edit may take to be completed before it is refused, ms. */
const FINISH_MS = 250;
/** The shortest time between two builds with other prices after one that failed, ms. */
const RETRY_PRICES_MS = 10_000;
/** How long newer edits may restart an attempt, ms. */
const PATIENCE_MS = 1_000;

interface ReloadRequest {
  readonly cause: ReloadCause;
  /** The revision that must be active; null for any. */
  readonly expected: string | null;
  readonly by: Actor;
  resolve(attempt: ReloadAttempt): void;
  reject(error: StaleRevision): void;
}

/**
 * Holds the active policy and replaces it: steps 2 to 8 of an edit. The reloader runs one attempt at a time, and a newer request restarts
 * the attempt. A failure of an attempt before the swap changes nothing. State: policy.
 */
export class Reloader {
  readonly #options: ReloaderOptions;
  #active: PolicyCandidate;
  #since: number;
  #last: ReloadAttempt;
  #lastSuccess: number;
  #previous: PolicyStatus['previous'] = null;
  /** Hash of the files that were refused last; null after a successful attempt. */
  #refused: string | null = null;
  /** Whether the active policy failed its own test cases, which ran after it began to serve. */
  #failsCases = false;
  #outdated: readonly string[] = [];
  /** Variables whose new values are not used yet. */
  readonly #renewed = new Set<string>();
  /** Hash of the found models with which a build was last tried. */
  #triedFound: string | null = null;
  /** The build with other prices that runs, and when such a build last failed, ms since 1970. */
  #pricing: Promise<void> | null = null;
  #pricesTriedAt = Number.NEGATIVE_INFINITY;
  #waiting: ReloadRequest[] = [];
  #running = false;
  /** Ends the pause of the current attempt. */
  #wake: () => void = () => {};
  readonly #counts = { applied: 0, unchanged: 0, refused: 0 };
  readonly #quoting: QuotedRuntimes;

  constructor(first: PolicyCandidate, options: ReloaderOptions) {
    this.#active = first;
    this.#options = options;
    this.#quoting = new QuotedRuntimes(options.tools.now);
    this.#since = this.#lastSuccess = options.tools.now();
    const { revision } = first.runtime.snapshot;
    const how = { time: this.#since, tookMs: 0, cause: 'start', result: 'applied', revision } as const;
    this.#last = { ...how, message: 'The policy is active.', diagnostics: first.warnings, changes: [] };
    this.#counts.applied++;
  }

  /** The active policy with its files. */
  get active(): PolicyCandidate {
    return this.#active;
  }

  /** The state of this server with which a policy must be compatible, in addition to its own text. */
  get surroundings(): Pick<PolicyTools, 'ledger' | 'teams' | 'started'> {
    const { ledger, teams, started } = this.#options.tools;
    return { ledger, teams, started };
  }

  /** Returns the active runtime. */
  readonly lease = (): Runtime => this.#active.runtime;

  /** Returns the runtime of a revision that is active or whose quotes can still be paid; otherwise null. */
  readonly leaseOf = (revision: string): Runtime | null => {
    const { runtime } = this.#active;
    return buildOf(runtime.snapshot) === revision ? runtime : this.#quoting.find(revision);
  };

  status(): PolicyStatus {
    const { runtime, bundle, warnings } = this.#active;
    return {
      revision: runtime.snapshot.revision,
      since: this.#since,
      files: bundle.files.map(({ path }) => path),
      warnings,
      failsCases: this.#failsCases,
      outdatedPlugins: this.#outdated,
      last: this.#last,
      previous: this.#previous,
      counts: { ...this.#counts },
      lastSuccess: this.#lastSuccess,
      secrets: this.#options.secrets?.list() ?? [],
    };
  }

  /**
   * Reads the files and resolves with the attempt, which may be a refusal. The attempt begins after the call of `reload`, so it sees
   * everything that was written before the call.
   * @throws StaleRevision, and nothing else
   */
  reload(cause: ReloadCause, expected: string | null = null, by: Actor = SERVER): Promise<ReloadAttempt> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ cause, expected, by, resolve, reject });
      this.#wake();
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    let batch: ReloadRequest[] = [];
    let begun = performance.now();
    while (batch.length > 0 || this.#waiting.length > 0) {
      batch = this.#rejectStale([...batch, ...this.#waiting.splice(0)]);
      if (batch.length === 0) continue;
      const cause = mostExplicit(batch);
      const by = batch.find((request) => request.cause === cause)?.by ?? SERVER;
      const state: AttemptState = { cause, by, begun, bundle: null };
      try {
        const attempt = await this.#attempt(state);
        for (const { resolve } of batch) resolve(attempt);
      } catch (cause) {
        if (cause instanceof SupersededError) continue;
        const attempt = this.#refuse(state, null, cause instanceof Error ? cause : new Error(String(cause)));
        for (const { resolve } of batch) resolve(attempt);
      }
      batch = [];
      begun = performance.now();
    }
    this.#running = false;
  }

  #rejectStale(batch: readonly ReloadRequest[]): ReloadRequest[] {
    const { revision } = this.#active.runtime.snapshot;
    return batch.filter(({ expected, reject }) => {
      if (expected === null || expected === revision) return true;
      reject(new StaleRevision(revision));
      return false;
    });
  }

  async #attempt(state: AttemptState): Promise<ReloadAttempt> {
    const renewal = await this.#renew(state);
    const isEarly = () => performance.now() - state.begun < PATIENCE_MS;
    const isStale = () => this.#waiting.length > 0 && isEarly();
    let paused = '';
    for (;;) {
      const bundle = await this.#read();
      const hash = bundle instanceof Error ? bundle.message : bundle.hash;
      state.bundle = bundle instanceof Error ? null : bundle;
      if (isStale()) throw new SupersededError();
      if (hash === this.#active.bundle.hash)
        return renewal ?? (await this.#rehearse(state, isStale)) ?? this.#keep(state);
      // A signal or request expects an answer immediately. Only an edit of the files may be incomplete.
      const isPatient = state.cause === 'edit' && hash !== paused && hash !== this.#refused && isEarly();
      const result =
        bundle instanceof Error || (isPatient && this.#looksHalfDone(bundle))
          ? null
          : await buildCandidate(bundle, this.#options.tools, { active: this.#active, isStale });
      if (result && !isRejected(result)) {
        const attempt = await this.#apply(state, result);
        // Teams that the policy declares get their IDs while the policy is applied.
        if (this.#hasOtherTeams()) await this.#renew(state);
        return attempt;
      }
      if (isPatient) {
        paused = hash;
        await this.#pause(isStale);
      } else if (bundle instanceof Error) return this.#refuse(state, hash, bundle);
      else if (result) return this.#refuse(state, hash, result);
    }
  }

  /** Builds the active policy again if a team name in its budgets now refers to another team. */
  async followTeams(): Promise<void> {
    if (this.#hasOtherTeams()) await this.reload('edit');
  }

  /** Builds the active policy again if other models were found since it was built. */
  async followFound(): Promise<void> {
    if (this.#hasOtherFound()) await this.reload('edit');
  }

  /**
   * Builds the active policy again if other prices apply than those for which it was built.
   * @returns null if the active policy has the prices of now
   */
  readonly followPrices = (): Promise<void> | null => {
    if (!this.#hasOtherPrices()) return null;
    this.#pricing ??= this.#renewPrices();
    return this.#pricing;
  };

  async #renewPrices(): Promise<void> {
    const begun = this.#options.tools.now();
    try {
      // A build that failed is not repeated for each request.
      if (begun - this.#pricesTriedAt >= RETRY_PRICES_MS) await this.reload('edit');
    } finally {
      this.#pricesTriedAt = this.#hasOtherPrices() ? begun : Number.NEGATIVE_INFINITY;
      this.#pricing = null;
    }
  }

  #hasOtherPrices(): boolean {
    const { prices } = this.#active.runtime.snapshot;
    const now = this.#options.tools.now();
    return prices !== null && !(now >= prices.at && now < prices.until);
  }

  #hasOtherFound(): boolean {
    const hash = this.#options.tools.found?.()?.hash ?? null;
    return hash !== this.#triedFound && hash !== (this.#active.runtime.snapshot.found?.hash ?? null);
  }

  #hasOtherTeams(): boolean {
    const { teamIds } = this.#active.runtime.snapshot;
    const names = teamIds.size === 0 ? null : this.#options.tools.teams?.();
    return !!names && [...teamIds].some(([name, id]) => id !== (names.get(name)?.id ?? null));
  }

  /** Builds the active policy again with changed secrets, teams, found models or prices. `#renew` does not read the policy files again. */
  async #renew(state: AttemptState): Promise<ReloadAttempt | null> {
    const { secrets, tools } = this.#options;
    for (const variable of secrets?.reread() ?? []) this.#renewed.add(variable);
    const isOfSecrets = this.#renewed.size > 0;
    const hasOthers = this.#hasOtherFound() || this.#hasOtherPrices();
    if (!isOfSecrets && !hasOthers && !this.#hasOtherTeams()) return null;
    const { bundle } = this.#active;
    // The test cases never see found models or prices of a moment, so they need not run again.
    const isSameText = hasOthers && !isOfSecrets && !this.#hasOtherTeams();
    const result = isSameText ? await this.#rebuild() : await buildCandidate(bundle, tools, { active: this.#active });
    if (isRejected(result)) return this.#refuse({ ...state, bundle }, null, result);
    const attempt = await this.#apply({ ...state, bundle, isQuiet: !isOfSecrets }, result);
    return isOfSecrets ? attempt : null;
  }

  async #rebuild(): Promise<PolicyCandidate | RejectedPolicy> {
    const { isRehearsed, bundle, warnings, changes } = this.#active;
    this.#triedFound = this.#options.tools.found?.()?.hash ?? null;
    const result = await compileCandidate(bundle, this.#options.tools, { active: this.#active });
    return isRejected(result) ? result : { ...result, isRehearsed, warnings, changes };
  }

  async #read(): Promise<PolicyBundle | PolicySourceError> {
    try {
      const { read, tools } = this.#options;
      return read ? await read() : await readBundle(tools.folder);
    } catch (cause) {
      if (cause instanceof PolicySourceError) return cause;
      return new PolicySourceError(`The policy cannot be read: ${messageOf(cause)}.`);
    }
  }

  /** Whether a file of the policy is suddenly missing or empty, because it is probably being rewritten. */
  #looksHalfDone({ files }: PolicyBundle): boolean {
    const now = new Map(files.map((file) => [file.path, file]));
    return this.#active.bundle.files.some((before) => {
      const file = now.get(before.path);
      return !file || (file.text?.trim() === '' && before.text?.trim() !== '');
    });
  }

  async #pause(isStale: () => boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, FINISH_MS);
    });
    this.#wake = () => {};
    if (isStale()) throw new SupersededError();
  }

  /** Runs the test cases of the active policy if they have not passed yet. `#rehearse` returns the refusal if the test cases fail. */
  async #rehearse(state: AttemptState, isStale: () => boolean): Promise<ReloadAttempt | null> {
    const { bundle, isRehearsed } = this.#active;
    // The watcher reports an edit before the server listens, and the start of the server must not wait for the test cases.
    if (isRehearsed || (state.cause === 'edit' && !this.#failsCases)) return null;
    const result = await rehearseCandidate(this.#active, this.#options.tools, isStale);
    this.#failsCases = isRejected(result);
    if (isRejected(result)) return this.#refuse(state, bundle.hash, { ...result, message: FAILS_CASES });
    this.#active = result;
    this.#options.onRehearsed?.(result);
    return null;
  }

  /** Handles files that equal the active policy, for example after a mistake was reverted. */
  #keep(state: AttemptState): ReloadAttempt {
    const outdated = this.#options.tools.loader.outdated();
    const isNews = this.#last.result === 'refused' || outdated.join() !== this.#outdated.join();
    this.#outdated = outdated;
    // Attempts with these causes are frequent: a start, a touched file, or the last write of an edit that is already active.
    return (state.cause === 'edit' || state.cause === 'start') && !isNews
      ? this.#last
      : this.#end(state, 'unchanged', { message: unchanged(outdated) });
  }

  async #apply(state: AttemptState, candidate: PolicyCandidate): Promise<ReloadAttempt> {
    let swap: () => unknown;
    try {
      swap = await this.#options.prepare(candidate);
    } catch (cause) {
      const why = new Error(`The new policy could not be prepared: ${messageOf(cause)}`);
      return this.#refuse(state, candidate.bundle.hash, why);
    }
    const before = this.#active;
    const { changes } = candidate;
    const isSame = before.runtime.snapshot.revision === candidate.runtime.snapshot.revision;
    // After a change of secrets, older runtimes must use the new secrets too, so they are built again from the store.
    if (this.#renewed.size > 0) this.#quoting.clear();
    const message = renewedText([...this.#renewed]);
    this.#renewed.clear();
    // The call of `swap` activates the new policy. Running requests keep the runtime that they leased.
    const settled = swap();
    this.#active = candidate;
    // A build with other found models has not run the test cases again.
    if (candidate.isRehearsed) {
      this.#failsCases = false;
      this.#options.onRehearsed?.(candidate);
    }
    if (buildOf(before.runtime.snapshot) !== buildOf(candidate.runtime.snapshot)) this.#quoting.keep(before.runtime);
    this.#outdated = this.#options.tools.loader.outdated();
    await settled;
    if (isSame && state.isQuiet) return this.#last;
    if (isSame) return this.#end(state, 'unchanged', { message: message ?? unchanged(this.#outdated) });
    const { revision } = before.runtime.snapshot;
    this.#since = this.#options.tools.now();
    this.#previous = { revision, changes };
    const outcome = { message: message ?? 'The policy is active.', diagnostics: candidate.warnings, changes };
    return this.#end(state, 'applied', outcome);
  }

  #refuse(state: AttemptState, hash: string | null, why: RejectedPolicy | Error): ReloadAttempt {
    const diagnostics = why instanceof Error ? [] : why.problems;
    const errors = plural(errorsIn(diagnostics), 'error');
    const message = why.message ?? `The policy has ${errors}; the previous policy stays active.`;
    const isKnown = hash === this.#refused && message === this.#last.message;
    // A touched file changes nothing, and a refused push is tried again.
    if (
      (state.cause === 'edit' || state.cause === 'push') &&
      isKnown &&
      Bun.deepEquals(diagnostics, this.#last.diagnostics)
    )
      return this.#last;
    this.#refused = hash;
    return this.#end(state, 'refused', { message, diagnostics });
  }

  #end(
    { cause, by, begun, bundle }: AttemptState,
    result: ReloadAttempt['result'],
    outcome: { message: string; diagnostics?: readonly Diagnostic[]; changes?: readonly PolicyChange[] },
  ): ReloadAttempt {
    const { revision } = this.#active.runtime.snapshot;
    const time = this.#options.tools.now();
    const tookMs = Math.round(performance.now() - begun);
    const attempt = { time, tookMs, cause, result, revision, diagnostics: [], changes: [], ...outcome };
    this.#last = attempt;
    this.#counts[result]++;
    if (result !== 'refused') {
      this.#refused = null;
      this.#lastSuccess = time;
    }
    try {
      this.#options.onAttempt(attempt, bundle, by);
    } catch {
      // A failing callback must not prevent the next reload.
    }
    return attempt;
  }
}

interface AttemptState {
  readonly cause: ReloadCause;
  readonly by: Actor;
  /** Start of the attempt on a monotonic clock, ms. */
  readonly begun: number;
  /** The policy's files as last read; null if they could not be read. */
  bundle: PolicyBundle | null;
  /** Whether the attempt is reported only if it changes the active policy. */
  readonly isQuiet?: boolean;
}

const renewedText = (variables: readonly string[]): string | null =>
  variables.length === 0 ? null : `The policy is active with the new ${LIST.format(variables)}.`;

const LIST = new Intl.ListFormat('en-GB');

const FAILS_CASES =
  'The active policy fails its own test cases. It still serves, but a server that restarts refuses it.';

const unchanged = (outdated: readonly string[]): string =>
  outdated.length === 0
    ? 'The files match the active policy.'
    : `The code of ${outdated.join(', ')} has changed; restart the server to use the new code.`;
