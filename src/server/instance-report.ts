import { hostname } from 'node:os';
import type { PolicySplit } from '../core/tables/alerts/policy-split.ts';
import { revisionsIn } from '../core/text/revision.ts';
import type { Timer, Timers } from '../core/time/timers.ts';
import type { Log } from '../host/telemetry/log.ts';
import { firstError } from '../policy/report/diagnostics.ts';
import type { PolicyStatus } from '../policy/runtime/status.ts';
import type { OpenStore } from '../store/driver.ts';
import { type InstanceReport, type LiveInstance, liveInstances, type PolicyOrigin } from '../store/instance-reports.ts';

/** The interval at which an instance reads the reports of the other instances, and writes its own report if it has changed, ms. */
export const REPORT_EVERY_MS = 5_000;
/** A clock that has moved by less than this does not count as changed, ms. */
const CLOCK_STEP_MS = 100;

/** The sources of a report, except for the instance's name. */
interface ReportSources {
  readonly store: Pick<OpenStore, 'commit' | 'instance' | 'instanceReports'>;
  readonly version: string;
  /** Where this server takes its policy from: its own files, or the pushes in the store. */
  readonly follows: PolicyOrigin;
  status(): PolicyStatus;
  /** The number of the pushed policy that is active on this server; null if the policy comes from files. */
  pushed(): number | null;
  /** The rank of the budgets that are active on this instance. */
  rank(): number;
  readonly timers: Timers;
  readonly log: Pick<Log, 'warn'>;
}

/** The result of one instance's check of a pushed policy. */
export type PushJudgement = Pick<InstanceReport, 'judged' | 'refusal' | 'judgedRevision'>;

/**
 * Writes to the store which policy and changes this instance has applied, and reads the same about the other instances. State: instance
 * report.
 */
export class InstanceReporter {
  readonly #sources: ReportSources;
  readonly #name = `${hostname()}:${process.pid}`;
  #seen = 0;
  #judgement: PushJudgement = { judged: null, refusal: null, judgedRevision: null };
  /** The report of this instance as the store has it. */
  #written: InstanceReport | null = null;
  #writing: Promise<void> = Promise.resolve();
  #live: readonly LiveInstance[] = [];
  #splitSince: number | null = null;
  #isFailing = false;
  #timer: Timer | null = null;

  constructor(sources: ReportSources) {
    this.#sources = sources;
  }

  /** The running instances, as of the latest read. */
  get live(): readonly LiveInstance[] {
    return this.#live;
  }

  /** How the policies of the instances differ; null while all known instances run the same policy. */
  get split(): PolicySplit | null {
    return this.#splitSince === null ? null : { since: this.#splitSince, instances: this.#live };
  }

  /** Writes the first report, and keeps it up to date until `stop`. `begin` never rejects. */
  async begin(): Promise<void> {
    await this.#round();
    this.#timer = this.#sources.timers.every(REPORT_EVERY_MS, () => void this.#round());
    this.#timer.unref();
  }

  stop(): void {
    this.#timer?.close();
  }

  /** Writes the report if it has changed. `note` never rejects: the next round tries again. */
  note(judgement: PushJudgement = this.#judgement): Promise<void> {
    this.#judgement = judgement;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  /**
   * Writes that this instance has applied all changes up to an entry of the audit trail. Resolves to true if the store has this report,
   * otherwise to false.
   */
  async noteSeen(through: number): Promise<boolean> {
    this.#seen = through;
    await this.note();
    return this.#written?.seen === through;
  }

  async #round(): Promise<void> {
    await this.note();
    const { store } = this.#sources;
    try {
      this.#live = await liveInstances(store);
      const isSplit = revisionsIn(this.#live).length > 1;
      this.#splitSince = isSplit ? (this.#splitSince ?? store.instance.now()) : null;
      this.#isFailing = false;
    } catch (error) {
      this.#fail('the list of servers that share the database could not be read', error);
    }
  }

  /** Logs only the first of several consecutive failures. */
  #fail(message: string, error: unknown): void {
    if (!this.#isFailing) this.#sources.log.warn(message, { error: String(error) });
    this.#isFailing = true;
  }

  async #write(): Promise<void> {
    const { store } = this.#sources;
    const report = this.#report();
    if (this.#written !== null && Bun.deepEquals(report, this.#written)) return;
    try {
      await store.commit([store.instanceReports.put(report)]);
      this.#written = report;
    } catch (error) {
      this.#fail('this server could not write its status to the database', error);
    }
  }

  #report(): InstanceReport {
    const { store, version, follows, status, rank, pushed } = this.#sources;
    const { slot, epoch, clockOffsetMs } = store.instance;
    const { revision, since, last } = status();
    const known = this.#written?.clockOffsetMs ?? clockOffsetMs;
    return {
      slot,
      epoch,
      name: this.#name,
      version,
      follows,
      revision,
      since,
      rank: rank(),
      pushed: pushed(),
      error: last.result === 'refused' ? (firstError(last.diagnostics) ?? last.message) : null,
      ...this.#judgement,
      seen: this.#seen,
      clockOffsetMs: Math.abs(clockOffsetMs - known) < CLOCK_STEP_MS ? known : clockOffsetMs,
    };
  }
}
