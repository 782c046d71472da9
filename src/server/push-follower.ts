import type { Timer, Timers } from '../core/time/timers.ts';
import type { Log } from '../host/telemetry/log.ts';
import { firstError } from '../policy/report/diagnostics.ts';
import { isRejected, type PolicyCandidate, type RejectedPolicy } from '../policy/runtime/candidate.ts';
import { pushedBundle } from '../policy/runtime/pushed.ts';
import type { Reloader } from '../policy/runtime/reload.ts';
import type { PolicyBundle } from '../policy/runtime/source.ts';
import type { OpenStore } from '../store/driver.ts';
import type { InstanceReporter, PushJudgement } from './instance-report.ts';

/** The interval at which a server reads pushed policies even without news, and tries again to apply a policy that failed, ms. */
const RETRY_EVERY_MS = 5_000;

interface FollowerParts {
  readonly store: Pick<OpenStore, 'news' | 'pushedPolicies'>;
  readonly reloader: Pick<Reloader, 'active' | 'reload'>;
  readonly reporter: Pick<InstanceReporter, 'note'>;
  /** Checks a revision as a reload does. */
  judge(bundle: PolicyBundle): Promise<PolicyCandidate | RejectedPolicy>;
  readonly timers: Timers;
  readonly log: Pick<Log, 'warn'>;
}

/**
 * Checks the revisions that are offered to this server, and activates a revision that all servers have accepted. State: pushed policies.
 */
export class PushFollower {
  readonly #parts: FollowerParts;
  /** The number of the revision that was checked last. */
  #judged: number | null = null;
  #isAsked = false;
  #isRunning = false;
  #isFailing = false;
  #deafen: () => void = () => {};
  #timer: Timer | null = null;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
  }

  begin(): void {
    const { store, timers } = this.#parts;
    // The listener does not wait, because other news must not wait until a policy is built.
    this.#deafen = store.news.on('policy', () => void this.#follow());
    this.#timer = timers.every(RETRY_EVERY_MS, () => void this.#follow());
    this.#timer.unref();
    void this.#follow();
  }

  stop(): void {
    this.#deafen();
    this.#timer?.close();
  }

  /** Handles one step of a push after the other until no step is left. `#follow` never rejects. */
  async #follow(): Promise<void> {
    this.#isAsked = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      while (this.#isAsked) {
        this.#isAsked = false;
        await this.#step();
      }
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        this.#parts.log.warn('policies that were pushed to the database could not be read', { error: String(error) });
      this.#isFailing = true;
    } finally {
      this.#isRunning = false;
    }
  }

  async #step(): Promise<void> {
    const { store, reloader, reporter, judge } = this.#parts;
    const { pushedPolicies: table } = store;
    const [head, offered] = await Promise.all([table.head(), table.offered()]);
    if (head && head.id !== reloader.active.bundle.pushed?.id) await reloader.reload('push');
    if (!offered || offered.id === this.#judged) return;
    const result = await judge(pushedBundle(offered));
    this.#judged = offered.id;
    await reporter.note(judgementOf(offered.id, result));
  }
}

function judgementOf(judged: number, result: PolicyCandidate | RejectedPolicy): PushJudgement {
  if (!isRejected(result)) {
    return { judged, refusal: null, judgedRevision: result.runtime.snapshot.revision };
  }
  return { judged, refusal: result.message ?? firstError(result.problems) ?? 'it is not valid', judgedRevision: null };
}
